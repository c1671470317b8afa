"""The selecting options of qstat and qselect as fields of the request `status`.

Owns the translation of option fields. Called by qstat, qselect and qacct.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


def instance_selection(fields: "dict[str, Any]") -> "dict[str, Any]":
    """The `select` part of a body (docs/gdi.md) out of the fields of -q, -l, -pe, -U and -qs."""
    return {
        name: fields[option]
        for option, name in (
            ("queues", "queues"),
            ("requests", "requests"),
            ("pe", "pe"),
            ("access", "access"),
            ("queue_states", "states"),
        )
        if fields.get(option)
    }

"""Positions in the rows of the job list: arrays that the qmaster sends to qstat and qhost.

Owns the positions. Rows are arrays, read by `row[GRANTS]`, since there may be ten thousand of them. Called by
`daemons.qmaster.queries.jobs`, which makes them, and the commands' renderers. Shapes: docs/gdi.md.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: TIME: epoch s, of the start for running tasks, else of the submission. GRANTS: the master's first, [] while pending.
#: TASKS: task id or ranges of array jobs, else "". DETAILS: an object, only if details were requested.
ID, PRIORITY, NAME, OWNER, STATE_CODES, TIME, GRANTS, SLOTS, TASKS, DETAILS = range(10)
#: of a grant: queue instance, its slots, the maximum number of slave tasks there
INSTANCE, GRANTED_SLOTS, SLAVES = range(3)


def details_of(row: "list[Any]") -> "dict[str, Any]":
    """The details of a row; {} if none were requested."""
    details: dict[str, Any] = row[DETAILS] if len(row) > DETAILS else {}
    return details


def master_of(row: "list[Any]") -> str:
    """The instance of the task's master, "" for a pending row."""
    grants: list[list[str]] = row[GRANTS]
    return grants[0][INSTANCE] if grants else ""

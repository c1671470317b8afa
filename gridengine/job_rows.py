"""Rows of the job list by name: what stands where in the arrays that cross between the qmaster and qstat, qhost.

Owns the places. They stay arrays, read by `row[GRANTS]`: there may be ten thousand, and a name costs nothing so.
Called by `daemons.qmaster.views.jobs`, which makes them, and the commands' renderers. Shapes: docs/gdi.md.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: TIME: epoch s, of the start for running tasks, else of the submission. GRANTS: the master's first, [] while pending.
#: TASKS: task id or ranges of array jobs, else "". DETAILS: an object, only where they were asked for.
ID, PRIORITY, NAME, OWNER, LETTERS, TIME, GRANTS, SLOTS, TASKS, DETAILS = range(10)
#: of a grant: queue instance, its slots, how many slave tasks it has room for
INSTANCE, GRANTED_SLOTS, SLAVES = range(3)


def details_of(row: "list[Any]") -> "dict[str, Any]":
    """The details of a row; {} where none were asked for."""
    details: dict[str, Any] = row[DETAILS] if len(row) > DETAILS else {}
    return details


def master_of(row: "list[Any]") -> str:
    """The instance of the task's master, "" of a row that waits."""
    grants: list[list[str]] = row[GRANTS]
    return grants[0][INSTANCE] if grants else ""

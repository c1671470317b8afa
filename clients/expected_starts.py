"""Expected starts of the pending jobs of a listing: one request `forecast` for all of them.

Called by qstat -when and squeue --start.
"""

from clients import program
from gridengine.job_rows import DETAILS, ID, details_of

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: jobs of one request
MOST = 1000


def expected_starts(numbers: "Iterable[int]") -> "dict[int, dict[str, Any]]":
    """Job -> its row of the request `forecast`, for the first MOST of these jobs. Errors end the command."""
    targets = [str(number) for number in dict.fromkeys(numbers)][:MOST]
    if not targets:
        return {}
    return {row["id"]: row for row in program.read("forecast", {"about": "start", "jobs": targets})["jobs"]}


def with_expected_starts(phases: "Iterable[list[Any]]") -> "list[list[Any]]":
    """The [phase, rows] of a job list, with details `when` of pending jobs: `expected`, `earliest`, `latest`, `later_than`."""
    found = list(phases)
    pending = [row for phase, rows in found if phase == "pending" for row in rows]
    starts = expected_starts(row[ID] for row in pending)
    for row in pending:
        if row[ID] in starts:
            row[DETAILS:] = [{**details_of(row), "when": starts[row[ID]]}]
    return found

"""Options of qstatus, which may be joined (`-ac`). Source: qstatus(1); statement UT-1. Owns the rows."""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from gridengine.options.option import Fold

#: columns by which a table may be sorted
COLUMNS = ("job", "name", "owner", "running", "slots", "time")


def owner(shown: bool) -> "Fold":
    """A fold for -o and -n; the last of them counts."""

    def set_owner(target: "dict[str, Any]", field: str, values: list[str]) -> None:
        target[field] = shown

    return set_owner


def columns(target: "dict[str, Any]", field: str, values: list[str]) -> None:
    """Names of columns divided by commas, or none."""
    for name in values[0].split(","):
        if name not in (*COLUMNS, "none"):
            raise InvalidValueError(f'"{name}" is no column: there are {", ".join(COLUMNS)}, and none')
    target[field] = [] if "none" in values[0].split(",") else values[0].split(",")


OVERVIEW_OPTIONS: tuple[Option, ...] = (
    Option("-a", "", "qstatus", fold.flag, "all", "jobs of all users, with their owners"),
    Option("-c", "", "qstatus", fold.flag, "counts", "count jobs and slots by owner"),
    Option("-g", "", "qstatus", fold.flag, "grouped", "by owner: short for -s owner,running"),
    Option("-h -help --help", "", "qstatus", fold.flag, "help", "print this help"),
    Option("-j", "", "qstatus", fold.flag, "suspended", "jobs that are suspended as well"),
    Option("-l", "", "qstatus", fold.flag, "unlisted", "no lists of jobs, for -c alone"),
    Option("-m", "", "qstatus", fold.flag, "machine", "show the host of a job instead of its queue"),
    Option("-n", "", "qstatus", owner(False), "owner", "without owners; of -n and -o the last one counts"),
    Option("-o", "", "qstatus", owner(True), "owner", "with owners"),
    Option("-r", "", "qstatus", fold.flag, "relative", "how long ago jobs began, or were submitted"),
    Option("-s", "column_list", "qstatus", columns, "sort", "sort by these columns, or none; by default by where jobs run"),
    Option("-t", "", "qstatus", fold.flag, "tasks", "names of array tasks with their number"),
)

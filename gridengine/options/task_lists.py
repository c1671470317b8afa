"""Options of qtasks. Owns the rows."""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option
from gridengine.task_lists.task_states import STATES


def states(target: fold.Target, field: str, values: fold.Values) -> None:
    """Names of states divided by commas."""
    for name in values[0].split(","):
        if name not in STATES:
            raise InvalidValueError(f'"{name}" is no state of a command: there are {", ".join(STATES)}')
    target[field] = values[0].split(",")


TASK_LIST_OPTIONS: tuple[Option, ...] = (
    Option("-d", "directory", "qtasks", fold.text, "directory", "the directory of the list, NAME.tJOB, of any job"),
    Option("-failed", "", "qtasks", fold.flag, "failed", "retry all commands that have failed"),
    Option("-help --help", "", "qtasks", fold.flag, "help", "print this help"),
    Option("-json", "", "qtasks", fold.flag, "json", "print JSON (list, show)"),
    Option("-lines", "", "qtasks", fold.flag, "lines", "print the commands alone (list), as input of another list"),
    Option("-s", "task_state_list", "qtasks", states, "states", f"list commands in these states: {' '.join(STATES)}"),
)

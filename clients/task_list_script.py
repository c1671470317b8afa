"""qsub -tasks: the list becomes the script of the job, with the lines that start its runner (adr/0260).

Owns the options that cannot be combined with -tasks. Called by `submission`, before a request is sent.
"""

from gridengine.errors import InvalidValueError
from gridengine.options.option import BAD_VALUE, OptionError
from gridengine.task_lists.list_script import ListOptions, script_of

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gridengine.options.submit_folds import Submission

#: options of qsub that are options of the list -> their smallest value, for a number
_OPTIONS = {"template": None, "output": None, "ordered": None, "retries": 0, "max_fails": 1}


def check_use(last_values: "Mapping[str, str]", operands: list[str]) -> list[str]:
    """The operand that stands for a script: the file of the list. `last_values`: of the options of all sources.

    Raises OptionError.
    """
    if operands:
        raise OptionError(f'-tasks: the list is the job, so "{operands[0]}" cannot follow as its script')
    if last_values.get("-b", "n")[:1].lower() == "y":
        raise OptionError("-tasks: a list is no program, -b y cannot be combined with it")
    if not last_values["-tasks"]:
        raise OptionError("-tasks: the name of a file is expected, or -")
    return [last_values["-tasks"]]


def _value(given: "Any", low: "int | None") -> "Any":
    """The value of an option. `low`: the smallest one of a number. Raises InvalidValueError."""
    if low is None:
        return given
    if not (given.isascii() and given.isdigit() and len(given) < 10 and int(given) >= low):
        raise InvalidValueError(f'invalid count "{given}", it must be an integer from {low} on')
    return int(given)


def with_runner(text: bytes, target: "Submission", name: str) -> bytes:
    """The script for the lines of a list. `target`: all options of the job. Raises OptionError, with its place."""
    if "tasks" in target.request:
        raise OptionError("-tasks: the commands of a list are no array tasks, -t cannot be combined with it")
    source = "standard input" if name == "-" else name
    try:
        settings = target.settings
        given = {field: _value(settings[field], low) for field, low in _OPTIONS.items() if field in settings}
        script = script_of(text.decode("utf-8", "surrogateescape"), ListOptions(**given), source)
    except InvalidValueError as fault:
        raise OptionError(str(fault), exit_status=BAD_VALUE) from None
    return script.encode("utf-8", "surrogateescape")

"""The script of a job with a task list: three lines that start the runner, then the lines of the list as they are.

Owns this form, and the options of a list. The job's shell is replaced by `qtasks run` of its host's installation, so no daemon
knows of task lists (adr/0260). The lines work in sh and csh, and in every shell_start_mode.
"""

from gridengine import json_text
from gridengine.errors import InvalidValueError
from gridengine.task_lists.task_lines import MAX_RETRIES, ListedCommand, read_lines

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: what becomes of the output of the commands; the first is the default
OUTPUTS = ("merged", "apart", "failures", "none")
_MARK = "# task list of gridengine: "
_START = 'exec "$SGE_BINARY_PATH/qtasks" run "$JOB_SCRIPT"'
#: lines of the script before the list
HEAD_LINES = 3


class ListOptions:
    """Options of a list. `template`: see `template`; `output`: of OUTPUTS; `retries`: attempts of a command after a failure;
    `max_fails`: failures after which no further command starts, 0 for no limit; `ordered`: whether merged output has the order
    of the list. Raises InvalidValueError."""

    __slots__ = ("max_fails", "ordered", "output", "retries", "template")

    def __init__(
        self, template: str = "", output: str = OUTPUTS[0], retries: int = 0, max_fails: int = 0, ordered: bool = False
    ) -> None:
        self.template = template
        self.output = output
        self.retries = retries
        self.max_fails = max_fails
        self.ordered = ordered
        if output not in OUTPUTS:
            raise InvalidValueError(f'"{output}" is no kind of output: there are {", ".join(OUTPUTS)}')
        if not 0 <= retries <= MAX_RETRIES:
            raise InvalidValueError(f"{retries} retries: an integer from 0 to {MAX_RETRIES} is expected")
        if not 0 <= max_fails < 2**31:
            raise InvalidValueError(f"{max_fails} failures: a positive integer is expected")
        if ordered and output != OUTPUTS[0]:
            raise InvalidValueError(f"the order of the list is for merged output, not for {output}")
        if template:
            from gridengine.task_lists.template import check_template

            check_template(template)

    def fields(self) -> "dict[str, Any]":
        return {name: getattr(self, name) for name in self.__slots__}


def script_of(text: str, options: ListOptions, source: str) -> str:
    """The script of a job for the lines in `text`. `source`: name of the list, for reasons.

    Raises InvalidValueError, which begins with SOURCE:LINE, for a line that is no command.
    """
    if not read_lines(text, source, options.template):
        raise InvalidValueError(f"{source}: the list has no commands")
    head = _MARK + json_text.encode(options.fields()).decode()
    return f"#!/bin/sh\n{head}\n{_START}\n{text}"


def read_script(script: str, source: str) -> tuple[ListOptions, list[ListedCommand]]:
    """The options and the commands in a script. Raises InvalidValueError for a script without a list."""
    head, _, text = script.partition(f"\n{_START}\n")
    mark = head.partition("\n")[2]
    try:
        options = ListOptions(**json_text.decode(mark.removeprefix(_MARK).encode()))
    except (TypeError, ValueError):
        raise InvalidValueError(f"{source} is not the script of a task list") from None
    return options, read_lines(text, source, options.template, first_line=HEAD_LINES + 1)

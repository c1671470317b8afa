"""The lines of a task list: commands, their names, dependencies and retries.

Owns the grammar: `[name=NAME after=NAME,NAME retries=N] COMMAND`, with the brackets optional; empty lines and comments (`#`) are
no commands. Checks names and circles. Pure. Called by qsub and qtasks for new lines, and by the runner.
"""

import re

from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: a longer command cannot be an argument of a shell (MAX_ARG_STRLEN of Linux, with its final zero byte)
MAX_COMMAND_BYTES = (1 << 17) - 1
MAX_RETRIES = 1000
_HEAD = re.compile(r"\[([a-z]+=[^\]]*)\](?:\s+|$)")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_KEYS = "name, after and retries"


class ListedCommand:
    """A command of a list. `number`: from 1, in the order of the list; `after`: numbers of commands that must end well before;
    `retries`: attempts after a failure, None for the default of the list."""

    __slots__ = ("after", "command", "name", "number", "retries")

    def __init__(self, number: int, command: str) -> None:
        self.number = number
        self.command = command
        self.name = ""
        self.after: tuple[int, ...] = ()
        self.retries: int | None = None


class _Head:
    """The options in the brackets of a line; `place`: FILE:LINE."""

    __slots__ = ("after", "name", "place", "retries")

    def __init__(self, place: str) -> None:
        self.place = place
        self.name = ""
        self.after: list[str] = []
        self.retries: int | None = None


def read_lines(
    text: str, source: str, template: str = "", earlier: "Iterable[ListedCommand]" = (), first_line: int = 1
) -> list[ListedCommand]:
    """The commands of a text, numbered after the `earlier` commands of the list.

    `template`: makes the command of a line from its fields (`expand`). `first_line`: number of the text's first line in `source`,
    for reasons. Raises InvalidValueError, which begins with SOURCE:LINE.
    """
    known = list(earlier)
    numbers = {line.name: line.number for line in known if line.name}
    found: list[ListedCommand] = []
    heads: dict[int, _Head] = {}
    for row, raw in enumerate(text.split("\n"), start=first_line):
        content = raw.strip()
        if not content or content[0] == "#":
            continue
        number = len(known) + len(found) + 1
        if content[0] == "[" and (match := _HEAD.match(content)):
            head = _read_head(match[1], f"{source}:{row}")
            content = content[match.end() :]
            if head.name and numbers.setdefault(head.name, number) != number:
                raise InvalidValueError(f'{head.place}: a second command has the name "{head.name}"')
            heads[number] = head
        command = _command(content, template, f"{source}:{row}")
        found.append(ListedCommand(number, command))
    for line in found:
        if (head_of_line := heads.get(line.number)) is not None:
            _apply_head(line, head_of_line, numbers)
    _check_circles(found, {number: head.place for number, head in heads.items()})
    return found


def _read_head(text: str, place: str) -> _Head:
    head = _Head(place)
    for item in text.split():
        key, _, value = item.partition("=")
        if key == "name" and _NAME.fullmatch(value):
            head.name = value
        elif key == "after" and value.strip(","):
            head.after = [name for name in value.split(",") if name]
        elif key == "retries" and value.isascii() and value.isdigit() and len(value) < 6 and int(value) <= MAX_RETRIES:
            head.retries = int(value)
        elif key in ("name", "after", "retries"):
            raise InvalidValueError(f'{place}: "{value}" is no value for {key} (letters, digits and . _ - in a name)')
        else:
            raise InvalidValueError(f'{place}: "{item}" is no option of a line: there are {_KEYS}')
    return head


def _command(content: str, template: str, place: str) -> str:
    command = content
    if template:
        from gridengine.task_lists.template import expand

        command = expand(template, content, place)
    if not command:
        raise InvalidValueError(f"{place}: no command follows the options of the line")
    if "\0" in command:
        raise InvalidValueError(f"{place}: the command contains a zero byte")
    if len(command) > MAX_COMMAND_BYTES // 4 and len(command.encode("utf-8", "surrogateescape")) > MAX_COMMAND_BYTES:
        raise InvalidValueError(f"{place}: the command is longer than {MAX_COMMAND_BYTES} bytes")
    return command


def _apply_head(line: ListedCommand, head: _Head, numbers: "Mapping[str, int]") -> None:
    for name in head.after:
        if name not in numbers:
            raise InvalidValueError(f'{head.place}: after={name}: no command has this name')
    line.name, line.retries = head.name, head.retries
    line.after = tuple(dict.fromkeys(numbers[name] for name in head.after))


def _check_circles(lines: "Iterable[ListedCommand]", places: "Mapping[int, str]") -> None:
    """Raises InvalidValueError if commands wait for each other."""
    before = {line.number: line.after for line in lines if line.after}
    if not before:
        return
    from graphlib import CycleError, TopologicalSorter

    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        place = places[min(error.args[1])]
        raise InvalidValueError(f"{place}: the command waits for itself, through the commands after which it runs") from None

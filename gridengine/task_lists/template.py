"""Templates of commands: `{}` is the whole line, `{1}` its first field and so on; each becomes one argument for a shell.

Owns the fields of a line, which follow the quoting rules of sh(1), and the quoting of the values. Called for each line of a list
with `-tasks-template`.
"""

import re
import shlex

from gridengine.errors import InvalidValueError

_PLACEHOLDER = re.compile(r"\{([1-9][0-9]?)?\}")


def check_template(template: str) -> None:
    """Raises InvalidValueError for a template without a place for the line."""
    if not _PLACEHOLDER.search(template):
        raise InvalidValueError(f'"{template}" has no place for the line: neither {{}} nor {{1}}')


def expand(template: str, content: str, place: str) -> str:
    """The command of a line. Raises InvalidValueError, which begins with `place`, for a field that the line lacks."""
    fields: list[str] | None = None

    def value(match: "re.Match[str]") -> str:
        nonlocal fields
        if match[1] is None:
            return shlex.quote(content)
        if fields is None:
            fields = _fields(content, place)
        if int(match[1]) > len(fields):
            raise InvalidValueError(f"{place}: the line has {len(fields)} fields, the template uses {match[0]}")
        return shlex.quote(fields[int(match[1]) - 1])

    return _PLACEHOLDER.sub(value, template)


def _fields(content: str, place: str) -> list[str]:
    if not any(character in content for character in "'\"\\"):
        return content.split()
    try:
        return shlex.split(content)
    except ValueError as fault:
        raise InvalidValueError(f"{place}: the fields cannot be read: {str(fault).lower()}") from None

"""Options within a script: the lines that begin with a prefix, by default `#$` (SB-2).

Owns the choice of these lines, and the list of options that are ignored there. Called by the submitting commands and by the
submit page.
"""

from gridengine.options.option import Option, OptionError, Setting, read_options, split_line

PREFIX = "#$"
#: options without effect inside a script (SO-5, SO-9), which cannot name a further file or a task list either
_NOT_IN_SCRIPTS = ("-b", "-C", "-@", "-tasks")

#: exit status for an option that requests something other than a job. Source: O.
_NOT_ALLOWED = 5


def script_settings(script: bytes, prefix: str, name: str, options: dict[str, Option]) -> list[list[Setting]]:
    """Settings of the script's lines that begin with the prefix, a list for each. A `#` ends the line.

    `name`: of the script, for reasons. Raises OptionError.
    """
    mark = prefix.encode()
    if mark not in script:
        return []
    found: list[list[Setting]] = []
    for number, line in enumerate(script.split(b"\n"), start=1):
        if not line.startswith(mark):
            continue
        location = f"{name}, line {number}"
        tokens = split_line(line[len(mark) :].decode("utf-8", "surrogateescape"))
        settings, rest = read_options(tokens, options, location)
        if rest:
            raise OptionError(f'"{rest[0]}" is no option', location)
        if any(setting[0].name == "-help" for setting in settings):
            raise OptionError("-help not allowed in this context", location, _NOT_ALLOWED)
        found.append([setting for setting in settings if setting[0].name not in _NOT_IN_SCRIPTS])
    return found

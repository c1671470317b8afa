"""Options within a script: the lines that begin with a prefix, `#$` unless another is said (SB-2).

Owns which lines these are and which options mean nothing there. Called by the submitting commands and by the submit page.
"""

from gridengine.options.option import Option, OptionError, Setting, read_options, split_words

PREFIX = "#$"
#: options that mean nothing inside a script (SO-5, SO-9), where reading a further file is not foreseen either
_NOT_IN_SCRIPTS = ("-b", "-C", "-@")


def script_settings(script: bytes, prefix: str, name: str, options: dict[str, Option]) -> list[list[Setting]]:
    """Settings of the script's lines that begin with the prefix, a list for each. A comment behind the options ends them.

    `name`: of the script, for reasons. Raises OptionError.
    """
    mark = prefix.encode()
    if mark not in script:
        return []
    found: list[list[Setting]] = []
    for number, line in enumerate(script.split(b"\n"), start=1):
        if not line.startswith(mark):
            continue
        place = f"{name}, line {number}"
        words = words_of(line[len(mark) :].decode("utf-8", "surrogateescape"), place)
        settings, rest = read_options(words, options, place)
        if rest and rest[0][:1] != "#":
            raise OptionError(f'"{rest[0]}" is no option', place)
        found.append([setting for setting in settings if setting[0].name not in _NOT_IN_SCRIPTS])
    return found


def words_of(line: str, place: str) -> list[str]:
    """The words of a line of a file. Raises OptionError with the place."""
    try:
        return split_words(line)
    except OptionError as error:
        raise OptionError(error.text, place) from None

"""Sources of a submission's options, and their sum: lines of files, and files that options name.

Owns the parsing of a text into settings, and the order of sources. Pure: the caller reads the files, with the rights of the
submitting user. Called by the submitting commands and, for libraries that submit, by `gridengine.options.native`. Source:
statements SB-2, SB-3, SB-5.
"""

from gridengine.options.option import OptionError, Setting, read_options, split_line
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

    from gridengine.options.option import Option

Source = list[list[Setting]]
"""The settings of one source: a list for each line, since -soft holds until the end of the line in a file or script."""


def file_settings(text: str, path: str, options: "dict[str, Option]", strict: bool = False) -> Source:
    """Settings of a request file, line by line; options of other commands are dropped unless `strict` (SB-5).

    Raises OptionError.
    """
    others = {} if strict else {name: option for option in SUBMIT_OPTIONS for name in option.names}
    found: Source = []
    for number, line in enumerate(text.split("\n"), start=1):
        if settings := line_settings(split_line(line), f"{path}, line {number}", options, others):
            found.append(settings)
    return found


def line_settings(
    tokens: list[str], location: str, options: "dict[str, Option]", others: "dict[str, Option] | None" = None
) -> list[Setting]:
    """Settings of a line that holds options only; options among `others` are dropped. Raises OptionError."""
    settings, rest = read_options(tokens, options, location, others)
    if rest:
        raise OptionError(f'"{rest[0]}" is no option', location)
    return settings


def with_option_files(
    settings: list[Setting], options: "dict[str, Option]", read: "Callable[[str], str]", within: tuple[str, ...] = ()
) -> list[Setting]:
    """The settings with each `-@ file` replaced by the options of the file; files may name further files. `read(path)`: the text
    of a file; `within`: files that are being read. Raises OptionError."""
    if not any(option.name == "-@" for option, _, _ in settings):
        return settings
    expanded: list[Setting] = []
    for setting in settings:
        if setting[0].name == "-@":
            path = setting[1][0]
            if path in within:
                raise OptionError(f"-@ {path}: the file names itself, directly or by way of another", setting[2])
            for line in file_settings(read(path), path, options, strict=True):
                expanded += with_option_files(line, options, read, (*within, path))
        else:
            expanded.append(setting)
    return expanded


def fold_sources(target: Submission, sources: list[Source]) -> None:
    """Fold the settings of all sources into the target, the weakest source first. Raises OptionError."""
    for level, source in enumerate(sources):
        target.level = level
        for line in source:
            target.soft = False
            for option, values, location in line:
                option.apply(target, values, location)

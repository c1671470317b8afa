"""Default files of a command: the cell's and the user's, each a list of options.

Owns their reading. Called by the commands of reservations. Source: qrsub(1), qrstat(1) FILES; AR-24, AR-115.
"""

import os

from clients import gdi
from gridengine.options.option import Option, OptionError, Setting, read_options, split_words


def default_settings(name: str, options: dict[str, Option]) -> list[Setting]:
    """The settings of `common/NAME` and `~/.NAME`, in this order. Raises OptionError with file and line."""
    found: list[Setting] = []
    for path in (f"{gdi.common_directory()}/{name}", f"{os.environ.get('HOME', '')}/.{name}"):
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().split("\n")
        except OSError:
            continue
        for number, line in enumerate(lines, start=1):
            if line[:1] == "#" or not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                words = split_words(line)
            except OptionError as error:
                raise OptionError(error.text, place) from None
            settings, rest = read_options(words, options, place)
            if rest:
                raise OptionError(f'"{rest[0]}" is no option', place)
            found += settings
    return found

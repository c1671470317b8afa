"""Default files of a command: the cell's and the user's, each a list of options.

Owns their reading. Called by the commands of reservations. Source: qrsub(1), qrstat(1) FILES; AR-24, AR-115.
"""

import os

from clients import gdi
from clients.program import MAX_OPTIONS_SIZE, read_limited
from gridengine.options.option import Option, Setting, split_line


def default_settings(name: str, options: dict[str, Option]) -> list[Setting]:
    """The settings of `common/NAME` and `~/.NAME`, in this order. Raises OptionError with file and line."""
    settings: list[Setting] = []
    for path in (f"{gdi.common_directory()}/{name}", f"{os.environ.get('HOME', '')}/.{name}"):
        text = _text_of(path, users=path.endswith(f"/.{name}"))
        if text:
            from gridengine.options.sources import line_settings  # five modules, which most calls do not need

            for number, line in enumerate(text.split("\n"), start=1):
                settings += line_settings(split_line(line), f"{path}, line {number}", options)
    return settings


def _text_of(path: str, users: bool) -> str:
    """The text of a file; "" if it cannot be read. `users`: read only if the caller or root wrote the file."""
    if not os.path.lexists(path):
        return ""
    try:
        if users:
            from clients.own_files import read_own

            return read_own(path) or ""
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return read_limited(file, MAX_OPTIONS_SIZE)
    except OSError:
        return ""

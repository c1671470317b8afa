"""Options of qmake: the options of qrsh, before `--`; all later arguments are make's. Source: qmake(1); statement QK-1.

Owns the list of qrsh's options that are not valid here. Options are only checked, and passed on to qrsh unchanged.
"""

from gridengine.options.option import Option
from gridengine.options.submit import SUBMIT_OPTIONS

_NOT_HERE = frozenset(("-attach", "-noshell", "-nostdin", "-pty", "-verify"))

MAKE_OPTIONS: tuple[Option, ...] = tuple(
    Option(" ".join(row.names), " ".join(row.arguments), "qmake", row.fold, row.field, row.help)
    for row in SUBMIT_OPTIONS
    if "qrsh" in row.commands and row.name not in _NOT_HERE
)

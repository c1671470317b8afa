"""Options of qmake: those of qrsh, before `--`; what follows is make's. Source: qmake(1); statement QK-1.

Owns which of qrsh's do not count here. They are only looked at, and handed on to qrsh as they were written.
"""

from gridengine.options.option import Option
from gridengine.options.submit import SUBMIT_OPTIONS

_NOT_HERE = frozenset(("-attach", "-noshell", "-nostdin", "-pty", "-verify"))

MAKE_OPTIONS: tuple[Option, ...] = tuple(
    Option(" ".join(row.names), " ".join(row.arguments), "qmake", row.fold, row.field, row.help)
    for row in SUBMIT_OPTIONS
    if "qrsh" in row.commands and row.name not in _NOT_HERE
)

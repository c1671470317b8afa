"""Texts of users in listings for people: one line stays one line, and no text steers the terminal.

Owns the escapes of what is not printable: control characters, C1 among them, separators of lines, marks that turn the
direction of writing. Fields whose text is free go through `printable` before they are laid out; all that is laid out goes
through `program.show`, which asks `printable_lines`. XML and JSON have rules of their own.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


class _Escapes(dict[int, str]):
    """For `str.translate`: what is printable as it is, the rest as `\\x1b` or `\\u2028`."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if not letter.isprintable():
            letter = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = letter
        return letter


_IN_FIELDS = _Escapes({ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"})
_IN_LINES = _Escapes({ord("\t"): "\t", ord("\n"): "\n", ord("\r"): "\\r"})


def printable(value: "Any") -> "Any":
    """Plain data with all that is not printable in its texts, keys included, written as `\\n`, `\\x1b` …"""
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(_IN_FIELDS)
    if isinstance(value, (list, tuple)):
        return [printable(each) for each in value]
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    return value


def printable_lines(text: str) -> str:
    """Lines that are laid out already; their ends and tabs stay."""
    return text.translate(_IN_LINES)

"""Texts of users in listings for people: one line stays one line, and no text controls the terminal.

Owns the escapes of non-printable characters: control characters, C1 included, line separators, marks that change the writing
direction. Fields with free text go through `printable` before the layout; finished output goes through `program.show`, which
calls `printable_lines`. XML and JSON have rules of their own.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


class _Escapes(dict[int, str]):
    """For `str.translate`: printable characters unchanged, other characters as `\\x1b` or `\\u2028`."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if not character.isprintable():
            character = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = character
        return character


_IN_FIELDS = _Escapes({ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"})
_IN_LINES = _Escapes({ord("\t"): "\t", ord("\n"): "\n", ord("\r"): "\\r"})


def printable(value: "Any") -> "Any":
    """Plain data; non-printable characters in its texts, keys included, become `\\n`, `\\x1b` …"""
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(_IN_FIELDS)
    if isinstance(value, (list, tuple)):
        return [printable(each) for each in value]
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    return value


def printable_lines(text: str) -> str:
    """Finished lines with escapes; line ends and tabs stay."""
    return text.translate(_IN_LINES)

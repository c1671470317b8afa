"""Texts of users in listings for people: one line stays one line, and no text steers the terminal.

Owns the escapes of control characters. Called by the commands for their text formats; XML and JSON have rules of their own.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_ESCAPES |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def printable(value: "Any") -> "Any":
    """Plain data with the control characters of all its texts, keys included, written as `\\n`, `\\x1b` …"""
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(_ESCAPES)
    if isinstance(value, list):
        return [printable(each) for each in value]
    if isinstance(value, dict):
        return {printable(key): printable(each) for key, each in value.items()}
    return value

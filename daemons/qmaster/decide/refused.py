"""Refused: how the parts of a decision on a job say no.

Owns the exception that ends a part of a decision; the handlers turn it into an answer. It never leaves `decide`.
"""

from __future__ import annotations


class Refused(Exception):
    """A job that cannot be so; the text is for the user, the status its exit code, the hint what may have been meant."""

    def __init__(self, text: str, status: int = 1, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.hint = hint

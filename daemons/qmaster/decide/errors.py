"""RefusedError: the refusal inside a part of a decision on a job.

Owns the exception that ends a part of a decision; the handlers turn it into an answer. The exception never leaves `decide`.
"""

from __future__ import annotations

from gridengine.errors import RefusalError


class RefusedError(RefusalError):
    """A job request that cannot be fulfilled: the text for the user, the exit code, and a hint such as a similar name."""

    def __init__(self, text: str, status: int = 1, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.hint = hint

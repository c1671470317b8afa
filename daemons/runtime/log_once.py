"""Decides whether a problem that lasts is to be logged again: once while it stays the same.

Owns the memory of what was logged; the caller logs. Called by loops of the daemons that retry. Refusals that clients cause have
`log_throttle` instead.
"""

from __future__ import annotations


class LogOnce:
    """The last text of each subject. A loop with one problem at a time has one subject, ""."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def is_new(self, text: str, subject: str = "") -> bool:
        """Whether the text differs from the last one of its subject, which it replaces. A text that is its own subject is new
        only once."""
        if self._texts.get(subject) == text:
            return False
        self._texts[subject] = text
        return True

    def clear(self, subject: str | None = None) -> bool:
        """The problem of a subject is over, by default of all subjects. Returns whether there was one."""
        if subject is not None:
            return self._texts.pop(subject, None) is not None
        had_any = bool(self._texts)
        self._texts.clear()
        return had_any

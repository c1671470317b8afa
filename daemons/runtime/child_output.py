"""The stderr of a child process, for `messages`: its lines are logged, a traceback among them goes to a file of its own.

Owns the separation of the two. Called by the supervisors of such children. Source: docs/formats/messages.md.
"""

from __future__ import annotations

from pathlib import Path

from daemons.runtime.messages import TRACEBACKS, keep_traceback

_BEGINS = "Traceback (most recent call last):"


class ChildOutput:
    """Takes the lines of one child. `directory`: where `messages` is."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / TRACEBACKS
        self._traceback: list[str] = []

    def filter_line(self, data: bytes) -> str:
        """The text to log for a line, "" for none: of a traceback its last line, which names the error."""
        line = data.decode(errors="replace").rstrip()
        if line == _BEGINS:
            self._traceback = [line]
            return ""
        if not self._traceback:
            return line
        self._traceback.append(line)
        if not line or line.startswith(" "):
            return ""
        text, self._traceback = "\n".join(self._traceback), []
        try:
            keep_traceback(self._path, text)
        except OSError:
            return line
        return f"{line} (see {TRACEBACKS} beside this file)"

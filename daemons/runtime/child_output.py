"""What a child process writes on its stderr, for `messages`: its lines are said, a traceback among them is put aside.

Owns telling the one from the other. Called by the supervisors of children that complain there. Source: docs/formats/messages.md.
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

    def said(self, data: bytes) -> str:
        """What is to be said of a line, "" for nothing: of a traceback the last one, which names the error."""
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

"""The `messages` file of a daemon: `MM/DD/YYYY HH:MM:SS|thread|host|level|text`, a line each.

Owns the format and the handler; the daemons log through the standard `logging`. Never raises: a daemon must not end
because its log cannot be written. Source: sge_conf(5) loglevel, GC-4; format as 8.1.9 writes it.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

#: sge_conf(5) loglevel -> lowest level that is written
LOG_LEVELS = {"log_err": logging.ERROR, "log_warning": logging.WARNING, "log_info": logging.INFO}
_LETTERS = ((logging.CRITICAL, "C"), (logging.ERROR, "E"), (logging.WARNING, "W"))


class MessageFormatter(logging.Formatter):
    """A record as one line; the thread's name is cut or padded on the left to six characters, as GE does.

    `thread` is the record's attribute of that name (`extra={"ge_thread": "worker"}`) or the formatter's own.
    """

    def __init__(self, thread: str, host: str) -> None:
        super().__init__()
        self._thread, self._host = thread, host

    def format(self, record: logging.LogRecord) -> str:
        thread = str(getattr(record, "ge_thread", self._thread))
        letter = next((letter for level, letter in _LETTERS if record.levelno >= level), "I")
        text = record.getMessage()
        if record.exc_info:
            text += ": " + self.formatException(record.exc_info)
        when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(record.created))
        # one record, one line: what reads the file splits at line ends
        text = printable(text.replace("\n", " | "))
        return f"{when}|{thread[:6]:>6}|{self._host}|{letter}|{text}"


def printable(text: str) -> str:
    """`text` with everything escaped that a terminal could take for a command or a reader for the end of a line.

    That is what `str.isprintable` says no to: control characters of both sets, separators of lines, directions of writing.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


class MessagesHandler(logging.Handler):
    """Appends to the file; opens it again when it was moved away (logrotate); falls back to stderr."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._descriptor = -1

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode(errors="backslashreplace")
        except Exception as error:  # a wrong log call must not end the daemon
            line = f"cannot log {record.msg!r}: {error}\n".encode(errors="backslashreplace")
        try:
            self._reopen_if_moved()
            written = os.write(self._descriptor, line)
            if written != len(line):
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
                raise OSError("disk full")
        except OSError:
            self._to_stderr(line)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        super().close()

    def _reopen_if_moved(self) -> None:
        if self._descriptor >= 0:
            held = os.fstat(self._descriptor)
            try:
                there = os.stat(self._path)
            except FileNotFoundError:
                there = None
            if there is not None and (there.st_ino, there.st_dev) == (held.st_ino, held.st_dev):
                return
            os.close(self._descriptor)
            self._descriptor = -1
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    @staticmethod
    def _to_stderr(line: bytes) -> None:
        try:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
        except (OSError, ValueError, AttributeError):
            pass  # a detached daemon has no stderr: there is nowhere left to complain


def open_messages(path: Path, thread: str, host: str, loglevel: str = "log_warning") -> MessagesHandler:
    """Send this process's log to `path`. Replaces what an earlier call set up; never raises."""
    handler = MessagesHandler(path)
    handler.setFormatter(MessageFormatter(thread, host))
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, MessagesHandler)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    set_loglevel(loglevel)
    return handler


def set_loglevel(loglevel: str) -> None:
    """Apply `loglevel` of sge_conf(5); an unknown one counts as log_warning."""
    logging.getLogger().setLevel(LOG_LEVELS.get(loglevel.lower(), logging.WARNING))

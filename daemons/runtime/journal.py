"""Errors and warnings of a daemon in the journal of systemd, beside its `messages` file.

Owns the protocol of the journal; the unit of a record is known from its sender, also for Ray's actors, whose stderr is a file.
Only where systemd has started the daemon: `JOURNAL_STREAM` names the stream that is its stderr, and children inherit it. Never
raises. Source: https://systemd.io/JOURNAL_NATIVE_PROTOCOL, systemd.exec(5) JOURNAL_STREAM.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress

STREAM = "JOURNAL_STREAM"
SOCKET = "/run/systemd/journal/socket"
#: level of a record -> priority of syslog(3)
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4))
_NOTICE = 5


def forget_foreign_stream(environment: MutableMapping[str, str] = os.environ) -> None:
    """Remove the variable if it does not name this process's stderr: it was inherited from another service's process."""
    status = os.fstat(2)
    if environment.get(STREAM) != f"{status.st_dev}:{status.st_ino}":
        environment.pop(STREAM, None)


def is_journal_used() -> bool:
    """Whether the daemon of this process was started by systemd, with the journal as its stderr."""
    return STREAM in os.environ


class JournalHandler(logging.Handler):
    """Sends records of level warning and above. `program`: their SYSLOG_IDENTIFIER."""

    def __init__(self, program: str) -> None:
        super().__init__(logging.WARNING)
        self._program = program

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # the record is in `messages`
            priority = next((number for level, number in _PRIORITIES if record.levelno >= level), _NOTICE)
            self.send(self.format(record), priority)

    def send(self, text: str, priority: int = _NOTICE) -> None:
        """Send a line of text. A journal that does not read is not waited for. Raises OSError."""
        fields = {"PRIORITY": priority, "SYSLOG_IDENTIFIER": self._program, "MESSAGE": text}
        data = "".join(f"{name}={value}\n" for name, value in fields.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
            connection.setblocking(False)
            connection.sendto(data.encode(errors="backslashreplace"), SOCKET)

"""The `messages` file of a daemon: `MM/DD/YYYY HH:MM:SS|thread|host|level|text`, a line each; and optionally `messages.json`.

Owns both forms and the handlers; the daemons log through the standard `logging`, with `about` for the fields of the second
form. Tracebacks of program errors go to `tracebacks` beside it: people read `messages`. Never raises: a daemon must not end
because its log cannot be written. Source: sge_conf(5) loglevel, GC-4; format as 8.1.9 writes it; adr/0167. Deviation: the
second form is ours.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
import traceback
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from daemons.runtime.journal import JournalHandler, is_journal_used

#: sge_conf(5) loglevel -> lowest level that is written
LOG_LEVELS = {"log_err": logging.ERROR, "log_warning": logging.WARNING, "log_info": logging.INFO}
#: level of a record -> its character in `messages`, its name in `messages.json`
_LEVELS = ((logging.CRITICAL, "C", "critical"), (logging.ERROR, "E", "error"), (logging.WARNING, "W", "warning"))
_INFO = (logging.INFO, "I", "info")

#: Beside `messages`. A file of tracebacks that is larger than this limit, in bytes, is renamed to `tracebacks.old`.
TRACEBACKS = "tracebacks"
_MOST_TRACEBACKS = 1_000_000

#: libraries with a log of their own, which is for their developers
_FOREIGN = ("ray",)
_COLOURS = re.compile("\x1b\\[[0-9;]*m")


def about(event: str, **fields: object) -> dict[str, Any]:
    """The fields of a record for `messages.json`: `_log.info(text, extra=about("task_ended", job=5, user="ann"))`.

    `event`: the kind of event, always the same name for it. Fields that are None, "" or [] are left out.
    """
    return {"fields": {"event": event, **{name: value for name, value in fields.items() if value not in (None, "", [])}}}


class _TextFormatter(logging.Formatter):
    """A record as its text alone: the journal has time, host and level itself."""

    def format(self, record: logging.LogRecord) -> str:
        return _text(record)


def _text(record: logging.LogRecord) -> str:
    """The text of a record, on one line; for an exception its name and message."""
    text = record.getMessage()
    if record.exc_info and record.exc_info[1] is not None:
        error = record.exc_info[1]
        reason = str(error).partition("\n")[0]
        text += f": {type(error).__name__}{f': {reason}' if reason else ''} (see {TRACEBACKS} beside this file)"
    # one record, one line: readers of the file split it at line ends
    return printable(_COLOURS.sub("", text).replace("\n", " | "))


class MessageFormatter(logging.Formatter):
    """A record as one line; the thread's name is cut or padded on the left to six characters, as GE does.

    `thread` is the record's attribute of that name (`extra={"ge_thread": "worker"}`) or the formatter's own.
    """

    def __init__(self, thread: str, host: str) -> None:
        super().__init__()
        self._thread, self._host = thread, host

    def format(self, record: logging.LogRecord) -> str:
        thread = str(getattr(record, "ge_thread", self._thread))
        level_code = next((level for level in _LEVELS if record.levelno >= level[0]), _INFO)[1]
        when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(record.created))
        return f"{when}|{thread[:6]:>6}|{self._host}|{level_code}|{_text(record)}"


class JsonFormatter(logging.Formatter):
    """A record as a JSON object on one line: time, level, component, thread, host, event, the fields of `about`, text.

    `time`: ISO 8601 with milliseconds and the offset from UTC; `event`: the logging module, where `about` names none.
    """

    def __init__(self, component: str, thread: str, host: str) -> None:
        super().__init__()
        self._component, self._thread, self._host = component, thread, host

    def format(self, record: logging.LogRecord) -> str:
        level = next((level for level in _LEVELS if record.levelno >= level[0]), _INFO)[2]
        thread = str(getattr(record, "ge_thread", self._thread))
        line = {
            "time": datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="milliseconds"),
            "level": level,
            "component": self._component,
            "thread": thread,
            "host": self._host,
            "event": record.name.rpartition(".")[2],
            **getattr(record, "fields", {}),
            "text": _text(record),
        }
        return json.dumps(line, default=str)


def printable(text: str) -> str:
    """`text` with all characters escaped that a terminal could take for a command or a reader for the end of a line.

    Unprintable characters by `str.isprintable` are control characters of both sets, line separators, writing directions.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _is_own(record: logging.LogRecord) -> bool:
    """Whether a record is not of a library with a log of its own."""
    return record.name.partition(".")[0] not in _FOREIGN


class MessagesHandler(logging.Handler):
    """Appends to the file; opens it again when it was moved away (logrotate); falls back to stderr."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addFilter(_is_own)
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
            opened = os.fstat(self._descriptor)
            try:
                named = os.stat(self._path)
            except FileNotFoundError:
                named = None
            if named is not None and (named.st_ino, named.st_dev) == (opened.st_ino, opened.st_dev):
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
            pass  # a detached daemon has no stderr: the failure cannot be reported


class TracebacksHandler(logging.Handler):
    """Keeps the tracebacks of records, for developers; readable only for the daemon's user."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        if not record.exc_info or record.exc_info[0] is None:
            return
        try:
            when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(record.created))
            lines = traceback.format_exception(*record.exc_info)
            keep_traceback(self._path, f"{when} {record.name}: {record.getMessage()}\n{''.join(lines)}")
        except Exception:  # noqa: BLE001 - the record itself is in `messages`
            return


def keep_traceback(path: Path, text: str) -> None:
    """Add a traceback to a file of them. Raises OSError."""
    if path.exists() and path.stat().st_size > _MOST_TRACEBACKS:
        path.replace(path.with_suffix(".old"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{text.rstrip()}\n\n".encode(errors="backslashreplace"))
    finally:
        os.close(descriptor)


def open_messages(
    path: Path, thread: str, host: str, loglevel: str = "log_warning", component: str = "", as_json: bool = False
) -> MessagesHandler:
    """Send this process's log to `path`, to `path`.json if `as_json`, and to the journal if systemd has started the daemon.
    Replaces the handlers of an earlier call; never raises.

    `component`: the daemon's name in `messages.json`; in the journal it is `sge_` and this name.
    """
    handler = MessagesHandler(path)
    handler.setFormatter(MessageFormatter(thread, host))
    handlers: list[logging.Handler] = [handler, TracebacksHandler(path.with_name(TRACEBACKS))]
    if as_json:
        handlers.append(MessagesHandler(path.with_name(f"{path.name}.json")))
        handlers[-1].setFormatter(JsonFormatter(component, thread, host))
    if is_journal_used():
        handlers.append(_journal(path, component))
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, MessagesHandler | TracebacksHandler | JournalHandler)]:
        root.removeHandler(old)
        old.close()
    for each in handlers:
        root.addHandler(each)
    set_loglevel(loglevel)
    return handler


def _journal(path: Path, component: str) -> JournalHandler:
    """The handler for the journal, which first learns where all messages are."""
    handler = JournalHandler(f"sge_{component}")
    handler.addFilter(_is_own)
    handler.setFormatter(_TextFormatter())
    with suppress(OSError):
        handler.send(f"warnings and errors follow; all messages: {path}")
    return handler


def set_loglevel(loglevel: str) -> None:
    """Apply `loglevel` of sge_conf(5); an unknown one counts as log_warning."""
    logging.getLogger().setLevel(LOG_LEVELS.get(loglevel.lower(), logging.WARNING))

"""Execution of a query in a separate process, so that its resources can be limited, and the process can be killed.

Owns the fork, the pipe for the answer, and the end of the process. The process is a copy of the writer process between two of its
statements: so it has the present database, opens no file, and starts at once. Called by the server, in a thread.
Source: adr/0177.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from daemons.dbwriter.answer_text import DEFAULT_LIMITS, AnswerLimits, answer_text
from daemons.dbwriter.confinement import (
    close_descriptors,
    confine_to_directory,
    drop_privileges,
    limit_resources,
    max_query_disk,
    max_query_memory,
)
from daemons.dbwriter.database import Database, DatabaseError, QueryLimits, Row
from gridengine.protocols import arco

_ANSWER, _FAULT = b"A", b"F"
#: maximum bytes of an answer with its columns and further fields; bytes of one read
_MAX_BYTES, _READ_BYTES = arco.ANSWER_BYTES + 2**22, 2**20
_DIRECTORY_PREFIX = "question-"


def ask(
    database: Database,
    statement: str,
    parameters: Row,
    answer_limits: AnswerLimits = DEFAULT_LIMITS,
    timeout_s: float = arco.PATIENCE_S,
    more_fields: Mapping[str, object] = MappingProxyType({}),
) -> bytes:
    """The answer as JSON text: see `answer_text`. Raises DatabaseError: wrong query, or too much time, memory or disk."""
    deadline = time.monotonic() + timeout_s
    with (
        tempfile.TemporaryDirectory(prefix=_DIRECTORY_PREFIX, dir=database.directory, ignore_cleanup_errors=True) as directory,
        database.pin_snapshot(timeout_s),
    ):
        limits = QueryLimits(max_query_memory(), max_query_disk(directory), timeout_s)

        def answer() -> bytes:
            return answer_text(database.ask(statement, parameters, limits), answer_limits, more_fields)

        text, status = _fork_and_receive(database, answer, directory, limits, deadline)
    kind, body, end = text[:1], text[1:-1], text[-1:]
    if kind == end == _ANSWER:
        return body
    if kind == end == _FAULT:
        reason, transient = json.loads(body)
        raise DatabaseError(reason, transient=transient, invalid_query=not transient)
    if time.monotonic() >= deadline or status == signal.SIGXCPU:
        raise DatabaseError(limits.timeout_message, invalid_query=True)
    if not text and status == signal.SIGKILL:  # killed by the kernel for lack of memory: see oom_score_adj
        raise DatabaseError("the host is short of memory: ask again in a moment", transient=True)
    raise DatabaseError(limits.resources_message, invalid_query=True)


def remove_leftovers(directory: Path) -> None:
    """Remove the temporary files that queries of a killed writer have left in the directory of a database."""
    for leftover in directory.glob(f"{_DIRECTORY_PREFIX}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _fork_and_receive(
    database: Database, answer: Callable[[], bytes], directory: str, limits: QueryLimits, deadline: float
) -> tuple[bytes, int]:
    """The output of the new process, and the number of the signal that ended it, 0 for none."""
    receiving, sending = os.pipe()
    try:
        with database.pause_statements():
            process = os.fork()
            if process == 0:
                _answer_and_exit(database, answer, sending, directory, limits)
    except BaseException:
        os.close(receiving)
        raise
    finally:
        os.close(sending)
    try:
        text = _receive(receiving, deadline)
    finally:
        os.close(receiving)
        ended, status = os.waitpid(process, os.WNOHANG)
        if not ended:
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
    return text, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _receive(pipe: int, deadline: float) -> bytes:
    """Read until the end of the output, the deadline, or the maximum size."""
    parts: list[bytes] = []
    size = 0
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while size <= _MAX_BYTES and (remaining_s := deadline - time.monotonic()) > 0 and poll.poll(remaining_s * 1000):
        part = os.read(pipe, _READ_BYTES)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _answer_and_exit(
    database: Database, answer: Callable[[], bytes], pipe: int, directory: str, limits: QueryLimits
) -> NoReturn:
    """In the new process: answer within the limits, then exit. A return would make the process a second writer."""
    kind, text = _FAULT, b""
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(directory)
        close_descriptors({pipe, *database.make_descriptors_read_only()})
        limit_resources(limits.memory, limits.disk, int(limits.timeout_s))
        if database.can_be_confined:
            drop_privileges()
            confine_to_directory()
        kind, text = _ANSWER, answer()
    except DatabaseError as fault:
        text = json.dumps([str(fault), fault.transient]).encode()
    except MemoryError:
        text = json.dumps([limits.resources_message, False]).encode()
    except BaseException as error:  # the answer of a process that must not return
        text = json.dumps([f"the query failed: {type(error).__name__}", False]).encode()
    finally:
        with suppress(BaseException):
            _send(pipe, kind, text)
        os._exit(0)


def _send(pipe: int, kind: bytes, text: bytes) -> None:
    """Send the kind, the text, and the kind again as a proof of completeness."""
    with os.fdopen(pipe, "wb") as file:
        file.write(kind)
        file.write(text)
        file.write(kind)

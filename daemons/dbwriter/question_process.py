"""A question in a process of its own, which ends with it: what it takes can be limited, and it can be killed.

Owns forking, the pipe by which the answer comes back, and the end of the process. The process is a copy of the writer's between
two of its statements: so it has the database as it is now, opens no file, and begins at once. Called by the server, in a thread.
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

from daemons.dbwriter.answer_text import WHOLE, Shape, answer_text
from daemons.dbwriter.confinement import (
    close_descriptors,
    confine_to_directory,
    give_up_rights,
    limit_resources,
    question_disk,
    question_memory,
)
from daemons.dbwriter.database import Database, DatabaseFault, QuestionLimits, Row
from gridengine import arco

_ANSWER, _FAULT = b"A", b"F"
#: bytes that come back at most: an answer, its columns and the fields beside them; in one read
_MOST_BYTES, _READ_BYTES = arco.ANSWER_BYTES + 2**22, 2**20
_DIRECTORIES = "question-"


def ask(
    database: Database,
    statement: str,
    parameters: Row,
    shape: Shape = WHOLE,
    patience_s: float = arco.PATIENCE_S,
    more_fields: Mapping[str, object] = MappingProxyType({}),
) -> bytes:
    """The answer as JSON text: see `answer_text`. Raises DatabaseFault: it is wrong, or takes too much time, memory or disk."""
    until = time.monotonic() + patience_s
    with (
        tempfile.TemporaryDirectory(prefix=_DIRECTORIES, dir=database.directory, ignore_cleanup_errors=True) as directory,
        database.unmoved(patience_s),
    ):
        limits = QuestionLimits(question_memory(), question_disk(directory), patience_s)

        def answer() -> bytes:
            return answer_text(database.ask(statement, parameters, limits), shape, more_fields)

        text, status = _answered(database, answer, directory, limits, until)
    kind, body, end = text[:1], text[1:-1], text[-1:]
    if kind == end == _ANSWER:
        return body
    if kind == end == _FAULT:
        reason, passing = json.loads(body)
        raise DatabaseFault(reason, passing=passing, wrong=not passing)
    if time.monotonic() >= until or status == signal.SIGXCPU:
        raise DatabaseFault(limits.too_long, wrong=True)
    if not text and status == signal.SIGKILL:  # no limit of its own ends it so: the kernel took it first, as it had asked
        raise DatabaseFault("the host is short of memory: ask again in a moment", passing=True)
    raise DatabaseFault(limits.too_much, wrong=True)


def remove_leftovers(directory: Path) -> None:
    """Remove what questions of a process that was killed have left in the directory of a database."""
    for left in directory.glob(f"{_DIRECTORIES}*"):
        shutil.rmtree(left, ignore_errors=True)


def _answered(
    database: Database, answer: Callable[[], bytes], directory: str, limits: QuestionLimits, until: float
) -> tuple[bytes, int]:
    """What the new process sends, and the number of the signal that ended it, 0 for none."""
    receiving, sending = os.pipe()
    try:
        with database.at_rest():
            process = os.fork()
            if process == 0:
                _answer_and_end(database, answer, sending, directory, limits)
    except BaseException:
        os.close(receiving)
        raise
    finally:
        os.close(sending)
    try:
        text = _received(receiving, until)
    finally:
        os.close(receiving)
        ended, status = os.waitpid(process, os.WNOHANG)
        if not ended:
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
    return text, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _received(pipe: int, until: float) -> bytes:
    """What comes until the end, or for as long as is waited, or until it is too much."""
    parts: list[bytes] = []
    size = 0
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while size <= _MOST_BYTES and (left := until - time.monotonic()) > 0 and poll.poll(left * 1000):
        part = os.read(pipe, _READ_BYTES)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _answer_and_end(
    database: Database, answer: Callable[[], bytes], pipe: int, directory: str, limits: QuestionLimits
) -> NoReturn:
    """In the new process: answer within limits. It never returns, since it would go on as a second writer."""
    kind, text = _FAULT, b""
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(directory)
        close_descriptors({pipe, *database.descriptors_to_read()})
        limit_resources(limits.memory, limits.disk, int(limits.patience_s))
        if database.opens_nothing:
            give_up_rights()
            confine_to_directory()
        kind, text = _ANSWER, answer()
    except DatabaseFault as fault:
        text = json.dumps([str(fault), fault.passing]).encode()
    except MemoryError:
        text = json.dumps([limits.too_much, False]).encode()
    except BaseException as error:
        text = json.dumps([f"the question failed: {type(error).__name__}", False]).encode()
    finally:
        with suppress(BaseException):
            _send(pipe, kind, text)
        os._exit(0)


def _send(pipe: int, kind: bytes, text: bytes) -> None:
    """The kind at both ends says that nothing is missing."""
    with os.fdopen(pipe, "wb") as file:
        file.write(kind)
        file.write(text)
        file.write(kind)

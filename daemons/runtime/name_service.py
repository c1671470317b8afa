"""Users and groups of this host, looked up without blocking an event loop.

Their source is the name service (nsswitch.conf(5)): files, LDAP, SSSD and others. A directory server may be slow, hang or be
away. So a lookup has a thread of its own and a time limit, and the last answer remains in use while no new one comes; and a
user who does not exist is distinguished from a user who cannot be looked up at the moment (adr/0240).
"""

from __future__ import annotations

import asyncio
import ctypes
import grp
import math
import os
import pwd
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from gridengine.errors import UnavailableError

#: seconds for which an answer is used while the name service does not answer
KEPT_S = 3600.0
#: seconds for which a caller waits for an answer; a later answer is cached
PATIENCE_S = 2.0
#: the largest number of cached answers, and of lookups at a time
MAX_ANSWERS, MAX_PENDING = 4096, 64

_ENTRY_BYTES, _TEXT_BYTES = 512, 65536
_libc = ctypes.CDLL(None)
_Key = TypeVar("_Key", bound=Hashable)
_Found = TypeVar("_Found")


class NameServiceError(UnavailableError):
    """The name service does not answer: whether the user or group exists is not known now."""


def find_user(name: str) -> pwd.struct_passwd:
    """The user of this name. Blocks. Raises KeyError: there is none; NameServiceError."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        _check_answer("getpwnam_r", os.fsencode(name), f'user "{name}"')
        raise


def user_name(uid: int) -> str | None:
    """The name of a user id, None if it has none. Blocks. Raises NameServiceError."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        _check_answer("getpwuid_r", uid, f"user id {uid}")
        return None


def group_name(gid: int) -> str:
    """The name of a group id; the number, if it has none. Blocks. Raises NameServiceError."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        _check_answer("getgrgid_r", gid, f"group id {gid}")
        return str(gid)


def _check_answer(function: str, key: bytes | int, what: str) -> None:
    """Raise NameServiceError if the name service has not answered; `pwd` and `grp` report this as an unknown name.

    The C library returns 0 for a name that all sources deny, and an error number if a source was not reached.
    """
    entry, text, result = ctypes.create_string_buffer(_ENTRY_BYTES), ctypes.create_string_buffer(_TEXT_BYTES), ctypes.c_void_p()
    if getattr(_libc, function)(key, entry, text, ctypes.c_size_t(_TEXT_BYTES), ctypes.byref(result)):
        raise NameServiceError(_silence(what))


def _silence(what: object) -> str:
    return f"cannot look up {what}: the name service of this host (nsswitch.conf) does not answer"


class Lookups(Generic[_Key, _Found]):
    """Answers of a blocking function, for one event loop. `query`: raises NameServiceError, or any error that is an answer; such
    an error is not cached, and no answer that is false. `what`: names the key in messages."""

    def __init__(self, query: Callable[[_Key], _Found], what: Callable[[_Key], str] = str) -> None:
        self._query, self._what = query, what
        self._answers: OrderedDict[_Key, tuple[float, _Found]] = OrderedDict()  # -> when it came
        self._pending: dict[_Key, tuple[float, asyncio.Future[_Found]]] = {}  # -> when it was asked

    async def find(self, key: _Key) -> _Found:
        """The answer, within PATIENCE_S; without one, the last. Raises NameServiceError and the errors of the query."""
        try:
            return await self._ask(key)
        except NameServiceError:
            came, known = self._answers.get(key, (-math.inf, None))
            if known and time.monotonic() - came < KEPT_S:
                return known
            raise

    async def _ask(self, key: _Key) -> _Found:
        """Requests for one key share a lookup; when it takes longer than PATIENCE_S, later requests do not wait at all."""
        if key not in self._pending:
            self._begin(key)
        asked, answer = self._pending[key]
        await asyncio.wait({answer}, timeout=max(0.0, asked + PATIENCE_S - time.monotonic()))
        if not answer.done():
            raise NameServiceError(_silence(self._what(key)))
        return answer.result()

    def _begin(self, key: _Key) -> None:
        """The thread is one of its own: a pool would be waited for when the process ends, and serves other work too."""
        if len(self._pending) >= MAX_PENDING:
            raise NameServiceError(_silence(self._what(key)))
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Found] = loop.create_future()
        self._pending[key] = time.monotonic(), answer

        answer.add_done_callback(lambda _: self._note(key, answer))

        def work() -> None:
            deliver: Callable[[], None]
            try:
                deliver = partial(answer.set_result, self._query(key))
            except Exception as error:  # noqa: BLE001 - passed on to the callers
                deliver = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(deliver)

        threading.Thread(target=work, name="name service", daemon=True).start()

    def _note(self, key: _Key, answer: asyncio.Future[_Found]) -> None:
        del self._pending[key]
        if isinstance(answer.exception(), NameServiceError):
            return  # the last answer remains in use
        self._answers.pop(key, None)
        if answer.exception() is None and answer.result():
            self._answers[key] = time.monotonic(), answer.result()
            if len(self._answers) > MAX_ANSWERS:
                self._answers.popitem(last=False)

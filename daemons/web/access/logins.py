"""Sessions and tokens: the logged-in users, identified by the hash of a secret that only they have.

Owns the file that keeps sessions and tokens over a restart, with mode 0600 and without secrets. Called by the guard and the pages
of `routes`. Source: adr/0134.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from gridengine.files.durable import atomic_write
from gridengine.protocols.gdi.requests import Caller
from gridengine.protocols.web import ALL

_log = logging.getLogger(__name__)

IDLE_S, LONGEST_S = 12 * 3600.0, 7 * 86_400.0
"""Seconds after which an unused session expires, and after which every session expires."""
_DAY_S = 86_400.0
_WRITE_INTERVAL_S = 60.0
"""Seconds by which the time of the last use on disk may be behind."""
MOST = 50
"""Sessions and tokens of one user; a new login replaces the oldest."""


class Login(Struct):
    """A session of a browser, or a token of a program. Times are epoch seconds: `made`, last `used`, valid `until`. `digest`: of
    its secret; `caller`: its user. `csrf`: the token that a session's changes carry.

    `scope` (of a token): the permitted requests (`protocols.web`); `label` (of a token): the user's own name for the token;
    `address`: the client of the last use.
    """

    digest: str
    kind: Literal["session", "token"]
    caller: Caller
    made: float
    used: float
    until: float
    csrf: str = ""
    scope: str = ALL
    label: str = ""
    address: str = ""


class Logins:
    """All valid sessions and tokens. `clock()`: epoch s."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self._clock = path, clock
        self._logins: dict[str, Login] = {}
        self._written = 0.0
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=list[Login])
        except (OSError, msgspec.DecodeError):
            kept = []  # all users have to log in again
        self._logins = {each.digest: each for each in kept}

    def begin(self, caller: Caller) -> tuple[str, Login]:
        """Log a user in with a browser; return the secret for the cookie, and the session. Raises OSError."""
        return self._add("session", caller, LONGEST_S)

    def grant(self, caller: Caller, days: int, scope: str = ALL, label: str = "") -> tuple[str, Login]:
        """Create a token for a user's programs, valid for `days`; return the secret, and the login record. Raises OSError."""
        return self._add("token", caller, days * _DAY_S, scope, label)

    def find(self, kind: Literal["session", "token"], secret: str, address: str = "") -> Login | None:
        """The session or token of this secret, noted as used from this address; None if there is none, or it is expired."""
        login = self._logins.get(digest_of(secret))
        if login is None or login.kind != kind:
            return None
        now = self._clock()
        if self._is_expired(login, now):
            self.end(login.digest)
            return None
        login.used, login.address = now, address
        if now - self._written > _WRITE_INTERVAL_S:
            try:
                self._write()
            except OSError as error:  # pages can be read while the disk is full
                _log.warning("cannot save the times of last use in %s: %s", self._path, error.strerror)
        return login

    def has(self, login: Login) -> bool:
        """Whether a login is still valid; this does not count as a use."""
        return login.digest in self._logins and not self._is_expired(login, self._clock())

    def of(self, user: str) -> Iterator[Login]:
        """All sessions and tokens of a user, the newest first."""
        now = self._clock()
        own = [each for each in self._logins.values() if each.caller.user == user and not self._is_expired(each, now)]
        yield from sorted(own, key=lambda each: -each.made)

    def end(self, digest: str) -> None:
        """Log out."""
        if self._logins.pop(digest, None) is not None:
            self._write()

    def _is_expired(self, login: Login, now: float) -> bool:
        return now >= login.until or (login.kind == "session" and now - login.used >= IDLE_S)

    def _add(
        self, kind: Literal["session", "token"], caller: Caller, seconds: float, scope: str = ALL, label: str = ""
    ) -> tuple[str, Login]:
        secret, now = secrets.token_urlsafe(32), self._clock()
        csrf = secrets.token_urlsafe(32) if kind == "session" else ""
        login = Login(digest_of(secret), kind, structs.replace(caller), now, now, now + seconds, csrf, scope, label)
        for old in list(self.of(caller.user))[MOST - 1 :]:
            del self._logins[old.digest]
        self._logins[login.digest] = login
        try:
            self._write()
        except OSError:
            del self._logins[login.digest]
            raise
        _log.info("%s has a new %s", caller.user, kind)
        return secret, login

    def _write(self) -> None:
        """Save all logins. Raises OSError, since a reported login or logout must survive a restart."""
        now = self._written = self._clock()
        kept = [each for each in self._logins.values() if not self._is_expired(each, now)]
        atomic_write(self._path, msgspec.json.encode(kept))


def digest_of(secret: str) -> str:
    """The hash of a secret. Secrets have 256 random bits, so a slow hash is not needed."""
    return hashlib.sha256(secret.encode()).hexdigest()

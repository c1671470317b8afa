"""Tokens with which a bare host joins a cell: their form, and the master's records of them.

Owns these forms, for `gridengine token`, which makes tokens, `gridengine join`, which presents a token, and the qmaster, which
checks it first of all. Opens only files of the given directory. Source: adr/0153, docs/security.md.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from pathlib import Path
from typing import NamedTuple

from gridengine.errors import InvalidValueError

REQUEST = "join"
"""The one request that a host without keys may make."""
ADMISSION_TIMEOUT_S, LONGEST_ADMISSION_S = 60.0, 240.0
"""Maximum time that the master takes to admit a host, and after attempts that took longer."""
_PREFIX = "ge1_"
_NUMBER, _SECRET, _FINGERPRINT = 6, 18, 32


class JoinToken(NamedTuple):
    """`number`: its identifier, not secret; `secret`: random bytes that prove the token; `fingerprint`: SHA-256 of the
    certificate that the host requires of the master."""

    number: str
    secret: bytes
    fingerprint: bytes

    def __str__(self) -> str:
        return _PREFIX + base64.urlsafe_b64encode(bytes.fromhex(self.number) + self.secret + self.fingerprint).decode()

    @property
    def digest(self) -> str:
        """The digest of the secret, which the master keeps."""
        return hashlib.sha256(self.secret).hexdigest()


def parse_token(text: str) -> JoinToken:
    """Raises InvalidValueError."""
    try:
        data = base64.urlsafe_b64decode(text.removeprefix(_PREFIX).encode("ascii"))
    except (binascii.Error, UnicodeError, ValueError):
        data = b""
    if not text.startswith(_PREFIX) or len(data) != _NUMBER + _SECRET + _FINGERPRINT:
        raise InvalidValueError("not a valid join token (is it truncated?)")
    return JoinToken(data[:_NUMBER].hex(), data[_NUMBER:-_FINGERPRINT], data[-_FINGERPRINT:])


def new_token(random: bytes, fingerprint: bytes) -> JoinToken:
    """`random`: RANDOM_BYTES random bytes."""
    return JoinToken(random[:_NUMBER].hex(), random[_NUMBER:], fingerprint)


RANDOM_BYTES = _NUMBER + _SECRET


REPEAT_S = 60.0
"""For how long a host whose answer was lost may repeat its request, with the same public key."""


class JoinedHost(NamedTuple):
    """A host that has joined. `key`: SHA-256 of its public key, in hexadecimal digits; `at`: epoch s."""

    host: str
    key: str
    at: float


class JoinRecord(NamedTuple):
    """The master's record of a token. `number`: as in the token; `digest`: SHA-256 of its secret. `until`: epoch s; `hosts`: the
    only hosts that may join, () for any host without keys; `joined`: the hosts that have; `placing`: roles, queues, host groups
    and memory of such a host, as the administrator specified; `most`: how many hosts may join."""

    number: str
    digest: str
    until: float
    hosts: tuple[str, ...] = ()
    joined: tuple[JoinedHost, ...] = ()
    placing: dict[str, object] = {}
    most: int = 1

    @property
    def is_used_up(self) -> bool:
        """Whether no further host may join."""
        return len(self.joined) >= self.most

    def is_open(self, now: float) -> bool:
        """Whether a request may still be granted: of a further host, or of a host that repeats its request."""
        return now < self.until and not (self.is_used_up and all(now - each.at >= REPEAT_S for each in self.joined))

    def accepts(self, token: JoinToken, now: float) -> bool:
        """Whether this record belongs to the token, and is still valid."""
        return self.is_open(now) and hmac.compare_digest(self.digest, token.digest)

    def refusal_reason(self, host: str, key: str, now: float) -> str:
        """The reason for which a host with this public key may not join, "" if it may."""
        if self.hosts and host not in self.hosts:
            return f'the token is not for host "{host}"'
        again = f"gridengine token join {host} makes another"
        earlier = next((each for each in self.joined if each.host == host), None)
        if earlier is not None and (earlier.key != key or now - earlier.at >= REPEAT_S):
            return f'host "{host}" has joined by this token already: {again}'
        if earlier is None and self.is_used_up:
            return f"the token is used up, by {', '.join(each.host for each in self.joined)}: {again}"
        return ""


def join_directory(authority: Path) -> Path:
    """The directory of the records, beside the authority of the cell."""
    return authority / "joins"


def read_records(directory: Path) -> list[JoinRecord]:
    """All readable records, also expired records."""
    try:
        names = sorted(path.stem for path in directory.glob("*.json"))
    except OSError:
        return []
    return [known for name in names if (known := read_record(directory, name)) is not None]


def read_record(directory: Path, number: str) -> JoinRecord | None:
    """The record of a token, None if there is none."""
    try:
        known = json.loads((directory / f"{number}.json").read_text())
        return JoinRecord(
            number=number, digest=str(known["digest"]), until=float(known["until"]), hosts=tuple(known["hosts"]),
            joined=tuple(JoinedHost(str(host), str(key), float(at)) for host, key, at in known["joined"]),
            placing=dict(known["placing"]), most=int(known["most"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def encode_record(record: JoinRecord) -> str:
    """The content of the record's file."""
    return json.dumps({name: value for name, value in record._asdict().items() if name != "number"})

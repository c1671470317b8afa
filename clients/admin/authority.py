"""The authority of a cell: makes the keys of its hosts, hands them out, takes them back.

Owns `authority/` in the qmaster's spool, which never leaves the master host: the key that signs, and what the qmaster
believes of each host. The keys of an exec host go to `common/secrets/HOST`, out of which its daemon takes them at its
next start. Called by `creation` (a new cell) and `host` (the verbs). Source: docs/adr/0101, docs/security.md.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from clients.admin.cell import CellFiles
from clients.admin.certificate import (
    Signed,
    addresses_in,
    fingerprint,
    make_authority,
    make_certificate,
    serial_number,
    sign_request,
    validity,
)
from clients.admin.refusal import Refusal
from gridengine.joining import JoinRecord, encode_record, join_directory, read_record, read_records

#: what earlier versions had in common/secrets, the same for all hosts
_SHARED_SECRETS = ("ray_token", "gdi_key", "tls.key")
_GDI_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host that the qmaster believes. `waiting`: its keys lie in `common/secrets` and have not been taken yet; `addresses`: for
    which they were made, the loopback's among them."""

    name: str
    serial: str
    until: datetime
    waiting: bool
    addresses: tuple[str, ...] = ()


class Authority:
    """The authority of the cell `files`, on its master host. `owner`: the admin user, whose daemons use the keys."""

    def __init__(self, files: CellFiles, qmaster_spool: Path, owner: str) -> None:
        self._files, self._owner = files, owner
        self._directory = qmaster_spool / "authority"
        self._masters_keys = qmaster_spool / "keys"

    @property
    def exists(self) -> bool:
        return (self._directory / "tls.key").exists()

    @property
    def never_was(self) -> bool:
        """Whether the cell is of an earlier version, or has been made on another host than its master host."""
        return not self._files.certificate.exists() or (self._files.secrets / "tls.key").exists()

    def found(self, master_host: str, addresses: Iterable[str], now: datetime) -> None:
        """Make the authority, and the master host's own keys. Raises OSError."""
        made = make_authority(f"Grid Engine cell of {master_host}", now)
        masters = make_certificate(made, master_host, addresses, now)
        shutil.rmtree(self._directory, ignore_errors=True)  # of an earlier cell, whose hosts are not to be believed
        _make_closed(self._directory, self._owner)
        _make_closed(self._directory / "hosts", self._owner)
        self._write_keys(self._masters_keys, {"tls.key": masters.key, "tls.crt": masters.certificate})
        self._write(self._files.certificate, made.certificate, 0o644)
        self._write(self._directory / "tls.crt", made.certificate)
        self._write(self._directory / "tls.key", made.key)

    def add(self, host: str, addresses: Iterable[str], now: datetime, into: Path | None = None) -> Path:
        """Make keys for a host, for which earlier ones are worth nothing from then on; return where they lie.

        `into`: a new directory, to be carried to the host; None for `common/secrets/HOST`. Raises OSError.
        """
        made = make_certificate(self._signer(), host, addresses, now)
        gdi_key = secrets.token_hex(_GDI_KEY_BYTES).encode()
        place = into or self._letter_box(host)
        if into is None:
            _make_closed(self._files.secrets, self._owner)
            shutil.rmtree(place, ignore_errors=True)
        self._write_keys(place, {"tls.key": made.key, "tls.crt": made.certificate, "gdi_key": gdi_key})
        self._believe(host, made.certificate, gdi_key)
        return place

    def add_master(self, host: str) -> None:
        """Make the master host's own keys those of a host that may lose that role. They stay the same, so whoever has read them
        already (the web server) goes on; a daemon takes them to its spool. Raises OSError."""
        if not (self._masters_keys / "gdi_key").exists():  # the qmaster makes one at its first start
            self._write(self._masters_keys / "gdi_key", secrets.token_hex(_GDI_KEY_BYTES).encode())
        files = {name: (self._masters_keys / name).read_bytes() for name in ("tls.key", "tls.crt", "gdi_key")}
        _make_closed(self._files.secrets, self._owner)
        shutil.rmtree(self._letter_box(host), ignore_errors=True)
        self._write_keys(self._letter_box(host), files)
        self._believe(host, files["tls.crt"], files["gdi_key"])

    def admit(self, host: str, request: bytes, addresses: Iterable[str], now: datetime) -> tuple[bytes, bytes]:
        """Believe a host that has made its own TLS key; return the certificate for that, and the key with which it vouches.

        Raises OSError; ValueError: `request` is no request for a certificate.
        """
        certificate = sign_request(self._signer(), request, host, addresses, now)
        gdi_key = secrets.token_hex(_GDI_KEY_BYTES).encode()
        shutil.rmtree(self._letter_box(host), ignore_errors=True)
        self._believe(host, certificate, gdi_key)
        return certificate, gdi_key

    def _believe(self, host: str, certificate: bytes, gdi_key: bytes) -> None:
        known = self._directory / "hosts" / host
        shutil.rmtree(known, ignore_errors=True)
        self._write_keys(known, {"tls.crt": certificate, "gdi_key": gdi_key})

    def revoke(self, host: str) -> None:
        """Believe a host nothing any more. Refusal: it has no keys. Raises OSError."""
        known = self._directory / "hosts" / host
        if not known.is_dir():
            raise Refusal(f'host "{host}" has no keys of this cell (gridengine host list shows those that have)')
        # the key first: what is left of an interrupted removal is believed nothing
        (known / "gdi_key").unlink(missing_ok=True)
        shutil.rmtree(known)
        shutil.rmtree(self._letter_box(host), ignore_errors=True)

    def hosts(self) -> list[KnownHost]:
        """Return the exec hosts that have keys, by name. Raises OSError."""
        found = []
        for known in sorted((self._directory / "hosts").iterdir()):
            certificate = (known / "tls.crt").read_bytes()
            waiting = self._letter_box(known.name).exists()
            last, addresses = validity(certificate)[1], tuple(addresses_in(certificate))
            found.append(KnownHost(known.name, serial_number(certificate), last, waiting, addresses))
        return found

    def masters_fingerprint(self) -> bytes:
        """Return by what a host that joins knows the master. Raises OSError."""
        return fingerprint((self._masters_keys / "tls.crt").read_bytes())

    def joins(self) -> list[JoinRecord]:
        """Return what is kept of tokens with which hosts join."""
        return read_records(join_directory(self._directory))

    def join(self, number: str) -> JoinRecord | None:
        """Return what is kept of one token, None if there is none."""
        return read_record(join_directory(self._directory), number)

    def keep_join(self, record: JoinRecord) -> None:
        """Write what is kept of a token. Raises OSError."""
        directory = join_directory(self._directory)
        self._write_keys(directory, {f"{record.number}.json": encode_record(record).encode()})

    def forget_join(self, number: str) -> None:
        """Make a token worthless. Raises OSError."""
        (join_directory(self._directory) / f"{number}.json").unlink(missing_ok=True)

    def remove_shared_secrets(self) -> None:
        """Remove the secrets that all hosts of a cell had in common before there was an authority."""
        for name in _SHARED_SECRETS:
            (self._files.secrets / name).unlink(missing_ok=True)

    def _letter_box(self, host: str) -> Path:
        return self._files.secrets / host

    def _signer(self) -> Signed:
        return Signed((self._directory / "tls.key").read_bytes(), (self._directory / "tls.crt").read_bytes())

    def _write_keys(self, directory: Path, files: dict[str, bytes]) -> None:
        _make_closed(directory, self._owner)
        for name, content in files.items():
            self._write(directory / name, content)

    def _write(self, path: Path, content: bytes, mode: int = 0o600) -> None:
        """Write a file in one step; nobody ever has more rights to it than `mode`."""
        draft = path.with_name(f".{path.name}.new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(descriptor, mode)
        give(draft, self._owner)
        draft.replace(path)


def give(path: Path, user: str) -> None:
    """Make a file the admin user's, where root makes it for another."""
    entry = pwd.getpwnam(user)
    if os.geteuid() == 0 and entry.pw_uid != 0:
        os.chown(path, entry.pw_uid, entry.pw_gid)


def _make_closed(directory: Path, owner: str) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    give(directory, owner)

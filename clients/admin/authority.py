"""The certificate authority of a cell: makes, distributes and revokes the keys of its hosts.

Owns `authority/` in the qmaster's spool, which never leaves the master host: the signing key, and the certificate and key of each
accepted host. The keys of an exec host go to `common/secrets/HOST`; its daemon moves them to its own spool at its next start.
Called by `creation` (a new cell) and `host` (the verbs). Source: docs/adr/0101, docs/security.md.
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
from clients.admin.errors import AdminError
from gridengine.files.durable import durable_write
from gridengine.protocols.joining import JoinRecord, encode_record, join_directory, read_record, read_records

#: secrets of earlier versions in common/secrets, the same for all hosts
_SHARED_SECRETS = ("ray_token", "gdi_key", "tls.key")
_GDI_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host whose keys the qmaster accepts. `waiting`: its keys are still in `common/secrets`; `addresses`: of its certificate,
    with the loopback address.
    """

    name: str
    serial: str
    until: datetime
    waiting: bool
    addresses: tuple[str, ...] = ()


class Authority:
    """The authority of the cell `files`, on its master host. `owner`: the admin user; their daemons use the keys."""

    def __init__(self, files: CellFiles, qmaster_spool: Path, owner: str) -> None:
        self._files, self._owner = files, owner
        self._directory = qmaster_spool / "authority"
        self._masters_keys = qmaster_spool / "keys"

    @property
    def exists(self) -> bool:
        return (self._directory / "tls.key").exists()

    @property
    def never_existed(self) -> bool:
        """Whether the cell is of an earlier version, or was made on a host other than its master host."""
        return not self._files.certificate.exists() or (self._files.secrets / "tls.key").exists()

    def found(self, master_host: str, addresses: Iterable[str], now: datetime) -> None:
        """Make the authority, and the master host's own keys. Raises OSError."""
        made = make_authority(f"Grid Engine cell of {master_host}", now)
        masters = make_certificate(made, master_host, addresses, now)
        shutil.rmtree(self._directory, ignore_errors=True)  # of an earlier cell, whose hosts must not be accepted
        _make_closed(self._directory, self._owner)
        _make_closed(self._directory / "hosts", self._owner)
        self._write_keys(self._masters_keys, {"tls.key": masters.key, "tls.crt": masters.certificate})
        self._write(self._files.certificate, made.certificate, 0o644)
        self._write(self._directory / "tls.crt", made.certificate)
        self._write(self._directory / "tls.key", made.key)

    def add(self, host: str, addresses: Iterable[str], now: datetime, into: Path | None = None) -> Path:
        """Make keys for a host, which revokes its earlier keys; return their directory.

        `into`: a new directory, to be copied to the host; None for `common/secrets/HOST`. Raises OSError.
        """
        made = make_certificate(self._signer(), host, addresses, now)
        gdi_key = secrets.token_hex(_GDI_KEY_BYTES).encode()
        key_directory = into or self._offered_keys(host)
        if into is None:
            _make_closed(self._files.secrets, self._owner)
            shutil.rmtree(key_directory, ignore_errors=True)
        self._write_keys(key_directory, {"tls.key": made.key, "tls.crt": made.certificate, "gdi_key": gdi_key})
        self._register_host(host, made.certificate, gdi_key)
        return key_directory

    def add_master(self, host: str) -> None:
        """Register the master host's own keys as the keys of a host that may lose that role. The keys stay the same, so a process
        that has read them (the web server) goes on; a daemon takes them to its spool. Raises OSError.
        """
        if not (self._masters_keys / "gdi_key").exists():  # the qmaster makes one at its first start
            self._write(self._masters_keys / "gdi_key", secrets.token_hex(_GDI_KEY_BYTES).encode())
        files = {name: (self._masters_keys / name).read_bytes() for name in ("tls.key", "tls.crt", "gdi_key")}
        _make_closed(self._files.secrets, self._owner)
        shutil.rmtree(self._offered_keys(host), ignore_errors=True)
        self._write_keys(self._offered_keys(host), files)
        self._register_host(host, files["tls.crt"], files["gdi_key"])

    def admit(self, host: str, request: bytes, addresses: Iterable[str], now: datetime) -> tuple[bytes, bytes]:
        """Accept a host that has made its own TLS key; return the certificate for that key, and the key that authenticates its
        requests.

        Raises OSError; ValueError: `request` is no request for a certificate.
        """
        certificate = sign_request(self._signer(), request, host, addresses, now)
        gdi_key = secrets.token_hex(_GDI_KEY_BYTES).encode()
        shutil.rmtree(self._offered_keys(host), ignore_errors=True)
        self._register_host(host, certificate, gdi_key)
        return certificate, gdi_key

    def _register_host(self, host: str, certificate: bytes, gdi_key: bytes) -> None:
        known = self._directory / "hosts" / host
        shutil.rmtree(known, ignore_errors=True)
        self._write_keys(known, {"tls.crt": certificate, "gdi_key": gdi_key})

    def revoke(self, host: str) -> None:
        """Accept no request of a host any longer. AdminError: the host has no keys. Raises OSError."""
        known = self._directory / "hosts" / host
        if not known.is_dir():
            raise AdminError(f'host "{host}" has no keys of this cell (gridengine host list shows the hosts with keys)')
        # the key first: an interrupted removal leaves a host that is not accepted
        (known / "gdi_key").unlink(missing_ok=True)
        shutil.rmtree(known)
        shutil.rmtree(self._offered_keys(host), ignore_errors=True)

    def hosts(self) -> list[KnownHost]:
        """Return the exec hosts that have keys, by name. Raises OSError."""
        found = []
        for known in sorted((self._directory / "hosts").iterdir()):
            certificate = (known / "tls.crt").read_bytes()
            waiting = self._offered_keys(known.name).exists()
            last, addresses = validity(certificate)[1], tuple(addresses_in(certificate))
            found.append(KnownHost(known.name, serial_number(certificate), last, waiting, addresses))
        return found

    def masters_fingerprint(self) -> bytes:
        """Return the fingerprint by which a joining host recognises the master. Raises OSError."""
        return fingerprint((self._masters_keys / "tls.crt").read_bytes())

    def joins(self) -> list[JoinRecord]:
        """Return the records of all join tokens."""
        return read_records(join_directory(self._directory))

    def join(self, number: str) -> JoinRecord | None:
        """Return the record of a join token, None if there is none."""
        return read_record(join_directory(self._directory), number)

    def keep_join(self, record: JoinRecord) -> None:
        """Write the record of a join token. Raises OSError."""
        directory = join_directory(self._directory)
        self._write_keys(directory, {f"{record.number}.json": encode_record(record).encode()})

    def forget_join(self, number: str) -> None:
        """Revoke a join token. Raises OSError."""
        (join_directory(self._directory) / f"{number}.json").unlink(missing_ok=True)

    def remove_shared_secrets(self) -> None:
        """Remove the secrets that all hosts of a cell shared before there was an authority."""
        for name in _SHARED_SECRETS:
            (self._files.secrets / name).unlink(missing_ok=True)

    def _offered_keys(self, host: str) -> Path:
        return self._files.secrets / host

    def _signer(self) -> Signed:
        return Signed((self._directory / "tls.key").read_bytes(), (self._directory / "tls.crt").read_bytes())

    def _write_keys(self, directory: Path, files: dict[str, bytes]) -> None:
        _make_closed(directory, self._owner)
        for name, content in files.items():
            self._write(directory / name, content)

    def _write(self, path: Path, content: bytes, mode: int = 0o600) -> None:
        durable_write(path, content, mode, owner=owner_for(self._owner))


def give(path: Path, user: str) -> None:
    """Change the owner of a file to the admin user, if the caller is root and the admin user is not."""
    if (owner := owner_for(user)) is not None:
        os.chown(path, *owner)


def owner_for(user: str) -> tuple[int, int] | None:
    """User and group of a new file of the admin user, if the caller is root and the admin user is not; else None."""
    entry = pwd.getpwnam(user)
    return (entry.pw_uid, entry.pw_gid) if os.geteuid() == 0 and entry.pw_uid != 0 else None


def _make_closed(directory: Path, owner: str) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    give(directory, owner)

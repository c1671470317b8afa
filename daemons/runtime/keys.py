"""The keys of a host: its certificate, the key that authenticates its users, and the TLS contexts made of them.

Owns their location and loading; never logs them. The authority of the cell, which makes them, is
`clients/admin/authority`; all hosts know its certificate, `common/tls.crt`. Called by the qmaster's GDI server, by
sge_execd's gateway and session server, and by the code that starts Ray nodes. Source: docs/adr/0101, docs/security.md.
"""

from __future__ import annotations

import secrets
import shutil
import ssl
from dataclasses import dataclass
from pathlib import Path

from daemons.runtime.cell import Cell, CellError
from gridengine.errors import plain_fault
from gridengine.files.durable import durable_write
from gridengine.files.file_tree import replace_tree


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one daemon, in `directory`. `authority`: the certificate of the trusted authority; `make`: the command that
    makes keys."""

    directory: Path
    authority: Path
    make: str

    @property
    def certificate(self) -> Path:
        return self.directory / "tls.crt"

    @property
    def key(self) -> Path:
        return self.directory / "tls.key"

    def gdi_key(self) -> str:
        """Return the key with which this host authenticates its users to the qmaster. Raises CellError."""
        path = self.directory / "gdi_key"
        try:
            key = path.read_text().strip()
        except OSError as error:
            raise CellError(f"cannot read {path}: {error.strerror} ({self.make})") from error
        if not key:
            raise CellError(f"{path} is empty ({self.make})")
        return key

    def make_gdi_key(self) -> None:
        """Make that key where there is none yet. Raises OSError."""
        path = self.directory / "gdi_key"
        if not path.exists():
            durable_write(path, secrets.token_hex(32).encode())

    def require(self) -> None:
        """Raises CellError when a file is missing or not readable."""
        for path in (self.authority, self.certificate, self.key):
            try:
                path.read_bytes()
            except OSError as error:
                raise CellError(f"cannot read {path}: {error.strerror} ({self.make})") from error

    def server_context(self, callers_need_keys: bool) -> ssl.SSLContext:
        """Return the TLS context of a server; `callers_need_keys`: only hosts of the cell may connect.

        Raises CellError.
        """
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        if callers_need_keys:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def joining_context(self) -> ssl.SSLContext:
        """The same for a server that also admits callers without a certificate; any must be of the cell. Raises CellError."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def client_context(self) -> ssl.SSLContext:
        """Return the TLS context of a caller, which shows its own certificate and checks the other's name.

        Raises CellError.
        """
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    def _context(self, protocol: int) -> ssl.SSLContext:
        self.require()
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
            context.load_verify_locations(self.authority)
        except (OSError, ssl.SSLError) as error:
            used_files = f"{self.certificate} and {self.key} with {self.authority}"
            raise CellError(f"cannot use {used_files}: {plain_fault(error)}") from error
        return context


def master_keys(cell: Cell) -> Keys:
    """Return the keys of the master host."""
    make = "gridengine start on the master host makes it"
    return Keys(cell.qmaster_spool_dir / "keys", cell.common / "tls.crt", make)


def exec_host_keys(cell: Cell, host: str) -> Keys:
    """Return the keys of an exec host, which lie on its own disk."""
    make = f"gridengine host keys {host} on the master host makes it"
    return Keys(cell.execd_spool(host) / "keys", cell.common / "tls.crt", make)


def own_keys(cell: Cell, host: str) -> Keys:
    """Return the keys with which a daemon of this host authenticates its users: the keys of an exec host, else the master's."""
    keys = exec_host_keys(cell, host)
    return keys if keys.directory.exists() or host != cell.master_host() else master_keys(cell)


def known_hosts(cell: Cell) -> Path:
    """Return the directory, on the master host, of the keys of trusted hosts: HOST/gdi_key."""
    return cell.qmaster_spool_dir / "authority" / "hosts"


def install_offered_keys(cell: Cell, host: str) -> None:
    """Move the keys that were made for a host out of the shared directory to its own disk. Raises OSError.

    A shared directory that root may not read (NFS with root_squash) has no keys for the host: an administrator copied them
    by hand. Called by every daemon that authenticates its host's users: the qmaster, sge_shadowd and sge_execd.
    """
    offered, own = cell.secrets / host, cell.execd_spool(host) / "keys"
    try:
        files = {path.name: path.read_bytes() for path in offered.iterdir()}
    except (FileNotFoundError, PermissionError):
        return
    own.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    replace_tree(own, files)
    shutil.rmtree(offered, ignore_errors=True)  # gridengine host list shows keys that stay there

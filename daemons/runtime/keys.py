"""The secrets of a cell: the key of the GDI's gateways, Ray's token, the TLS contexts of the GDI endpoint.

Owns where they lie and how they are loaded; never logs them. Only the admin user of a host can read `secrets/`.
Called by the qmaster's GDI server, the gateway and whoever starts a Ray node. Source: docs/architecture.md 3 and 4.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from daemons.runtime.cell import Cell, CellFault


def gdi_key(cell: Cell) -> str:
    """Return the key with which hosts vouch for their users. Raises CellFault."""
    path = cell.secrets / "gdi_key"
    try:
        key = path.read_text().strip()
    except OSError as error:
        raise CellFault(f"cannot read {path}: {error.strerror}") from error
    if not key:
        raise CellFault(f"{path} is empty")
    return key


def ray_token(cell: Cell) -> Path:
    """Return the file of Ray's token, which must exist: without it Ray would not ask for one. Raises CellFault."""
    path = cell.secrets / "ray_token"
    try:
        empty = not path.read_bytes().strip()
    except OSError as error:
        raise CellFault(f"cannot read {path}: {error.strerror}") from error
    if empty:
        raise CellFault(f"{path} is empty")
    return path


def server_context(cell: Cell) -> ssl.SSLContext:
    """Return the TLS context of the GDI endpoint. Raises CellFault."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    certificate, key = cell.common / "tls.crt", cell.secrets / "tls.key"
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise CellFault(f"cannot use {certificate} with {key}: {error}") from error
    return context


def client_context(cell: Cell) -> ssl.SSLContext:
    """Return the TLS context of a gateway: it trusts the cell's own certificate and nothing else.

    The certificate is pinned, so the host's name in it is of no importance: the master may move (act_qmaster).
    Raises CellFault.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    certificate = cell.common / "tls.crt"
    try:
        context.load_verify_locations(certificate)
    except (OSError, ssl.SSLError) as error:
        raise CellFault(f"cannot use {certificate}: {error}") from error
    return context

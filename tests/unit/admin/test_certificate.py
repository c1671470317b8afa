"""The certificates of a cell work with strict checking, and have the requested dates."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clients.admin.certificate import (
    VALIDITY,
    Signed,
    is_key_of,
    is_signed_by,
    make_authority,
    make_certificate,
    names_of,
    validity,
)

NOW = datetime.now(UTC).replace(microsecond=0)
AUTHORITY = make_authority("cell", NOW)


def test_validity_is_read_back():
    for made in (AUTHORITY, make_certificate(AUTHORITY, "h1", [], NOW)):
        begin, end = validity(made.certificate)
        assert begin < NOW and end == NOW + VALIDITY


def test_a_key_belongs_to_its_own_certificate_only():
    one, other = (make_certificate(AUTHORITY, "h1", [], NOW) for _ in range(2))
    assert is_key_of(one.key, one.certificate)
    assert not is_key_of(other.key, one.certificate)


def test_hosts_of_another_cell_are_strangers():
    foreign = make_authority("cell", NOW)
    certificate = make_certificate(AUTHORITY, "h1", [], NOW).certificate
    assert is_signed_by(certificate, AUTHORITY.certificate)
    assert not is_signed_by(certificate, foreign.certificate)
    assert not is_signed_by(make_certificate(foreign, "h1", [], NOW).certificate, AUTHORITY.certificate)


@pytest.mark.parametrize("name", ["h1", "10.1.2.3", "fd88::1", "127.0.0.1", "::1"])
def test_a_strict_client_accepts_a_host_for_its_names_only(tmp_path, name):
    made = make_certificate(AUTHORITY, "h1", ["10.1.2.3", "fd88::1"], NOW)
    assert names_of(made.certificate) == ["h1", "localhost", "10.1.2.3", "fd88::1", "127.0.0.1", "::1"]
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.create_default_context(cadata=AUTHORITY.certificate.decode())
    for context in (server, client):
        load(context, made, tmp_path)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    server.load_verify_locations(cadata=AUTHORITY.certificate.decode())
    server.verify_mode = ssl.CERT_REQUIRED
    assert handshake(server, client, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client, "h2")


def load(context: ssl.SSLContext, made: Signed, place: Path) -> None:
    (place / "key").write_bytes(made.key)
    (place / "crt").write_bytes(made.certificate)
    context.load_cert_chain(place / "crt", place / "key")


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> bool:
    """Do a TLS handshake in memory."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(10):
        waiting = 0
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                waiting += 1
        if not waiting:
            return True
    return False

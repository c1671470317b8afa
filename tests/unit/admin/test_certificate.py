"""The certificate of a cell works with strict checking, and its dates are the ones asked for."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

import pytest

from clients.admin.certificate import ENDPOINT_NAME, VALIDITY, belongs_together, make_certificate, validity

NOW = datetime.now(UTC).replace(microsecond=0)


def test_validity_is_read_back():
    _, certificate = make_certificate(["master"], NOW)
    begin, end = validity(certificate)
    assert begin < NOW and end == NOW + VALIDITY


def test_a_key_belongs_to_its_own_certificate_only():
    key, certificate = make_certificate(["master"], NOW)
    assert belongs_together(key, certificate)
    assert not belongs_together(make_certificate(["master"], NOW)[0], certificate)


@pytest.mark.parametrize("name", ["master", ENDPOINT_NAME])
def test_a_strict_client_accepts_the_certificate_for_its_names_only(tmp_path, name):
    key, certificate = make_certificate(["master"], NOW)
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "crt").write_bytes(certificate)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    client = ssl.create_default_context(cafile=str(tmp_path / "crt"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    assert handshake(server, client, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client, "other")


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

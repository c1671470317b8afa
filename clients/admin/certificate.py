"""The certificate of the GDI endpoint: made once for a cell, trusted by its hosts as the only authority.

Owns making it and reading its dates. Called by `creation` and `doctor`. Neither sockets nor files.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALIDITY = timedelta(days=3650)

#: A name that the certificate of every cell carries, so that a client can check it wherever the qmaster runs.
ENDPOINT_NAME = "gridengine-qmaster"


def make_certificate(host_names: list[str], now: datetime) -> tuple[bytes, bytes]:
    """Make a key and a self-signed certificate for `host_names` and ENDPOINT_NAME; return (key, certificate) as PEM.

    It begins an hour before `now`, for hosts whose clocks differ, and lasts VALIDITY. It has what strict checking
    of a chain asks for (key identifiers, usage), since Python 3.13 checks strictly by default.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, ENDPOINT_NAME)])
    names = dict.fromkeys([ENDPOINT_NAME, *host_names, "localhost"])
    usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return key_pem, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def validity(certificate_pem: bytes) -> tuple[datetime, datetime]:
    """Return the first and the last instant of a certificate, in UTC. ValueError: it is none."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def belongs_together(key_pem: bytes, certificate_pem: bytes) -> bool:
    """Say whether the certificate was made for this key. ValueError: one of them is not in PEM form."""
    key = serialization.load_pem_private_key(key_pem, password=None)
    return key.public_key() == x509.load_pem_x509_certificate(certificate_pem).public_key()


def utc_now() -> datetime:
    """Return the present time in UTC: the one place where this package reads the calendar."""
    return datetime.now(UTC)

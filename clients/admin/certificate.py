"""Certificates: the cell's own authority, and the host certificates that it signs.

Owns making and reading certificates. Called by `authority` and `doctor`. Neither sockets nor files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gridengine.addresses import LOOPBACK, LOOPBACK_6

VALIDITY = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Signed:
    """A private key and its certificate, as PEM."""

    key: bytes
    certificate: bytes


def make_authority(name: str, now: datetime) -> Signed:
    """Make the authority of a cell, which only signs host certificates."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name[:64])
    # key_cert_sign and crl_sign
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    builder = (
        _certificate_builder(key.public_key(), now)
        .subject_name(subject)
        .issuer_name(subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    return Signed(_key_pem(key), _sign(builder, key))


def make_certificate(authority: Signed, host: str, addresses: Iterable[str], now: datetime) -> Signed:
    """Make the key and the certificate of a host, good for serving under `host` and `addresses` and for calling other hosts.

    `addresses`: IP addresses, the only names of nodes in Ray. Each certificate includes the loopback addresses.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    return Signed(_key_pem(key), _make_host_certificate(authority, key.public_key(), host, addresses, now))


def make_request(host: str) -> Signed:
    """Make a key that never leaves this host, and the request for a certificate for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(_name(host[:64])).sign(key, hashes.SHA256())
    return Signed(_key_pem(key), request.public_bytes(serialization.Encoding.PEM))


def sign_request(authority: Signed, request_pem: bytes, host: str, addresses: Iterable[str], now: datetime) -> bytes:
    """Return the certificate for the key of a request. Names in the request are ignored.

    ValueError: the text is no request, is not signed by its own key, or has a key of another kind.
    """
    request = x509.load_pem_x509_csr(request_pem)
    key = request.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1" or not request.is_signature_valid:
        raise ValueError("a request for a certificate is signed by its own key, of the curve P-256")
    return _make_host_certificate(authority, key, host, addresses, now)


def key_of_request(request_pem: bytes) -> str:
    """Return the SHA-256 of the public key of a request, in hexadecimal digits. ValueError: the text is no request."""
    key = x509.load_pem_x509_csr(request_pem).public_key()
    content = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(content).hexdigest()


def _make_host_certificate(
    authority: Signed, public: ec.EllipticCurvePublicKey, host: str, addresses: Iterable[str], now: datetime
) -> bytes:
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in dict.fromkeys((host, "localhost"))]
    names += [x509.IPAddress(ip_address(text)) for text in dict.fromkeys((*addresses, LOOPBACK, LOOPBACK_6))]
    # digital_signature
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        _certificate_builder(public, now)
        .subject_name(_name(host[:64]))
        .issuer_name(signer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    return _sign(builder, signing_key)


def _certificate_builder(public: ec.EllipticCurvePublicKey, now: datetime) -> x509.CertificateBuilder:
    """The validity begins an hour before `now`, for hosts whose clocks differ. Strict chain verification requires key
    identifiers.
    """
    return (
        x509.CertificateBuilder()
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def validity(certificate_pem: bytes) -> tuple[datetime, datetime]:
    """Return the first and the last instant of a certificate, in UTC. ValueError: the text is no certificate."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def serial_number(certificate_pem: bytes) -> str:
    """Return the serial number in hexadecimal digits. ValueError: the text is no certificate."""
    return f"{x509.load_pem_x509_certificate(certificate_pem).serial_number:x}"


def names_of(certificate_pem: bytes) -> list[str]:
    """Return the names and addresses of a host certificate. ValueError: the text is no certificate."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in names]


def addresses_in(certificate_pem: bytes) -> list[str]:
    """Return the addresses of a host certificate, with the loopback addresses. ValueError: the text is no certificate."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(address) for address in names.get_values_for_type(x509.IPAddress)]


def fingerprint(certificate_pem: bytes) -> bytes:
    """Return the SHA-256 of a certificate in DER form. ValueError: the text is no certificate."""
    return x509.load_pem_x509_certificate(certificate_pem).fingerprint(hashes.SHA256())


def is_key_of(key_pem: bytes, certificate_pem: bytes) -> bool:
    """Whether the certificate was made for this key. ValueError: one of them is not in PEM form."""
    key = serialization.load_pem_private_key(key_pem, password=None)
    return key.public_key() == x509.load_pem_x509_certificate(certificate_pem).public_key()


def is_signed_by(certificate_pem: bytes, authority_pem: bytes) -> bool:
    """Whether the authority has signed the certificate. ValueError: one of them is not in PEM form."""
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority_pem))
    except Exception:  # noqa: BLE001 - another name, another key, another kind of key: all say no
        return False
    return True


def utc_now() -> datetime:
    """Return the present time in UTC; the only clock of this package."""
    return datetime.now(UTC)

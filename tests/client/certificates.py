"""Certificates for tests, made on the spot."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def cert_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        directory.mkdir(parents=True, exist_ok=True)
        cert, key = directory / f"{name}.crt", directory / f"{name}.key"
        cert.write_bytes(self.cert_pem)
        key.write_bytes(self.key_pem)
        return cert, key


def make(
    name: str,
    issuer: Pair | None = None,
    *,
    names: tuple[str, ...] = (),
    days: float = 1,
    is_authority: bool | None = None,
    common_names: tuple[str, ...] = (),
    usage: x509.ObjectIdentifier | None = None,
) -> Pair:
    """A certificate; by default a CA if there is no ``issuer``. ``days`` below 0 have it expired.
    ``common_names`` are those before ``name``. ``usage`` is its only extended one.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, value) for value in (*common_names, name)])
    now = datetime.now(UTC)
    alternatives: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    alternatives = [x509.DNSName(other) for other in names] if names else alternatives
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(
            x509.BasicConstraints(ca=issuer is None if is_authority is None else is_authority, path_length=None),
            critical=True,
        )
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    )
    if usage is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return Pair(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def server_context(pair: Pair, directory: Path, *, clients: Pair | None = None) -> ssl.SSLContext:
    context = tolerant(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
    context.load_cert_chain(*pair.write(directory, "server"))
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.cert_pem.decode())
    return context


def tolerant(context: ssl.SSLContext) -> ssl.SSLContext:
    """These certificates say as little as many private CAs' do: too little for the strict mode of Python 3.13."""
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context

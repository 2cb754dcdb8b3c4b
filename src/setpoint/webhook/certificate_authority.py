"""Certificate authorities and serving certificates, as an alternative to cert-manager.

Certificates and keys are in PEM form. Keys are ECDSA on P-256, in PKCS#8. The package cryptography is imported when a
certificate is made or read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import msgspec

from setpoint.trust import certificates_in, without_mark

BACKDATE: Final = timedelta(hours=1)
"""The time by which the start of a certificate's validity precedes its issuance, because the clocks of other machines
may be slow.
"""
_KNOWN: Final = 64
"""The maximum number of results in each cache. It is small, because every check reads the same few certificates."""
_BEGIN: Final = b"-----BEGIN "
_END: Final = b"-----END "


class CertificateError(Exception):
    """A certificate or key is missing or damaged, or can't be made; the message says which one, and why."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate (chain) and its key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Facts(msgspec.Struct, frozen=True):
    """The names and times of a certificate: ``made`` is when it was issued, ``not_after`` when it expires (UTC)."""

    issued_at: datetime
    not_after: datetime
    names: frozenset[str]

    def life_spent(self, now: datetime) -> float:
        """The fraction of the certificate's life that has passed: 0.0 when it was issued, 1.0 when it expires."""
        return (now - self.issued_at) / (self.not_after - self.issued_at)


def service_names(service: str, namespace: str) -> list[str]:
    """The names of a Service inside a cluster; API servers call ``SERVICE.NAMESPACE.svc``."""
    short = f"{service}.{namespace}.svc"
    return [short, f"{short}.cluster.local", f"{service}.{namespace}", service]


def make_authority(name: str, *, now: datetime, lifetime: timedelta) -> Pair:
    """A self-signed CA with the common name ``name``. It can't sign other CAs (its path length is 0)."""
    x509, _ = library()
    key = _new_key()
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name[:64])])
    usage = {"digital_signature": True, "key_cert_sign": True, "crl_sign": True}
    builder = (
        certificate_builder(subject, subject, key, now, now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(**usage), critical=True)
    )
    return _signed(builder, key, key)


def issue(authority: Pair, names: Sequence[str], *, now: datetime, lifetime: timedelta) -> Pair:
    """A serving certificate for these DNS names and IP addresses; it never outlives ``authority``.

    Raises:
        CertificateError: ``names`` is empty, or the authority is damaged, has expired or has a key that can't sign.
    """
    if not names:
        raise CertificateError("a serving certificate needs at least one name or address")
    x509, _ = library()
    issuer, signer = load(authority.certificate), signing_key(authority)
    key = _new_key()
    subject = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, names[0][:64])])
    until = end_of(issuer, now, lifetime)
    usage = {"digital_signature": True}
    builder = (
        certificate_builder(subject, issuer.subject, key, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(key_identifier(issuer), critical=False)
    )
    return _signed(builder, key, signer)


@lru_cache(maxsize=_KNOWN)
def facts_of(certificate: bytes) -> Facts:
    """The facts in the first certificate of a PEM text.

    Raises:
        CertificateError: the text does not contain a valid certificate.
    """
    x509, _ = library()
    loaded = load(certificate)
    names: set[str] = set()
    try:
        extension = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names.update(extension.get_values_for_type(x509.DNSName))
        names.update(map(str, extension.get_values_for_type(x509.IPAddress)))
    except x509.ExtensionNotFound:
        pass
    return Facts(loaded.not_valid_before_utc + BACKDATE, loaded.not_valid_after_utc, frozenset(names))


@lru_cache(maxsize=_KNOWN)
def signed_by(certificate: bytes, authority: bytes) -> bool:
    """Whether ``certificate`` was signed with ``authority``'s key; certificates that have expired also count."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        load(certificate).verify_directly_issued_by(load(authority))
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


@lru_cache(maxsize=_KNOWN)
def matches(pair: Pair) -> bool:
    """Whether the certificate and the key belong together."""
    try:
        key = _private_key(pair.key)
    except CertificateError:
        return False
    return bool(key.public_key() == load(pair.certificate).public_key())


def split(pem: bytes) -> list[bytes]:
    """The blocks of a PEM text, each with its trailing newline; text between the blocks is dropped."""
    blocks: list[bytes] = []
    block: list[bytes] | None = None
    for line in without_mark(pem).splitlines():
        if line.startswith(_BEGIN):
            block = []
        if block is not None:
            block.append(line)
            if line.startswith(_END):
                blocks.append(b"\n".join(block) + b"\n")
                block = None
    return blocks


def library() -> tuple[Any, Any]:
    """The modules ``x509`` and ``serialization`` of the package cryptography.

    Raises:
        CertificateError: the package is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise CertificateError(
            "creating certificates needs the package cryptography: install it, or use certificates from files"
        ) from None
    return x509, serialization


def load(pem: bytes) -> Any:
    """The first certificate of a PEM text. Raises `CertificateError`."""
    x509, _ = library()
    certificates = certificates_in(pem)
    if not certificates:
        raise CertificateError("a certificate can't be read: it contains no PEM block CERTIFICATE")
    return _read(x509.load_der_x509_certificate, certificates[0], "a certificate")


def load_request(pem: bytes) -> Any:
    """The certificate request in a PEM text. Raises `CertificateError`."""
    x509, _ = library()
    return _read(x509.load_pem_x509_csr, pem, "the request")


def signing_key(authority: Pair) -> Any:
    """The private key of an authority. Raises `CertificateError` for a damaged key, and for one that can't sign
    certificates.
    """
    library()
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    try:
        key = _private_key(authority.key)
    except CertificateError as problem:
        raise CertificateError(f"the authority's {problem}") from None
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
        raise CertificateError("the authority's key can't sign certificates: use an RSA, ECDSA or Ed25519 key")
    return key


def end_of(issuer: Any, now: datetime, lifetime: timedelta) -> datetime:
    """The end of the validity of a certificate that ``issuer`` signs ``now``. Raises `CertificateError` if ``issuer``
    has expired.
    """
    last: datetime = issuer.not_valid_after_utc
    if last <= now:
        raise CertificateError(f"the authority's certificate expired at {last:%Y-%m-%dT%H:%M:%SZ}")
    return min(now + lifetime, last)


def sign(builder: Any, signer: Any) -> bytes:
    """The certificate (PEM) of a builder, signed with an authority's key."""
    _, serialization = library()
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    digest = None if isinstance(signer, Ed25519PrivateKey) else hashes.SHA256()  # Ed25519 has its own
    signed: bytes = builder.sign(signer, digest).public_bytes(serialization.Encoding.PEM)
    return signed


def _read(reader: Any, pem: bytes, label: str) -> Any:
    """A certificate or request, of which all parts that are used here can be read: the package reads them lazily."""
    x509, _ = library()
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        loaded = reader(pem)
        _ = loaded.public_key(), loaded.subject, loaded.extensions
    except (
        ValueError,
        KeyError,  # from older releases, for a string of an unknown type in a name
        UnsupportedAlgorithm,
        x509.InvalidVersion,
        x509.DuplicateExtension,
    ) as problem:
        raise CertificateError(f"{label} can't be read: {problem}") from None
    return loaded


def _private_key(pem: bytes) -> Any:
    _, serialization = library()
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as problem:
        raise CertificateError(f"key can't be read: {problem}") from None


def _new_key() -> Any:
    library()
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def certificate_builder(
    subject: Any, issuer: Any, key: Any, now: datetime, until: datetime, *, backdate: timedelta = BACKDATE
) -> Any:
    x509, _ = library()
    start = now.astimezone(UTC).replace(microsecond=0) - backdate
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(until.astimezone(UTC).replace(microsecond=0))
    )


def key_identifier(issuer: Any) -> Any:
    """The authority key identifier for certificates that ``issuer`` signs, even if ``issuer`` has no key identifier."""
    x509, _ = library()
    try:
        named = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(named)


def key_usage(**used: bool) -> Any:
    x509, _ = library()
    words = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign crl_sign "
        "encipher_only decipher_only"
    )
    return x509.KeyUsage(**{word: used.get(word, False) for word in words.split()})


def _general_name(name: str) -> Any:
    x509, _ = library()
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _signed(builder: Any, key: Any, signer: Any) -> Pair:
    _, serialization = library()
    return Pair(
        sign(builder, signer),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )

"""signing.py: keys, certificates and requests for certificates, as PEM. Nothing here knows of Kubernetes."""

import ipaddress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
CURVES: dict[int, ec.EllipticCurve] = {256: ec.SECP256R1(), 384: ec.SECP384R1(), 521: ec.SECP521R1()}
KEY_USAGES = {
    "digital signature": "digital_signature",
    "key encipherment": "key_encipherment",
    "data encipherment": "data_encipherment",
    "key agreement": "key_agreement",
}
EXTENDED = {
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
}


class Unusable(Exception):
    """A key or certificate is missing, damaged or not fit for its purpose. The message holds none of its content."""


class Names(NamedTuple):
    """The subject of a certificate, and the purposes that it is for."""

    common_name: str
    dns: tuple[str, ...]
    addresses: tuple[str, ...]
    is_ca: bool
    usages: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """A private key, its certificate with the chain below the root, and the root (or b"" where it is not known)."""

    key: bytes = field(repr=False)
    certificate: bytes
    root: bytes = b""


def new_key(algorithm: str, size: int) -> bytes:
    """A new private key, PKCS#8."""
    key: Key = ec.generate_private_key(CURVES[size]) if algorithm == "ECDSA" else rsa.generate_private_key(65537, size)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def fits(pem: bytes, algorithm: str, size: int) -> bool:
    """Whether ``pem`` is a private key of that kind."""
    try:
        key = loaded(pem)
    except Unusable:
        return False
    return key.key_size == size and isinstance(key, rsa.RSAPrivateKey) is (algorithm == "RSA")


def loaded(pem: bytes) -> Key:
    """The private key of a PEM text. Raises `Unusable`."""
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Unusable("there is no private key that can be read") from None
    if not isinstance(key, Key):
        raise Unusable(f"a private key of the type {type(key).__name__} is not supported")
    return key


def chain(pem: bytes) -> list[x509.Certificate]:
    """The certificates of a PEM text, at least one. Raises `Unusable`."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise Unusable("there is no certificate that can be read") from None


def checked(pair: Pair) -> x509.Certificate:
    """The certificate of a pair that belongs together. Raises `Unusable`."""
    if not is_of(pair.certificate, pair.key):
        raise Unusable("the private key is not that of the certificate")
    return chain(pair.certificate)[0]


def is_of(certificate: bytes, key: bytes) -> bool:
    """Whether the first certificate of a PEM text is for that key. Raises `Unusable`."""
    return public(chain(certificate)[0].public_key()) == public(loaded(key).public_key())


def public(key: PublicKeyTypes) -> bytes:
    """A public key as bytes that can be compared."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def checked_authority(pair: Pair, now: datetime) -> x509.Certificate:
    """The certificate of a pair that may sign others. Raises `Unusable`."""
    certificate = checked(pair)
    try:
        is_ca = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_ca = False
    if not is_ca:
        raise Unusable("the certificate is not that of an authority (isCA)")
    if certificate.not_valid_after_utc <= now:
        raise Unusable(f"the certificate has expired at {certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}")
    return certificate


def is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority's key signed the certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def subject(names: Names) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, names.common_name)] if names.common_name else []
    return x509.Name(parts)


def alternatives(names: Names) -> x509.SubjectAlternativeName | None:
    alternatives_: list[x509.GeneralName] = [x509.DNSName(name) for name in names.dns]
    alternatives_ += [x509.IPAddress(ipaddress.ip_address(address)) for address in names.addresses]
    return x509.SubjectAlternativeName(alternatives_) if alternatives_ else None


def sign(key: bytes, names: Names, authority: Pair | None, now: datetime, lifetime: timedelta) -> Pair:
    """A certificate for the key: by an authority, which it does not outlive, or by the key itself.

    Raises:
        Unusable: the authority can't sign.
    """
    own, begins = loaded(key), now.replace(microsecond=0)
    above = checked_authority(authority, now) if authority is not None else None
    signer = loaded(authority.key) if authority is not None else own
    ends = begins + lifetime
    if above is not None:
        ends = min(ends, above.not_valid_after_utc)
    used = {KEY_USAGES[usage] for usage in names.usages if usage in KEY_USAGES}
    if names.is_ca:
        used |= {"key_cert_sign", "crl_sign"}
    builder = (
        x509.CertificateBuilder(subject_name=subject(names), issuer_name=above.subject if above else subject(names))
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=names.is_ca, path_length=None), critical=True)
        .add_extension(usage_of(used), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if extended := [EXTENDED[usage] for usage in names.usages if usage in EXTENDED]:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    if (others := alternatives(names)) is not None:
        builder = builder.add_extension(others, critical=not names.common_name)
    certificate = builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)
    if authority is None or above is None:
        return Pair(key, certificate, certificate)
    is_root = above.subject == above.issuer
    return Pair(key, certificate if is_root else certificate + authority.certificate, root_of(authority))


def root_of(authority: Pair) -> bytes:
    """The certificate that clients of the authority's certificates trust."""
    first = chain(authority.certificate)[0]
    return first.public_bytes(Encoding.PEM) if first.subject == first.issuer else authority.root


def usage_of(used: set[str]) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature="digital_signature" in used,
        content_commitment=False,
        key_encipherment="key_encipherment" in used,
        data_encipherment="data_encipherment" in used,
        key_agreement="key_agreement" in used,
        key_cert_sign="key_cert_sign" in used,
        crl_sign="crl_sign" in used,
        encipher_only=False,
        decipher_only=False,
    )


def request(key: bytes, names: Names) -> bytes:
    """A certificate signing request, PKCS#10."""
    builder = x509.CertificateSigningRequestBuilder(subject(names))
    if (others := alternatives(names)) is not None:
        builder = builder.add_extension(others, critical=False)
    return builder.sign(loaded(key), hashes.SHA256()).public_bytes(Encoding.PEM)


def is_for(request: bytes, key: bytes) -> bool:
    """Whether a certificate signing request is for that key."""
    try:
        return public(x509.load_pem_x509_csr(request).public_key()) == public(loaded(key).public_key())
    except ValueError:
        return False

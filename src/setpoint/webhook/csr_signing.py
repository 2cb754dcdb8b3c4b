"""Issues certificates for certificate signing requests (PKCS #10), whose private keys only the requesters have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from setpoint.webhook import certificate_authority as parts
from setpoint.webhook.certificate_authority import CertificateError, Pair

_BACKDATE: Final = timedelta(minutes=5)
_SHORT: Final = timedelta(hours=8)
_KEY_USAGES: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED: Final = {
    "any": "ANY_EXTENDED_KEY_USAGE",
    "server auth": "SERVER_AUTH",
    "client auth": "CLIENT_AUTH",
    "code signing": "CODE_SIGNING",
    "email protection": "EMAIL_PROTECTION",
    "s/mime": "EMAIL_PROTECTION",
    "timestamping": "TIME_STAMPING",
    "ocsp signing": "OCSP_SIGNING",
}


class RequestFacts(msgspec.Struct, frozen=True):
    """The subject and the names that a certificate signing request asks for."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...]
    addresses: tuple[str, ...]
    emails: tuple[str, ...]
    uris: tuple[str, ...]


def request_facts(request: bytes) -> RequestFacts:
    """The facts in a certificate signing request (PEM).

    Raises:
        CertificateError: the request can't be read, or its signature is wrong.
    """
    x509, _ = parts.library()
    loaded = _load(request)
    subject, oids = loaded.subject, x509.oid.NameOID
    names = [str(attribute.value) for attribute in subject.get_attributes_for_oid(oids.COMMON_NAME)]
    alternatives = _alternatives(loaded)
    return RequestFacts(
        common_name=names[-1] if names else "",
        organizations=tuple(
            str(attribute.value) for attribute in subject.get_attributes_for_oid(oids.ORGANIZATION_NAME)
        ),
        dns_names=_of(alternatives, x509.DNSName),
        addresses=_of(alternatives, x509.IPAddress),
        emails=_of(alternatives, x509.RFC822Name),
        uris=_of(alternatives, x509.UniformResourceIdentifier),
    )


def sign_request(
    authority: Pair, request: bytes, usages: Sequence[str], *, now: datetime, lifetime: timedelta
) -> bytes:
    """The certificate (PEM) for a request's key, subject and names; it never outlives ``authority``.

    As upstream's signers do it, the validity begins five minutes before ``now``, and those minutes are a part of a
    ``lifetime`` of eight hours or more. The shortest lifetime is ten minutes.

    ``usages`` takes the same values as a CertificateSigningRequest's ``spec.usages``.

    Raises:
        CertificateError: the request can't be read, a usage is unknown, or the authority is damaged, has expired or has
            a key that can't sign.
    """
    x509, _ = parts.library()
    loaded, issuer, signer = _load(request), parts.load(authority.certificate), parts.signing_key(authority)
    unknown = [usage for usage in usages if usage not in _KEY_USAGES and usage not in _EXTENDED]
    if unknown:
        raise CertificateError(f"unknown usage {unknown[0]!r}")
    lifetime = max(lifetime, 2 * _BACKDATE)
    until = parts.end_of(issuer, now, lifetime if lifetime < _SHORT else lifetime - _BACKDATE)
    builder = parts.certificate_builder(loaded.subject, issuer.subject, loaded, now, until, backdate=_BACKDATE)
    used = {_KEY_USAGES[usage]: True for usage in usages if usage in _KEY_USAGES}
    if used:
        builder = builder.add_extension(parts.key_usage(**used), critical=True)
    oids = x509.oid.ExtendedKeyUsageOID
    extended = list(dict.fromkeys(getattr(oids, _EXTENDED[usage]) for usage in usages if usage in _EXTENDED))
    if extended:
        builder = builder.add_extension(x509.ExtendedKeyUsage(extended), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(parts.key_identifier(issuer), critical=False)
    names = _alternatives(loaded)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return parts.sign(builder, signer)


def _load(request: bytes) -> Any:
    loaded = parts.load_request(request)
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        is_signed = loaded.is_signature_valid
    except UnsupportedAlgorithm as problem:
        raise CertificateError(f"the request's signature can't be checked: {problem}") from None
    if not is_signed:
        raise CertificateError("the request is not signed by its key")
    return loaded


def _alternatives(loaded: Any) -> Any:
    x509, _ = parts.library()
    try:
        return loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _of(names: Any, kind: Any) -> tuple[str, ...]:
    return () if names is None else tuple(map(str, names.get_values_for_type(kind)))

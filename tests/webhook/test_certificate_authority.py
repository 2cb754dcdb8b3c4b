"""Certificates that are made here pass the strictest verifier, whoever made the authority."""

from __future__ import annotations

import ssl
from base64 import b64decode, encodebytes
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from tests.client.certificates import make

from setpoint.trust import client_context
from setpoint.webhook.certificate_authority import (
    CertificateError,
    Pair,
    facts_of,
    issue,
    make_authority,
    matches,
    signed_by,
)
from setpoint.webhook.csr_signing import request_facts, sign_request

pytestmark = pytest.mark.wall_clock
NOW = datetime.now(UTC)  # a verifier looks at the real clock
DAY = timedelta(days=1)


def handshake(folder: Path, pair: Pair, trust: ssl.SSLContext) -> None:
    """Raises `ssl.SSLCertVerificationError` if ``trust`` does not."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(there, here, server_side=True)
    client = trust.wrap_bio(here, there, server_hostname="localhost")
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def trusting(certificate: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=certificate.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # by itself since Python 3.13
    return context


def request() -> bytes:
    """A request for a certificate, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    result = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return result.public_bytes(serialization.Encoding.PEM)


def damaged_copies(pem: bytes) -> Iterator[bytes]:
    """Copies of a PEM text with one byte of its content changed: each byte in turn."""
    first, *lines, last = pem.splitlines(keepends=True)
    content = b64decode(b"".join(lines))
    for number, byte in enumerate(content):
        for changed in (byte ^ 0xFF, byte ^ 1):
            yield first + encodebytes(content[:number] + bytes([changed]) + content[number + 1 :]) + last


def authority_with(key: Any, *, until: datetime = NOW + DAY) -> Pair:
    """An authority with the public key of ``key``, signed by another authority."""
    signer, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    result = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - 2 * DAY, until).sign(
        signer, hashes.SHA256()
    )
    plain = serialization.NoEncryption()
    return Pair(
        result.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain),
    )


def test_what_is_issued_passes_a_strict_verifier(tmp_path: Path) -> None:
    authority = make_authority("ours", now=NOW, lifetime=DAY)
    handshake(tmp_path, issue(authority, ["localhost"], now=NOW, lifetime=DAY), trusting(authority.certificate))


def test_an_authority_made_elsewhere_need_not_name_its_key(tmp_path: Path) -> None:
    foreign = make("authority")
    pair = issue(Pair(foreign.cert_pem, foreign.key_pem), ["localhost"], now=NOW, lifetime=DAY)
    handshake(tmp_path, pair, client_context(foreign.cert_pem))


@pytest.mark.parametrize("damaged", ["certificate", "key"])
def test_a_damaged_authority_is_told_whatever_it_is_asked_for(damaged: str) -> None:
    asked = request()
    whole = make_authority("ours", now=NOW, lifetime=DAY)
    change: dict[str, Any] = {damaged: getattr(whole, damaged)[:60]}
    authority = replace(whole, **change)
    with pytest.raises(CertificateError, match=f"{damaged} can't be read"):
        issue(authority, ["localhost"], now=NOW, lifetime=DAY)
    with pytest.raises(CertificateError, match=f"{damaged} can't be read"):
        sign_request(authority, asked, ["client auth"], now=NOW, lifetime=DAY)


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
@pytest.mark.filterwarnings("ignore:Parsed a:cryptography.utils.CryptographyDeprecationWarning")  # older releases
def test_whichever_byte_of_an_authority_or_a_request_is_damaged_the_error_is_of_certificates() -> None:
    whole, asked = make_authority("ours", now=NOW, lifetime=DAY), request()
    attempts: list[Callable[[], object]] = []
    for key in damaged_copies(whole.key):
        pair = replace(whole, key=key)
        attempts.append(lambda pair=pair: issue(pair, ["localhost"], now=NOW, lifetime=DAY))
        attempts.append(lambda pair=pair: matches(pair))
    for text in damaged_copies(whole.certificate):
        pair = replace(whole, certificate=text)
        attempts.append(lambda pair=pair: issue(pair, ["localhost"], now=NOW, lifetime=DAY))
        attempts.append(lambda pair=pair: matches(pair))
        attempts.append(lambda text=text: facts_of(text))
        attempts.append(lambda text=text: signed_by(text, whole.certificate))
        attempts.append(lambda text=text: signed_by(whole.certificate, text))
    for text in damaged_copies(asked):
        attempts.append(lambda text=text: request_facts(text))
        attempts.append(lambda text=text: sign_request(whole, text, ["client auth"], now=NOW, lifetime=DAY))
    for attempt in attempts:
        with suppress(CertificateError):
            attempt()


@pytest.mark.parametrize(
    "make_key",
    [
        ed25519.Ed25519PrivateKey.generate,
        lambda: ec.generate_private_key(ec.SECP521R1()),
        lambda: rsa.generate_private_key(65537, 2048),
    ],
)
def test_an_authority_signs_with_any_kind_of_key_that_can(make_key: Callable[[], Any]) -> None:
    authority = authority_with(make_key())
    assert signed_by(issue(authority, ["localhost"], now=NOW, lifetime=DAY).certificate, authority.certificate)
    signed = sign_request(authority, request(), ["client auth"], now=NOW, lifetime=DAY)
    assert signed_by(signed, authority.certificate)


@pytest.mark.parametrize(
    ("authority", "message"),
    [
        (authority_with(x25519.X25519PrivateKey.generate()), "key can't sign certificates: use an RSA"),
        (authority_with(ed25519.Ed25519PrivateKey.generate(), until=NOW - DAY), "authority's certificate expired at "),
    ],
)
def test_an_authority_that_can_not_sign_is_told(authority: Pair, message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        issue(authority, ["localhost"], now=NOW, lifetime=DAY)
    with pytest.raises(CertificateError, match=message):
        sign_request(authority, request(), ["client auth"], now=NOW, lifetime=DAY)


def test_commands_verify_as_go_does_on_every_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate without an authority key identifier, as many private authorities make them."""
    foreign = make("authority")
    leaf = make("leaf", foreign, names=("localhost",))
    pair = Pair(leaf.cert_pem, leaf.key_pem)
    with pytest.raises(ssl.SSLCertVerificationError, match="Missing Authority Key Identifier"):
        handshake(tmp_path, pair, trusting(foreign.cert_pem))
    strict = ssl.create_default_context

    def of_python_3_13(*args: object, **options: object) -> ssl.SSLContext:
        context = strict(*args, **options)  # type: ignore[arg-type]
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", of_python_3_13)
    handshake(tmp_path, pair, client_context(foreign.cert_pem))

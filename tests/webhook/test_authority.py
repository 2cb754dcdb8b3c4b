"""Certificates that are made here pass the strictest verifier, whoever made the authority."""

from __future__ import annotations

import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.client.certificates import make

from setpoint.client.tls import default_context
from setpoint.webhook.authority import CertificateError, Pair, issue, make_authority
from setpoint.webhook.signing import sign_request

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


def test_what_is_issued_passes_a_strict_verifier(tmp_path: Path) -> None:
    authority = make_authority("ours", now=NOW, lifetime=DAY)
    handshake(tmp_path, issue(authority, ["localhost"], now=NOW, lifetime=DAY), trusting(authority.certificate))


def test_an_authority_made_elsewhere_need_not_name_its_key(tmp_path: Path) -> None:
    foreign = make("authority")
    pair = issue(Pair(foreign.cert_pem, foreign.key_pem), ["localhost"], now=NOW, lifetime=DAY)
    handshake(tmp_path, pair, default_context(cadata=foreign.cert_pem.decode()))


@pytest.mark.parametrize("damaged", ["certificate", "key"])
def test_a_damaged_authority_is_told_whatever_it_is_asked_for(damaged: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    asked = request.public_bytes(serialization.Encoding.PEM)
    whole = make_authority("ours", now=NOW, lifetime=DAY)
    change: dict[str, Any] = {damaged: getattr(whole, damaged)[:60]}
    authority = replace(whole, **change)
    with pytest.raises(CertificateError, match=f"{damaged} can't be read"):
        issue(authority, ["localhost"], now=NOW, lifetime=DAY)
    with pytest.raises(CertificateError, match=f"{damaged} can't be read"):
        sign_request(authority, asked, ["client auth"], now=NOW, lifetime=DAY)


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
    handshake(tmp_path, pair, default_context(cadata=foreign.cert_pem.decode()))

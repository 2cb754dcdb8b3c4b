"""Certificates are read and trusted as Go does it, wherever they are read."""

from __future__ import annotations

import base64
import os
import ssl
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.certificates import Pair, make

from setpoint.apiserver.webhooks.caller import HttpCaller, Target
from setpoint.client.errors import ConfigError
from setpoint.client.tls import ClientCertificate, TlsConfig
from setpoint.cluster.oidc_options import OidcOptions, _trusting
from setpoint.trust import certificates_in, client_context, pem_file, trust, without_mark
from setpoint.webhook.certificate_authority import CertificateError, facts_of, split
from setpoint.webhook.certificate_authority import Pair as CertificatePair
from setpoint.webhook.server_tls import ServerTls

pytestmark = pytest.mark.wall_clock

ROOT = make("root")
INTERMEDIATE = make("intermediate", ROOT, is_authority=True)
LEAF = make("leaf", INTERMEDIATE, names=("localhost",))
ALONE = make("alone", names=("localhost",), is_authority=False)
CHAIN = LEAF.cert_pem + INTERMEDIATE.cert_pem

Client = Callable[[bytes, Path], ssl.SSLContext]
CLIENTS: dict[str, Client] = {
    "data of a client": lambda pem, _: TlsConfig(ca_data=pem).context(),
    "file of a client": lambda pem, folder: TlsConfig(ca_file=_written(folder, pem)).context(),
    "file of a provider of identity tokens": lambda pem, folder: _trusting(
        OidcOptions("https://login.example.com", "kube", ca_file=_written(folder, pem))
    ),
    "caBundle": lambda pem, _: HttpCaller()._context(Target("https://hooks.example.com", ca_bundle=pem)),
}


def _written(folder: Path, pem: bytes) -> Path:
    (folder / "ca.crt").write_bytes(pem)
    return folder / "ca.crt"


def serving(folder: Path, chain: bytes, pair: Pair) -> ssl.SSLContext:
    (folder / "tls.crt").write_bytes(chain)
    (folder / "tls.key").write_bytes(pair.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Raises `ssl.SSLCertVerificationError` if one side does not trust the other."""
    there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(here, there, server_hostname="localhost"),
        server.wrap_bio(there, here, server_side=True),
    ]
    for side in sides * 2:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
@pytest.mark.parametrize(
    ("chain", "pair", "anchor"),
    [
        (CHAIN, LEAF, ROOT),
        (CHAIN, LEAF, INTERMEDIATE),
        (CHAIN, LEAF, LEAF),
        (LEAF.cert_pem, LEAF, INTERMEDIATE),
        (LEAF.cert_pem, LEAF, LEAF),
        (ALONE.cert_pem, ALONE, ALONE),
    ],
    ids=["root", "intermediate", "leaf", "intermediate, no chain", "leaf, no chain", "self-signed, not a CA"],
)
def test_every_certificate_of_a_bundle_is_an_anchor(
    tmp_path: Path, client: Client, chain: bytes, pair: Pair, anchor: Pair
) -> None:
    shake_hands(serving(tmp_path, chain, pair), client(anchor.cert_pem, tmp_path))
    for other in (make("root"), make("leaf", ROOT, names=("localhost",))):
        with pytest.raises(ssl.SSLCertVerificationError):
            shake_hands(serving(tmp_path, chain, pair), client(other.cert_pem, tmp_path))


def test_the_authority_of_clients_may_be_an_intermediate_or_their_own_certificate(tmp_path: Path) -> None:
    for anchor in (ROOT, INTERMEDIATE, LEAF):
        tls = ServerTls(anchor.cert_pem)
        tls.context.load_cert_chain(*LEAF.write(tmp_path, "server"))
        client = client_context(LEAF.cert_pem)
        (tmp_path / "chain").write_bytes(CHAIN)
        client.load_cert_chain(tmp_path / "chain", tmp_path / "server.key")
        shake_hands(tls.context, client)


TEXTS = {
    "latin-1": "# Főtanúsítvány ist schön\n".encode("latin-1", "replace") + b"# \xe9\xff\n",
    "UTF-8": '# Label: "NetLock Arany (Class Gold) Főtanúsítvány"\n'.encode(),
    "a byte order mark": b"\xef\xbb\xbf",
    "zero bytes": b"\0\0\n",
    "a key": LEAF.key_pem,
    "a block that is not base64": b"-----BEGIN CERTIFICATE-----\n=\n-----END CERTIFICATE-----\n",
    "a block that is not a certificate": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    "a block with headers": b"-----BEGIN CERTIFICATE-----\nA: b\n\nAAAA\n-----END CERTIFICATE-----\n",
    "a block without an end": b"-----BEGIN CERTIFICATE-----\nAAAA\n",
    "a block of another type": b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n",
}


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_everything_around_the_blocks_is_skipped(tmp_path: Path, client: Client, text: bytes, ends: bytes) -> None:
    bundle = (text + ROOT.cert_pem + text.removeprefix(b"\xef\xbb\xbf") + ALONE.cert_pem).replace(b"\n", ends)
    assert client(bundle, tmp_path).cert_store_stats()["x509"] == 2


@given(st.lists(st.binary(max_size=60), min_size=3, max_size=3))
def test_certificates_are_found_between_any_lines(texts: list[bytes]) -> None:
    around = [text.replace(b"-", b"").replace(b"\xef\xbb\xbf", b"") + b"\n" for text in texts]
    bundle = around[0] + ROOT.cert_pem + around[1] + LEAF.cert_pem + around[2]
    assert certificates_in(bundle) == [ssl.PEM_cert_to_DER_cert(pair.cert_pem.decode()) for pair in (ROOT, LEAF)]


def test_a_block_that_is_commented_out_is_not_trusted() -> None:
    assert certificates_in(b"# " + ROOT.cert_pem) == []
    assert certificates_in(ROOT.cert_pem.replace(b"\n", b"\n  ")) == []


@pytest.mark.parametrize("pem", [b"", b"nothing", LEAF.key_pem, TEXTS["a block that is not a certificate"]])
def test_without_a_certificate_nothing_is_trusted(tmp_path: Path, pem: bytes) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(ValueError, match="no usable PEM certificate"):
        trust(context, pem)
    with pytest.raises(ConfigError, match=r"ca.crt contains no usable PEM certificate"):
        TlsConfig(ca_file=_written(tmp_path, pem)).context()
    with pytest.raises(CertificateError, match="the client CA contains no usable"):
        ServerTls(pem)


def test_a_client_certificate_may_begin_with_a_mark_and_have_text_around_it(tmp_path: Path) -> None:
    mark, text = b"\xef\xbb\xbf", "Főtanúsítvány\n".encode()
    chain, key = mark + text + LEAF.cert_pem + text + INTERMEDIATE.cert_pem, mark + LEAF.key_pem
    (tmp_path / "c").write_bytes(mark + LEAF.cert_pem)
    (tmp_path / "k").write_bytes(key)
    for certificate in (
        ClientCertificate(cert_data=chain, key_data=key),
        ClientCertificate(cert_data=mark + LEAF.cert_pem, key_data=key),
        ClientCertificate(tmp_path / "c", tmp_path / "k"),
    ):
        client = TlsConfig(ca_data=LEAF.cert_pem, certificate=certificate).context()
        tls = ServerTls(INTERMEDIATE.cert_pem)
        tls.context.load_cert_chain(*LEAF.write(tmp_path, "server"))
        shake_hands(tls.context, client)


def test_a_bundle_of_a_secret_is_read_the_same_way() -> None:
    noisy = b"\xef\xbb\xbf" + TEXTS["latin-1"] + LEAF.cert_pem + TEXTS["latin-1"] + ROOT.cert_pem
    assert [without_mark(block) for block in split(noisy)] == [LEAF.cert_pem, ROOT.cert_pem]
    assert facts_of(noisy) == facts_of(LEAF.cert_pem)
    assert base64.b64encode(certificates_in(noisy)[0]) in b"".join(LEAF.cert_pem.split())


def _load_keys() -> None:
    """Loads a key as a server, and one as a client."""
    ServerTls().use(CertificatePair(LEAF.cert_pem, LEAF.key_pem))
    ClientCertificate(cert_data=LEAF.cert_pem, key_data=LEAF.key_pem).load_into(client_context(ROOT.cert_pem), "")


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux has files in memory (memfd_create); elsewhere keys need a folder, as the next test shows",
)
def test_keys_are_loaded_where_no_folder_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: str) -> tuple[int, str]:
        raise OSError("read-only")

    monkeypatch.setattr(tempfile, "mkstemp", refused)
    before = sorted(os.listdir("/proc/self/fd"))
    _load_keys()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_file_of_a_key_is_gone_afterwards_where_there_are_no_files_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("setpoint.trust.sys.platform", "darwin")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pem_file(LEAF.key_pem) as name:
        assert Path(name).parent == tmp_path
        assert Path(name).stat().st_mode & 0o077 == 0
    _load_keys()
    assert list(tmp_path.iterdir()) == []

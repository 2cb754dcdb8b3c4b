"""The server's TLS context, whose certificate can change at run time."""

from __future__ import annotations

import ssl
from pathlib import Path

from setpoint.trust import pem_file, trust, without_mark
from setpoint.webhook.certificate_authority import CertificateError, Pair


class ServerTls:
    """A TLS context for servers: TLS 1.2 or newer, HTTP/1.1 only (HTTP/2 exposes servers to rapid-reset attacks).

    `use` changes the certificate for later handshakes. Existing connections keep theirs.

    With ``client_ca`` (PEM), the server requests a certificate that one of these authorities has signed. A client may
    connect without a certificate, as probes do, but not with another one.

    Raises:
        CertificateError: ``client_ca`` contains no certificate.
    """

    def __init__(self, client_ca: bytes | None = None) -> None:
        self.context = _fresh()
        self.context.set_alpn_protocols(["http/1.1"])
        if client_ca is not None:
            try:
                trust(self.context, client_ca)
            except ValueError:
                raise CertificateError("the client CA contains no usable PEM certificate") from None
            self.context.verify_mode = ssl.CERT_OPTIONAL

    def use(self, pair: Pair) -> None:
        """Presents ``pair`` from the next handshake on.

        Raises:
            CertificateError: ``pair`` is damaged, or its certificate and key don't belong together. The old certificate
                then stays in use.
        """
        pem = without_mark(pair.certificate).rstrip(b"\n") + b"\n" + without_mark(pair.key)
        with pem_file(pem) as name:
            load(_fresh(), Path(name))  # a failed attempt would leave the real context half changed
            load(self.context, Path(name))


def load(context: ssl.SSLContext, certificate: Path, key: Path | None = None) -> None:
    """Loads a certificate into ``context``. Raises `CertificateError`."""
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (ssl.SSLError, OSError) as problem:
        reason = getattr(problem, "reason", None) or problem
        words = str(reason).replace("_", " ").lower()
        raise CertificateError(f"the serving certificate and its key can't be used: {words}") from None


def _fresh() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _no_password() -> str:
    """Raises `CertificateError` for an encrypted key; otherwise OpenSSL would ask for the password on the terminal."""
    raise CertificateError("the serving key is encrypted; encrypted keys are not supported")

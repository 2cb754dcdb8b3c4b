"""The TLS side of the server: one context, whose certificate changes under way."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from setpoint.webhook.authority import CertificateError, Pair

__all__ = ["ServerTls"]


class ServerTls:
    """A TLS context for servers: 1.2 or newer, HTTP/1.1 only (HTTP/2 has brought servers rapid resets).

    `use` changes the certificate for handshakes from then on. Connections that exist keep theirs and are not touched.

    ``client_ca`` (PEM) asks callers for a certificate of that authority, for API servers that are configured to show
    one.

    Raises:
        CertificateError: ``client_ca`` holds no certificate.
    """

    def __init__(self, client_ca: bytes = b"") -> None:
        self.context = _fresh()
        self.context.set_alpn_protocols(["http/1.1"])
        if client_ca:
            try:
                self.context.load_verify_locations(cadata=client_ca.decode("ascii", "replace"))
            except ssl.SSLError as problem:
                raise CertificateError(f"the client CA holds no usable PEM certificate: {problem}") from None
            self.context.verify_mode = ssl.CERT_REQUIRED

    def use(self, pair: Pair) -> None:
        """Serves ``pair`` from the next handshake on.

        Raises:
            CertificateError: it is damaged or the two parts don't belong together; then nothing has changed.
        """
        handle, name = tempfile.mkstemp(prefix="setpoint-", suffix=".pem")  # the ssl module takes files only
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(pair.certificate.rstrip(b"\n") + b"\n" + pair.key)
            load(_fresh(), Path(name))  # a failed attempt would leave the real context with half of it
            load(self.context, Path(name))
        finally:
            os.unlink(name)


def load(context: ssl.SSLContext, certificate: Path, key: Path | None = None) -> None:
    """Gives ``context`` a certificate. Raises `CertificateError`."""
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
    """Without this OpenSSL would ask on the terminal."""
    raise CertificateError("the serving key is encrypted; encrypted keys are not supported")

"""TLS: certificates of both sides, and contexts that notice when their files change."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from setpoint.client.errors import ConfigError

__all__ = ["ClientCertificate", "TlsConfig", "default_context"]


def default_context(*, cafile: str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """As `ssl.create_default_context`, but no stricter than Go, the language of Kubernetes' programs.

    Kubernetes' own certificates, and many private authorities', lack extensions that Python requires since 3.13, such
    as an authority key identifier.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client's certificate and key, in files or as PEM data; data wins over a file."""

    cert_file: Path | None = None
    key_file: Path | None = None
    cert_data: bytes = field(default=b"", repr=False)
    key_data: bytes = field(default=b"", repr=False)

    def load_into(self, context: ssl.SSLContext, source: str) -> None:
        """Loads this certificate into ``context``.

        Raises:
            ConfigError: a file is missing or unreadable, or the two don't belong together.
        """
        where = source and f" ({source})"
        for what, data, file in (
            ("certificate", self.cert_data, self.cert_file),
            ("key", self.key_data, self.key_file),
        ):
            if not data and file is None:
                raise ConfigError(f"there is a client certificate without both parts: no {what}{where}")
            if not data and file is not None:
                check_readable(file, f"client {what}", source)
        with _as_file(self.cert_data, self.cert_file) as cert, _as_file(self.key_data, self.key_file) as key:
            try:
                context.load_cert_chain(cert, key, password=_no_password)
            except ssl.SSLError as problem:
                shown = f"{self.cert_file or 'inline certificate'} with {self.key_file or 'inline key'}"
                raise ConfigError(f"client certificate {shown} can't be used: {_reason(problem)}{where}") from None

    def files(self) -> tuple[Path, ...]:
        """The files of the certificate, whose change means a new one."""
        pairs = ((self.cert_data, self.cert_file), (self.key_data, self.key_file))
        return tuple(file for data, file in pairs if not data and file is not None)


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """The trust in a server. ``ca_data`` is PEM and wins over ``ca_file``; with neither, the system's roots count."""

    ca_file: Path | None = None
    ca_data: bytes = field(default=b"", repr=False)
    verify: bool = True
    certificate: ClientCertificate | None = None
    source: str = ""

    def context(self, extra: ClientCertificate | None = None) -> ssl.SSLContext:
        """A fresh context; ``extra`` is a certificate from a credentials source, which wins.

        Raises:
            ConfigError: a certificate can't be loaded.
        """
        where = self.source and f" ({self.source})"
        if self.ca_file is not None and not self.ca_data:
            check_readable(self.ca_file, "certificate authority", self.source)
        try:
            context = default_context(
                cafile=None if self.ca_data or self.ca_file is None else str(self.ca_file),
                cadata=self.ca_data.decode("ascii", "replace") if self.ca_data else None,
            )
        except ssl.SSLError as problem:
            shown = "certificate-authority-data" if self.ca_data else str(self.ca_file)
            raise ConfigError(f"{shown} contains no usable PEM certificate: {_reason(problem)}{where}") from None
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = extra or self.certificate
        if certificate is not None:
            certificate.load_into(context, self.source)
        return context

    def stamp(self) -> tuple[tuple[int, int] | None, ...]:
        """A value that changes with the files: modification time and size of each."""
        files = [] if self.ca_data or self.ca_file is None else [self.ca_file]
        if self.certificate is not None:
            files += self.certificate.files()
        return tuple(map(_stamp, files))


def check_readable(path: Path, what: str, source: str) -> None:
    """Raises `ConfigError` with the reason if ``path`` is not a readable file."""
    try:
        with path.open("rb"):
            pass
    except (OSError, ValueError) as problem:  # ValueError: a zero byte in the path
        where = source and f" ({source})"
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(f"{what} {path} can't be read: {why}{where}") from None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _no_password() -> str:
    """Refuses encrypted keys; OpenSSL would ask on the terminal otherwise."""
    raise ConfigError("the client key is encrypted; encrypted keys are not supported")


def _reason(problem: ssl.SSLError) -> str:
    return (problem.reason or str(problem)).replace("_", " ").lower()


@contextmanager
def _as_file(data: bytes, path: Path | None) -> Iterator[str]:
    """A file for the ssl module, which can't load data: readable only by its owner, and deleted after loading."""
    if not data:
        yield str(path)
        return
    handle, name = tempfile.mkstemp(prefix="setpoint-", suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield name
    finally:
        os.unlink(name)

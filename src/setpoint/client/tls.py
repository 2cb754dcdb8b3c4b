"""TLS: the certificates of both sides, and contexts that can be renewed when the files change."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from setpoint.client.errors import ConfigError
from setpoint.trust import client_context, pem_file, without_mark


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client's certificate and key, in files or as PEM data. Data takes precedence over a file."""

    cert_file: Path | None = None
    key_file: Path | None = None
    cert_data: bytes = field(default=b"", repr=False)
    key_data: bytes = field(default=b"", repr=False)

    def load_into(self, context: ssl.SSLContext, source: str) -> None:
        """Loads this certificate into ``context``; ``source`` names the configuration in messages.

        Raises:
            ConfigError: a file is missing or unreadable, or the certificate and the key don't belong together.
        """
        source_note = source and f" ({source})"
        for part, data, file in (
            ("certificate", self.cert_data, self.cert_file),
            ("key", self.key_data, self.key_file),
        ):
            if not data and file is None:
                raise ConfigError(
                    f"a client certificate needs a certificate and a key: there is no {part}{source_note}"
                )
            if not data and file is not None:
                read_file(file, f"client {part}", source)
        with _as_file(self.cert_data, self.cert_file) as cert, _as_file(self.key_data, self.key_file) as key:
            try:
                context.load_cert_chain(cert, key, password=_no_password)
            except ssl.SSLError as problem:
                names = f"{self.cert_file or 'inline certificate'} with {self.key_file or 'inline key'}"
                raise ConfigError(
                    f"client certificate {names} can't be used: {_reason(problem)}{source_note}"
                ) from None

    def files(self) -> tuple[Path, ...]:
        """The files of the certificate. When one of them changes, the certificate has to be loaded again."""
        pairs = ((self.cert_data, self.cert_file), (self.key_data, self.key_file))
        return tuple(file for data, file in pairs if not data and file is not None)


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """A client's certificate, and the CAs that the client trusts. ``ca_data`` is PEM and takes precedence over
    ``ca_file``; without either, the system's roots are used. Without ``verify``, any server certificate is accepted.
    """

    ca_file: Path | None = None
    ca_data: bytes = field(default=b"", repr=False)
    verify: bool = True
    certificate: ClientCertificate | None = None
    source: str = ""

    def context(self, extra: ClientCertificate | None = None) -> ssl.SSLContext:
        """A new context. ``extra`` is a certificate from a credentials source and takes precedence.

        Raises:
            ConfigError: a certificate can't be loaded.
        """
        source_note = self.source and f" ({self.source})"
        authority, authority_name = self.ca_data or None, "certificate-authority-data"
        if self.ca_file is not None and authority is None:
            authority, authority_name = read_file(self.ca_file, "certificate authority", self.source), str(self.ca_file)
        try:
            context = client_context(authority)
        except ValueError:
            raise ConfigError(f"{authority_name} contains no usable PEM certificate{source_note}") from None
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = extra or self.certificate
        if certificate is not None:
            certificate.load_into(context, self.source)
        return context

    def stamp(self) -> tuple[tuple[int, int] | None, ...]:
        """The modification time (in nanoseconds) and the size of each file; None for a file that can't be accessed."""
        files = [] if self.ca_data or self.ca_file is None else [self.ca_file]
        if self.certificate is not None:
            files += self.certificate.files()
        return tuple(map(_stamp, files))


def read_file(path: Path, label: str, source: str) -> bytes:
    """The content of ``path``. Raises `ConfigError` with the reason if it is not a readable file."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:  # ValueError: a zero byte in the path
        source_note = source and f" ({source})"
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(f"{label} {path} can't be read: {why}{source_note}") from None


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _no_password() -> str:
    """Raises `ConfigError` for an encrypted key; otherwise OpenSSL would ask for the password on the terminal."""
    raise ConfigError("the client key is encrypted; encrypted keys are not supported")


def _reason(problem: ssl.SSLError) -> str:
    return (problem.reason or str(problem)).replace("_", " ").lower()


@contextmanager
def _as_file(data: bytes, path: Path | None) -> Iterator[str]:
    """The name of a file that contains ``data`` until the block ends (`pem_file`); ``path`` if ``data`` is empty and
    the file has no byte order mark, which the ssl module can't read.
    """
    if not data and path is not None:
        data = path.read_bytes()
        if without_mark(data) == data:
            yield str(path)
            return
    with pem_file(without_mark(data)) as name:
        yield name

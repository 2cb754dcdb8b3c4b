"""The sources of a webhook server's certificate: files that change on disk, or this process's memory.

For the third source, a Secret that all replicas share, see `setpoint.webhook.secret_certificates`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from setpoint.webhook.certificate_authority import CertificateError, Pair
from setpoint.webhook.certificate_rotation import CertificateState, Rotation, step
from setpoint.webhook.metrics import WebhookMetrics
from setpoint.webhook.server_tls import ServerTls

logger = logging.getLogger("setpoint.webhook")
OnChange = Callable[[Pair], None]


class CertificateSource(Protocol):
    """Keeps a serving certificate up to date while `run` runs."""

    @property
    def current(self) -> Pair | None:
        """The certificate to serve; None until there is one."""
        ...

    def on_change(self, callback: OnChange) -> None:
        """Calls ``callback`` with every certificate that becomes current after this call."""
        ...

    async def run(self) -> None: ...


class Watched:
    """A base class of certificate sources, with the current certificate and the callbacks for new ones."""

    def __init__(self) -> None:
        self._current: Pair | None = None
        self._callbacks: list[OnChange] = []

    @property
    def current(self) -> Pair | None:
        return self._current

    def on_change(self, callback: OnChange) -> None:
        self._callbacks.append(callback)

    def _become(self, pair: Pair) -> None:
        if pair != self._current:
            self._current = pair
            for callback in self._callbacks:
                callback(pair)


class CertificateFiles(Watched):
    """A certificate in files, as written by cert-manager or mounted from a Secret: ``tls.crt`` and ``tls.key``.

    The files are checked every ``period`` seconds, as in controller-runtime's certwatcher. While the certificate and
    the key do not match (they are being written), the last valid pair is served.

    Args:
        directory: the folder with the files.
        certificate, key: the names of the files.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        certificate: str = "tls.crt",
        key: str = "tls.key",
        period: float = 10.0,
        metrics: WebhookMetrics | None = None,
    ) -> None:
        super().__init__()
        self.certificate = Path(directory) / certificate
        self.key = Path(directory) / key
        self.period = period
        self.metrics = metrics or WebhookMetrics()
        self._content: tuple[bytes, bytes] | None = None

    async def run(self) -> None:
        """Reads the files immediately and then every ``period`` seconds.

        Raises:
            CertificateError: at the start, if the files are missing or can't be used.
        """
        self.read()
        while True:
            await asyncio.sleep(self.period)
            try:
                self.read()
            except CertificateError as problem:
                logger.warning("the certificate was not renewed", extra={"fields": {"error": str(problem)}})

    def read(self) -> None:
        """Loads the files if they have changed. Raises `CertificateError` and keeps the current certificate if they are
        unusable.
        """
        try:
            content = self.certificate.read_bytes(), self.key.read_bytes()
        except OSError as problem:
            self.metrics.certificate_read_errors += 1
            raise CertificateError(
                f"the serving certificate can't be read: {problem.filename}: {problem.strerror}"
            ) from None
        if content == self._content:
            return
        self.metrics.certificate_reads += 1
        pair = Pair(*content)
        try:
            ServerTls().use(pair)
        except CertificateError as problem:
            self.metrics.certificate_read_errors += 1
            raise CertificateError(f"{self.certificate} and {self.key}: {problem}") from None
        self._content = content
        self._become(pair)


class MemoryCertificates(Watched):
    """A CA and a certificate in the memory of this process: for tests, development and the embedded server.

    Both exist as soon as this object does. While `run` runs, they are rotated like those in a Secret; they are lost
    when the process ends.

    Args:
        names: the server's DNS names and addresses.
        on_bundle: called with the new CA bundle for clients, whenever it changes.
    """

    def __init__(
        self,
        names: Sequence[str] = ("localhost", "127.0.0.1", "::1"),
        *,
        rotation: Rotation | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        on_bundle: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__()
        self._names = tuple(names)
        self._rotation = rotation or Rotation()
        self._now = now
        self._check_every = self._rotation.check_every.total_seconds()
        self._on_bundle = on_bundle
        self._state: CertificateState | None = None
        self.check()

    @property
    def bundle(self) -> bytes:
        """The CA bundle that clients must trust, PEM."""
        assert self._state is not None
        return self._state.bundle

    def check(self) -> None:
        """Renews the certificates that are due for renewal."""
        before = self._state
        self._state = state = step(
            before, self._names, self._rotation, self._now(), name="setpoint-webhook", in_force=before is not None
        )
        if self._on_bundle is not None and (before is None or before.bundle != state.bundle):
            self._on_bundle(state.bundle)
        self._become(state.serving)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._check_every)
            self.check()

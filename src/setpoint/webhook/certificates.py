"""Where a webhook server's certificate comes from: files that change on disk, or this process's memory.

For the third way, a Secret that all replicas share, see `setpoint.webhook.secret`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from setpoint.webhook.authority import CertificateError, Pair
from setpoint.webhook.metrics import WebhookMetrics
from setpoint.webhook.rotation import Kept, Rotation, step
from setpoint.webhook.tls import ServerTls

__all__ = ["CertificateFiles", "CertificateSource", "MemoryCertificates", "Watched"]

logger = logging.getLogger("setpoint.webhook")
OnChange = Callable[[Pair], None]


class CertificateSource(Protocol):
    """Keeps a serving certificate up to date for as long as `run` runs."""

    @property
    def current(self) -> Pair | None:
        """What to serve; None as long as there is nothing."""
        ...

    def on_change(self, callback: OnChange) -> None:
        """Calls ``callback`` with every certificate that becomes current from now on."""
        ...

    async def run(self) -> None: ...


class Watched:
    """The current certificate, and who wants to know of a new one."""

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
    """A certificate in files, as cert-manager and Secrets mounted as volumes have it: ``tls.crt`` and ``tls.key``.

    The files are looked at every ``period`` seconds, as controller-runtime's certwatcher does. A pair that does not
    fit together (it is being written just now) is left alone until it does; the last good one is served meanwhile.

    Args:
        directory: where the files are.
        certificate, key: their names in it.
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
        self._seen: tuple[bytes, bytes] | None = None

    async def run(self) -> None:
        """Reads now and then again and again.

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
        """Takes the files as they are now. Raises `CertificateError`; the current certificate stays then."""
        try:
            found = self.certificate.read_bytes(), self.key.read_bytes()
        except OSError as problem:
            self.metrics.certificate_read_errors += 1
            raise CertificateError(
                f"the serving certificate can't be read: {problem.filename}: {problem.strerror}"
            ) from None
        if found == self._seen:
            return
        self.metrics.certificate_reads += 1
        pair = Pair(*found)
        try:
            ServerTls().use(pair)
        except CertificateError as problem:
            self.metrics.certificate_read_errors += 1
            raise CertificateError(f"{self.certificate} and {self.key}: {problem}") from None
        self._seen = found
        self._become(pair)


class MemoryCertificates(Watched):
    """An authority and a certificate of this process alone: for tests, development and the embedded server.

    They are there at once, rotate like those in a Secret while `run` runs, and go with the process.

    Args:
        names: DNS names and addresses that are served.
        on_bundle: called with what clients must trust from now on, whenever that changes.
    """

    def __init__(
        self,
        names: Sequence[str] = ("localhost", "127.0.0.1", "::1"),
        *,
        rotation: Rotation | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        check_every: float = 60.0,
        on_bundle: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__()
        self._names = tuple(names)
        self._rotation = rotation or Rotation()
        self._now = now
        self._check_every = check_every
        self._on_bundle = on_bundle
        self._kept: Kept | None = None
        self.check()

    @property
    def bundle(self) -> bytes:
        """What clients must trust, PEM."""
        assert self._kept is not None
        return self._kept.bundle

    def check(self) -> None:
        """Makes anew what is due."""
        before = self._kept
        self._kept = kept = step(
            before, self._names, self._rotation, self._now(), name="setpoint-webhook", in_force=before is not None
        )
        if self._on_bundle is not None and (before is None or before.bundle != kept.bundle):
            self._on_bundle(kept.bundle)
        self._become(kept.serving)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._check_every)
            self.check()

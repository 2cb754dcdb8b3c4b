"""SecretCertificates: a private CA in a Secret that all replicas share, without cert-manager."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final

from setpoint.client import AlreadyExists, ApiError, Client, Conflict, NotFound, TransportError
from setpoint.models.core_v1 import Secret
from setpoint.webhook.ca_injection import Trusting, inject
from setpoint.webhook.certificate_authority import CertificateError, Pair, split
from setpoint.webhook.certificate_rotation import CertificateState, Rotation, step
from setpoint.webhook.certificates import Watched
from setpoint.webhook.metrics import WebhookMetrics

logger = logging.getLogger("setpoint.webhook")
TYPE: Final = "kubernetes.io/tls"
BUNDLE, AUTHORITY_KEYS, CERTIFICATE, KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
_TRIES: Final = 8
_FIRST_RETRY: Final = 1.0


class SecretCertificates(Watched):
    """Keeps a CA and a serving certificate in a Secret, and makes API servers trust the CA.

    ```python
    certificates = SecretCertificates(client, "mykind-webhook-tls", "system", names=service_names("mykind", "system"),
                                      trusting=trusting(webhooks, "mykind"))
    ```

    Every replica runs it. A replica that finds the Secret missing, or a certificate due for renewal (see `Rotation`),
    writes the Secret, on the condition that it still has the version that was read. If several replicas write at the
    same time, one write succeeds; the other replicas receive a conflict, and use the Secret that was written. So no
    election is needed, and no replica ever serves a certificate before it is in the Secret.

    A CA is replaced in steps: the new CA is added to the bundle, the bundle is put into every object of ``trusting``,
    ``overlap`` passes, a certificate signed by the new CA is served, ``overlap`` passes, the old CA is removed. At
    every moment an API server whose bundle is at most ``overlap`` out of date trusts the certificates of all replicas.

    *After a crash* between any two writes the next check continues from there. *While the API server can't be reached*
    the last certificate is served and the checks continue, with a delay that grows to at most ``rotation.check_every``.

    The Secret has cert-manager's layout (``tls.crt``, ``tls.key``, ``ca.crt``), and the CAs' keys are in ``ca.key``.
    RBAC: ``get``, ``create``, ``patch`` on the Secret; ``get``, ``patch`` on the objects of ``trusting``.

    Args:
        names: the server's DNS names and addresses.
        trusting: the kinds and names of the objects to inject the bundle into; see
            `setpoint.webhook.registration.trusting`.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        *,
        names: Sequence[str],
        trusting: Sequence[Trusting] = (),
        rotation: Rotation | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
        metrics: WebhookMetrics | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.namespace = namespace
        self.names = tuple(names)
        self.trusting = tuple(trusting)
        self.rotation = rotation or Rotation()
        self.check_every = self.rotation.check_every.total_seconds()
        self.metrics = metrics or WebhookMetrics()
        self._client = client
        self._now = now
        self._random = random or Random()
        self._state: CertificateState | None = None
        self._in_force = b""

    @property
    def bundle(self) -> bytes:
        """The CA bundle that clients must trust, PEM; empty before the first check."""
        return self._state.bundle if self._state is not None else b""

    async def run(self) -> None:
        """Checks the Secret every ``rotation.check_every``.

        Raises:
            CertificateError: another program made the Secret's certificate, or cryptography is not installed.
        """
        delay = _FIRST_RETRY
        while True:
            try:
                await self.check()
            except (ApiError, TransportError, TimeoutError) as problem:
                self.metrics.certificate_read_errors += 1
                message = "serving the last certificate" if self._state is not None else "there is no certificate yet"
                fields = {"secret": f"{self.namespace}/{self.name}", "error": str(problem), "state": message}
                logger.warning("could not check the certificates", extra={"fields": fields})
                wait = delay
                delay = min(2 * delay, self.check_every)
            else:
                wait, delay = self.check_every, _FIRST_RETRY
            await asyncio.sleep(wait * (0.9 + 0.2 * self._random.random()))

    async def check(self) -> None:
        """Checks once: loads the Secret, renews the certificates that are due for renewal, and injects the bundle.

        Raises:
            ApiError, TransportError: the API server refuses or can't be reached.
            TimeoutError: another client keeps writing the Secret.
            CertificateError: as `run`.
        """
        state = await self._settle()
        self.metrics.certificate_reads += 1
        self._state = state
        self._become(state.serving)
        self._in_force = b""
        if await inject(self._client, state.bundle, self.trusting):
            self._in_force = state.bundle

    async def _settle(self) -> CertificateState:
        """Renews the Secret's certificates that are due for renewal, and returns the certificates that the Secret then
        contains.
        """
        for _ in range(_TRIES):
            secret = await self._get()
            state = None if secret is None else self._read(secret)
            in_force = state is not None and self._in_force == state.bundle
            wanted = step(state, self.names, self.rotation, self._now(), name=self.name, in_force=in_force)
            if wanted is state:
                return wanted
            try:
                await self._write(secret, wanted)
            except (AlreadyExists, Conflict):
                continue  # another replica was faster
            logger.info("made certificates", extra={"fields": {"secret": f"{self.namespace}/{self.name}"}})
            return wanted
        raise TimeoutError(f"Secret {self.namespace}/{self.name}: another client keeps writing it")

    async def _get(self) -> Secret | None:
        try:
            return await self._client.get(Secret, self.name, namespace=self.namespace)
        except NotFound:
            return None

    def _read(self, secret: Secret) -> CertificateState | None:
        """The Secret's certificates; None if the Secret is damaged, or is empty because it was created in advance."""
        data = secret.data
        if not data.get(CERTIFICATE) and not data.get(KEY):
            return None
        if AUTHORITY_KEYS not in data:
            raise CertificateError(
                f"Secret {self.namespace}/{self.name} holds a certificate that another program made (it has no "
                f"{AUTHORITY_KEYS}): mount it and serve it with CertificateFiles, or choose another name"
            )
        certificates = split(data.get(BUNDLE, b""))
        keys = split(data[AUTHORITY_KEYS])
        if len(certificates) != len(keys):
            return None
        authorities = tuple(Pair(*both) for both in zip(certificates, keys, strict=True))
        return CertificateState(authorities, Pair(data.get(CERTIFICATE, b""), data.get(KEY, b"")))

    async def _write(self, secret: Secret | None, state: CertificateState) -> None:
        data = {
            BUNDLE: state.bundle,
            AUTHORITY_KEYS: b"".join(authority.key for authority in state.authorities),
            CERTIFICATE: state.serving.certificate,
            KEY: state.serving.key,
        }
        if secret is None:
            await self._client.create(Secret.named(self.name, self.namespace, type=TYPE, data=data))
            return
        secret.data.update(data)
        await self._client.update(secret)

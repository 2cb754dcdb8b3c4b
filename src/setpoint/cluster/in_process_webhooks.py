"""Webhooks in this process that an embedded server calls without a port, a certificate or any setup."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from setpoint.apiserver import HttpCaller, InProcessCaller, WebhookCaller
from setpoint.apiserver.webhooks import Target
from setpoint.client import Client
from setpoint.webhook import UrlTarget, Webhooks, install

_HOST: Final = "webhooks-{}.setpoint.internal"


class LocalWebhooks:
    """Calls webhooks for an embedded server: the webhooks given to `serve` directly in this process, all others over
    HTTPS.

    ```python
    local = LocalWebhooks()
    async with ApiServer(webhook_caller=local) as server, Client(InProcessTransport(server.handle)) as client:
        await local.serve(client, Webhooks(admission, Versions.of(Mykind)))
    ```
    """

    def __init__(self, resolve: Callable[[tuple[str, str, int]], str | None] | None = None) -> None:
        """Makes a caller that finds the addresses of Services with ``resolve``, as `HttpCaller` does."""
        self._here = InProcessCaller({})
        self._elsewhere: WebhookCaller = HttpCaller(resolve)
        self._served = 0

    async def serve(self, client: Client, webhooks: Webhooks) -> None:
        """Makes the server call ``webhooks`` in this process from now on. Raises the same errors as
        `setpoint.webhook.install`.

        The CustomResourceDefinitions of the kinds that the webhooks convert are applied, even if the server already has
        them.
        """
        self._served += 1
        host = _HOST.format(self._served)
        for path in webhooks.paths:
            self._here.routes[f"https://{host}{path}"] = webhooks.handle_review
        await install(client, webhooks, host, UrlTarget(f"https://{host}"), definitions=True)

    async def call(self, target: Target, body: bytes, timeout: float) -> tuple[int, bytes]:
        here = target.url.partition("?")[0] in self._here.routes
        return await (self._here if here else self._elsewhere).call(target, body, timeout)

    async def close(self) -> None:
        await self._elsewhere.close()

"""WebhookServer: serves `Webhooks` over HTTPS."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, Final

import msgspec

from setpoint.concurrency import TaskScope, first
from setpoint.serving import HttpRequest, HttpService, Listener, Refused, Reply
from setpoint.webhook.caller_tokens import CallerTokens
from setpoint.webhook.callers import AllowedCallers, bearer_token
from setpoint.webhook.certificates import CertificateSource
from setpoint.webhook.conversion import CONVERT_PATH
from setpoint.webhook.server_tls import ServerTls
from setpoint.webhook.webhooks import Webhooks, failed

logger = logging.getLogger("setpoint.webhook")

MAX_BODY: Final = 7 * 1024 * 1024
"""The default maximum size of a review in bytes, as in controller-runtime. An AdmissionReview may contain the old and
the new object, each of up to 3 MiB. API servers have objects converted one by one as they read them, ten at a time.
"""
HEALTH: Final = "/healthz"
READINESS: Final = "/readyz"
_TEXT: Final = {"content-type": "text/plain; charset=utf-8"}
_REASONS: Final = {
    408: "Timeout", 413: "RequestEntityTooLarge", 500: "InternalError", 503: "ServiceUnavailable",
}  # fmt: skip


class WebhookLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a `WebhookServer`: the maximum size of a review in bytes, and times in seconds.

    By default, idle connections outlast the 90 s for which API servers keep theirs, so no connection is closed while a
    request is on its way.
    """

    max_body: int = MAX_BODY
    read_timeout: float = 10.0
    idle_timeout: float = 120.0


class WebhookServer:
    """Serves webhooks while `run` runs, in a manager or on its own.

    ```python
    manager.add(WebhookServer(webhooks, CertificateFiles("/certs")), group="servers")
    ```

    A manager must start it in the group ``servers``, before any cache begins to sync, because caches may need its
    conversions.

    *Stopping* (`stop`, then `run` returns): ``/readyz`` fails immediately, and requests are still served for
    ``drain_delay``, so that endpoints can be updated. After that, no more connections are accepted, and requests in
    flight may finish within ``grace``. Once the server is stopping, each answer closes its connection.

    *Limits*: bodies that are too large (`WebhookLimits`) are answered with 413 before they are read, content other than
    JSON with 415, methods other than POST with 405. A connection is cut off if its TLS handshake, the head of its first
    request, or a body takes longer than ``read_timeout``, or if it is idle for ``idle_timeout``. Bodies take 32 MiB of
    memory together (`setpoint.serving.body_memory`): beyond that, large ones are read when others have been answered,
    or refused with 503. The number of connections is limited, too (`setpoint.serving.connection_limit`).

    Args:
        webhooks: the webhooks to serve.
        certificates: the source of the certificate; this server runs it, and listens as soon as there is a certificate.
        host: ``""`` means every address.
        port: 0 picks a free one; see ``port`` once ``ready`` is set.
        drain_delay, grace: seconds.
        limits: the sizes and times of requests.
        callers: the clients whose admission reviews are answered; by default any.

    Raises:
        CertificateError: the authorities in ``callers`` contain no certificate.
    """

    name = "webhooks"
    leader_only = False
    group = "servers"

    def __init__(
        self,
        webhooks: Webhooks,
        certificates: CertificateSource,
        *,
        host: str = "",
        port: int = 9443,
        drain_delay: float = 0.0,
        grace: float = 20.0,
        limits: WebhookLimits | None = None,
        callers: AllowedCallers | None = None,
    ) -> None:
        self.webhooks = webhooks
        self.certificates = certificates
        self.host = host
        self.port = port
        self.drain_delay = drain_delay
        self.grace = grace
        self.limits = limits = limits if limits is not None else WebhookLimits()
        self.ready = asyncio.Event()
        """Set when the server listens."""
        self._callers = callers if callers is not None else AllowedCallers()
        self._tls = ServerTls(self._callers.client_ca)
        self._stopping = asyncio.Event()
        self._certified = asyncio.Event()
        self._paths = frozenset(webhooks.paths)
        self._tokenless: set[str] = set()
        self._service = HttpService(self._admit, self._answer, _complain, limits.read_timeout, limits.idle_timeout)

    def stop(self) -> None:
        """Asks `run` to drain and return."""
        self._stopping.set()

    def problem(self) -> str:
        """The reason why the server is not ready; ``""`` if it is ready. For readiness checks."""
        if self._stopping.is_set():
            return "the webhook server is stopping"
        if not self.ready.is_set():
            return "the webhook server does not listen yet" + (
                "" if self._certified.is_set() else ": it has no certificate"
            )
        return ""

    async def run(self) -> None:
        """Serves until `stop` is called, or until it is cancelled, in which case it does not drain.

        Raises:
            OSError: the address can't be bound; the message names it.
            CertificateError: there is no usable certificate, and the source can't provide one.
        """
        self.certificates.on_change(self._use)
        if self.certificates.current is not None:
            self._use(self.certificates.current)
        async with TaskScope() as scope:
            tending, serving = scope.start(self.certificates.run()), scope.start(self._serve())
            await scope.first()
            if tending.done() and not tending.cancelled() and tending.exception() is None:
                await asyncio.wait((serving,))  # a source may end

    def _use(self, pair: Any) -> None:
        self._tls.use(pair)
        self._certified.set()

    async def _serve(self) -> None:
        await first(self._certified.wait(), self._stopping.wait())
        if self._stopping.is_set():
            return
        listener = Listener(
            self._service, name="the webhook server", host=self.host, port=self.port, context=self._tls.context
        )
        try:
            await listener.open()
            self.port = listener.port
            self.ready.set()
            logger.info("webhooks are served", extra={"fields": {"port": self.port, "paths": self.webhooks.paths}})
            await self._stopping.wait()
            await asyncio.sleep(self.drain_delay)
            listener.close()
            late = await self._service.drain(self.grace)
            if late:
                logger.warning("requests were cut off", extra={"fields": {"requests": late}})
        finally:
            self.ready.clear()
            listener.close()
            await self._service.cut()

    # -- one request ---------------------------------------------------------------------------------------------------

    def _admit(self, request: HttpRequest) -> int:
        """Checks a head; see `HttpService`."""
        path = request.target.partition("?")[0]
        if path not in self._paths:
            if path not in (HEALTH, READINESS):
                raise Refused(failed(404, "NotFound", f"there is no webhook at {path[:200]}"))
            if request.method not in ("GET", "HEAD"):
                raise Refused(_not_allowed(request.method, "GET"))
            return 0
        refusal = None if path == CONVERT_PATH else self._callers.refusal(request)
        if refusal is not None:
            raise Refused(self._counted(path, refusal))
        if request.method != "POST":
            raise Refused(_not_allowed(request.method, "POST"))
        kind = request.headers.get("content-type", "")
        if kind != "application/json":
            kind = kind.partition(";")[0].strip().lower()
        coding = request.headers.get("content-encoding", "")
        if kind != "application/json" or coding:
            message = (
                f"content-encoding must not be set, not {coding[:100]!r}"
                if coding
                else (f"content-type must be application/json, not {kind[:100]!r}")
            )
            raise Refused(failed(415, "UnsupportedMediaType", message))
        return self.limits.max_body

    def _answer(self, request: HttpRequest, body: bytes) -> Reply | Awaitable[Reply]:
        if request.method != "POST":  # as in `_admit`
            problem = self.problem() if request.target.partition("?")[0] == READINESS else ""
            return self._last(Reply(503 if problem else 200, _TEXT, problem.encode() or b"ok"))
        path = request.target.partition("?")[0]
        tokens = self._callers.tokens
        if tokens is not None and path != CONVERT_PATH:
            if token := bearer_token(request):
                return self._verified(tokens, token, path, request.target, body)
            if path not in self._tokenless:
                self._tokenless.add(path)
                fields = {"webhook": path, "from": request.peer}
                logger.warning(
                    "a review has come without a token: --webhook-tokens=require would refuse it",
                    extra={"fields": fields},
                )
        started = self.webhooks.start_review(request.target, body)
        return self._last(started) if isinstance(started, Reply) else self._awaited(started)

    async def _awaited(self, started: Awaitable[Reply]) -> Reply:
        return self._last(await started)

    async def _verified(self, tokens: CallerTokens, token: str, path: str, target: str, body: bytes) -> Reply:
        refusal = await tokens.refusal(token, path, body)
        if refusal is not None:
            return self._last(self._counted(path, refusal))
        return self._last(await self.webhooks.handle_review(target, body))

    def _counted(self, path: str, refusal: Reply) -> Reply:
        self.webhooks.metrics.at(path).finished(refusal.status, 0.0)
        return refusal

    def _last(self, reply: Reply) -> Reply:
        """The reply; while the server is stopping, with a header that closes the connection."""
        if self._stopping.is_set():
            return Reply(reply.status, {**reply.headers, "connection": "close"}, reply.body)
        return reply


def _complain(status: int, text: str) -> Reply:
    return failed(status, _REASONS.get(status, "BadRequest"), text)


def _not_allowed(method: str, allowed: str) -> Reply:
    reply = failed(405, "MethodNotAllowed", f"{method} is not allowed, use {allowed}")
    return Reply(reply.status, {**reply.headers, "allow": allowed}, reply.body)

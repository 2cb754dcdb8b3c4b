"""The raw layer: sends requests to paths and returns the answers' bytes, with retries, warnings and errors."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType

from setpoint.client.errors import ApiError, error_from, is_unserved, retry_after_of
from setpoint.client.limiter import AdaptiveLimiter
from setpoint.client.lines import MAX_LINE
from setpoint.client.options import Query
from setpoint.client.retry import RetryPolicy
from setpoint.client.transport import DEFAULT_TIMEOUT, MAX_BODY, Request, Response, Transport, TransportError
from setpoint.meta import Resource

__all__ = ["Requester"]

logger = logging.getLogger("setpoint.client")

JSON = "application/json"
IDLE_TIMEOUT = 330.0
"""Seconds without a byte after which a stream counts as dead. API servers send a bookmark every minute. A quiet watch
without bookmarks ends after this time, or when the server ends it (after five to ten minutes), whichever comes first.
"""
EXEMPT = "/apis/coordination.k8s.io/"
"""Requests to paths with this prefix never wait for the limiter: a leader that can't renew its lease in time loses it.
"""
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MAX_WARNINGS = 1000
MAX_OBJECT = MAX_LINE
"""The maximum size of a single object, in bytes, as in a watch. API servers store no object of more than 3 MiB."""
MAX_ERROR = 4 << 20
"""The maximum size of the body of an error answer, in bytes; a Status that names every field of an object is shorter.
"""


class Requester:
    """Sends requests over one transport, with the retries of a `RetryPolicy`.

    Each distinct ``Warning`` from the server is passed to ``on_warning`` once (only the last 1000 are remembered); by
    default it is logged.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        retry: RetryPolicy | None = None,
        on_warning: Callable[[str], None] | None = None,
        limiter: AdaptiveLimiter | None = None,
    ) -> None:
        self.transport = transport
        self._retry = retry or RetryPolicy()
        self._limiter = limiter or AdaptiveLimiter()
        self._on_warning = on_warning or _log_warning
        self._warned: OrderedDict[str, None] = OrderedDict()
        self.answers: Counter[tuple[str, str]] = Counter()
        """The number of answers, by method and status; ``<error>`` stands for a missing answer."""
        self.unserved = 0
        """The number of answers that said that the server does not serve a resource or its version."""

    def over(self, transport: Transport) -> Requester:
        """A requester that uses a different transport, and shares this one's limiter and its record of warnings."""
        made = Requester(transport, retry=self._retry, on_warning=self._on_warning, limiter=self._limiter)
        made._warned, made.answers = self._warned, self.answers
        return made

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        verb: str = "",
        resource: Resource | str = "",
        key: str = "",
        limit: int = MAX_BODY,
    ) -> bytes:
        """The body of the answer. ``timeout`` is in seconds and applies to each attempt; ``verb``, ``resource`` and
        ``key`` are used only in error messages.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer, or an incomplete one, or one of more than ``limit`` bytes.
        """
        sent: dict[str, str] = {"accept": accept}
        if body is not None:
            sent["content-type"] = content_type
        if headers:
            sent.update(headers)
        request = Request(method, path, query, sent, body, timeout)
        attempt = status = 0
        limiter = None if path.startswith(EXEMPT) else self._limiter
        while True:
            try:
                status = 0
                if limiter is not None:
                    await limiter.enter()
                try:
                    async with self.transport.send(request) as response:
                        status, heads = response.status, response.headers
                        self.answers[method, str(status)] += 1
                        answer = await response.read(limit if status < 300 else MAX_ERROR)
                finally:
                    if limiter is not None:
                        limiter.leave(throttled=status == 429 if status else None)
            except TransportError as error:
                if not status:
                    self.answers[method, "<error>"] += 1
                delay = self._retry.delay_after_error(method, error, attempt)
                if delay is None:
                    raise
            else:
                if "warning" in heads:
                    self._warn(heads["warning"])
                if 200 <= status < 300:
                    return answer
                delay = self._retry.delay_after_answer(status, retry_after_of(heads), attempt)
                if delay is None:
                    raise self._error(status, answer, heads, verb or _VERBS.get(method, method), resource or path, key)
            attempt += 1
            await asyncio.sleep(delay)

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        idle_timeout: float | None = IDLE_TIMEOUT,
        verb: str = "",
        resource: Resource | str = "",
        key: str = "",
    ) -> AbstractAsyncContextManager[Response]:
        """A streamed answer; leaving the context closes it. The request is retried as in `request` until the head of an
        answer has arrived; the caller handles later errors.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer; or, while reading, the answer broke off or was silent for
                ``idle_timeout`` seconds.
        """
        request = Request(method, path, query, {"accept": accept, **(headers or {})}, None, None, idle_timeout)
        return _Stream(self, request, verb or _VERBS.get(method, method), resource or path, key)

    def _error(
        self, status: int, answer: bytes, heads: Mapping[str, str], verb: str, resource: Resource | str, key: str
    ) -> ApiError:
        error = error_from(status, answer, headers=heads, verb=verb, resource=resource, key=key)
        if is_unserved(error):
            self.unserved += 1
        return error

    def _warn(self, header: str) -> None:
        for text in _WARNING.findall(header):
            if text not in self._warned:
                self._warned[text] = None
                if len(self._warned) > _MAX_WARNINGS:
                    self._warned.popitem(last=False)
                self._on_warning(re.sub(r"\\(.)", r"\1", text))


class _Stream:
    """The context manager of `Requester.stream`.

    It is a class, not a generator, because an abandoned stream lives in its reader's generator, and an event loop that
    ends closes all generators at once. If a generator-based context manager is left after its generator was closed,
    contextlib raises a RuntimeError.
    """

    __slots__ = ("_exit", "_key", "_request", "_requester", "_resource", "_verb")

    def __init__(self, requester: Requester, request: Request, verb: str, resource: Resource | str, key: str) -> None:
        self._requester = requester
        self._request = request
        self._verb = verb
        self._resource = resource
        self._key = key
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Response:
        requester, request = self._requester, self._request
        retry = requester._retry
        attempt = status = 0
        while True:
            try:
                status = 0
                async with AsyncExitStack() as opened:
                    response = await opened.enter_async_context(requester.transport.send(request))
                    status, heads = response.status, response.headers
                    requester.answers[request.method, str(status)] += 1
                    if "warning" in heads:
                        requester._warn(heads["warning"])
                    if 200 <= status < 300:
                        self._exit = opened.pop_all()
                        return response
                    answer = await response.read(MAX_ERROR)
            except TransportError as error:
                if not status:
                    requester.answers[request.method, "<error>"] += 1
                delay = retry.delay_after_error(request.method, error, attempt)
                if delay is None:
                    raise
            else:
                delay = retry.delay_after_answer(status, retry_after_of(heads), attempt)
                if delay is None:
                    raise requester._error(status, answer, heads, self._verb, self._resource, self._key)
            attempt += 1
            await asyncio.sleep(delay)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.__aexit__(kind, error, trace)


def _log_warning(text: str) -> None:
    logger.warning("the API server warns: %s", text)

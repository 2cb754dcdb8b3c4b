"""The raw layer: sends requests to paths and returns the answers' bytes, with retries, warnings and errors."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType

from setpoint.client.concurrency_limiter import AdaptiveLimiter
from setpoint.client.errors import ApiError, error_from, is_unserved, retry_after_of
from setpoint.client.line_framer import MAX_LINE
from setpoint.client.request_info import RequestInfo
from setpoint.client.retry import RetryPolicy
from setpoint.client.transport import DEFAULT_TIMEOUT, MAX_BODY, Request, Response, Transport, TransportError

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
        requester = Requester(transport, retry=self._retry, on_warning=self._on_warning, limiter=self._limiter)
        requester._warned, requester.answers = self._warned, self.answers
        return requester

    async def request(self, request: Request, info: RequestInfo | None = None, *, limit: int = MAX_BODY) -> bytes:
        """The body of the answer. The request's ``timeout`` applies to each attempt; ``info`` is used only in error
        messages.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer, or an incomplete one, or one of more than ``limit`` bytes.
        """
        method = request.method
        attempt = status = 0
        limiter = None if request.path.startswith(EXEMPT) else self._limiter
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
                    raise self._error(status, answer, heads, info or _info_of(request))
            attempt += 1
            await asyncio.sleep(delay)

    def stream(self, request: Request, info: RequestInfo | None = None) -> AbstractAsyncContextManager[Response]:
        """A streamed answer; leaving the context closes it. The request is retried as in `request` until the head of an
        answer has arrived; the caller handles later errors.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer; or, while reading, the answer broke off or was silent for
                the request's ``idle_timeout`` seconds.
        """
        return _Stream(self, request, info or _info_of(request))

    def _error(self, status: int, answer: bytes, heads: Mapping[str, str], info: RequestInfo) -> ApiError:
        error = error_from(status, answer, headers=heads, verb=info.verb, resource=info.target, key=info.key)
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

    __slots__ = ("_exit", "_info", "_request", "_requester")

    def __init__(self, requester: Requester, request: Request, info: RequestInfo) -> None:
        self._requester = requester
        self._request = request
        self._info = info
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
                    raise requester._error(status, answer, heads, self._info)
            attempt += 1
            await asyncio.sleep(delay)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.__aexit__(kind, error, trace)


def build_request(
    method: str,
    path: str,
    *,
    query: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
    content_type: str = JSON,
    accept: str = JSON,
    timeout: float | None = DEFAULT_TIMEOUT,
) -> Request:
    headers = {"accept": accept}
    if body is not None:
        headers["content-type"] = content_type
    return Request(method, path, tuple(query), headers, body, timeout)


def build_stream_request(
    path: str, *, query: Iterable[tuple[str, str]] = (), accept: str, idle_timeout: float | None
) -> Request:
    return Request("GET", path, tuple(query), {"accept": accept}, None, None, idle_timeout)


def _info_of(request: Request) -> RequestInfo:
    return RequestInfo(_VERBS.get(request.method, request.method), request.path)


def _log_warning(text: str) -> None:
    logger.warning("the API server warns: %s", text)

"""Promises for any request: it is answered, no failure is the server's, and a refused one changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import re
import time
from collections.abc import Coroutine, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

import yaml
from tests.apiserver.harness import (
    CRDS,
    DEPLOYMENTS,
    MAPS,
    MYKINDS,
    PODS,
    Api,
    config_map,
    crd,
    deployment,
    mykind,
    pod,
    serving,
)

from setpoint.apiserver import ApiServer, Request, Response
from setpoint.apiserver.webhooks.caller import CallFailed, Target

EXPECTED_500 = (
    "failed calling webhook",
    "failed to call webhook",
    "conversion webhook for ",
    "This pod has more than one PodDisruptionBudget",
    "request to convert CR to an invalid group/version",
)
"""Answers of 500 by Kubernetes' documentation: a webhook that must answer and does not, a pod that two budgets guard,
managed fields of a version that was removed. All else that is answered so is a fault of the server."""
SLOW = 0.5
"""Seconds of CPU that one request may hold the loop."""


class FoundError(AssertionError):
    """A promise that did not hold. ``signature`` tells one cause from another, about."""

    def __init__(self, signature: str, text: str) -> None:
        super().__init__(text)
        self.signature = signature


class _Complaints(logging.Handler):
    """The failures that the server logs as its own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextlib.contextmanager
def complaints(*names: str) -> Iterator[list[logging.LogRecord]]:
    handler = _Complaints()
    loggers = [logging.getLogger(name) for name in names]
    before = [one.propagate for one in loggers]
    for one in loggers:
        one.addHandler(handler)
        one.propagate = False
    try:
        yield handler.records
    finally:
        for one, spread in zip(loggers, before, strict=True):
            one.removeHandler(handler)
            one.propagate = spread


@dataclass
class Report:
    """The times for which requests held the loop, and the findings."""

    requests: int = 0
    codes: dict[int, int] = field(default_factory=dict)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def note(self, seconds: float, what: str) -> None:
        self.slowest = sorted([*self.slowest, (seconds, what)], reverse=True)[:20]


class NoHooks:
    """Webhooks that can't be reached."""

    async def call(self, target: Target, body: bytes, timeout: float) -> tuple[int, bytes]:
        raise CallFailed("connection refused")

    async def close(self) -> None: ...


def state(server: ApiServer) -> str:
    """All that is stored and served, in few letters."""
    stored = hashlib.sha256()
    for served in sorted({one.collection for one in server.registry}):
        for record in server.storage.scan(served):
            stored.update(record.value)
    return f"{len(list(server.registry))} {stored.hexdigest()}"


async def send(server: ApiServer, request: Request, report: Report) -> int:
    """Sends it, judges the answer, and gives its code. Raises FoundError."""
    before, revision = state(server), server.storage.revision
    told = shown(request)
    with complaints("setpoint", "asyncio") as errors:
        answer = _Steps(server.handle(request))
        try:
            async with asyncio.timeout(120):
                response = await answer
            body = response.body
            if not isinstance(body, bytes):
                body = await _beginning(body)
        except Exception as problem:
            raise FoundError(f"raised {type(problem).__name__} {_where(problem)}", f"{told}: {problem!r}") from problem
    report.requests += 1
    report.codes[response.status] = report.codes.get(response.status, 0) + 1
    if answer.longest > SLOW / 4:
        report.note(answer.longest, told)
    for record in errors:
        problem = record.exc_info[1] if record.exc_info else None
        signature = f"{type(problem).__name__} {_where(problem)}" if problem else record.getMessage()[:60]
        raise FoundError(signature, f"{told}: the server complains: {record.getMessage()}: {problem!r}") from problem
    if response.status == 500 and not any(words.encode() in body for words in EXPECTED_500):
        raise FoundError(f"500 {_words(body)}", f"{told}: {body[:300]!r}")
    if not 200 <= response.status < 600:
        raise FoundError(f"code {response.status}", told)
    for name, value in response.headers.items():
        if name == "warning":  # it may quote a field's name, in UTF-8: as upstream's, anything but control characters
            sound = not any(category(character) == "Cc" for character in value)
        else:
            sound = name.isascii() and value.isascii() and value.isprintable()
        if not sound:
            raise FoundError(f"header {name}", f"{told}: {name}: {value!r}")
    kind = response.headers.get("content-type", "").partition(";")[0]
    document: Any = None
    try:
        if kind == "application/json" and body:
            document = json.loads(body)
        elif kind == "application/yaml":
            document = yaml.load(body, yaml.CSafeLoader)
    except (ValueError, yaml.YAMLError) as problem:
        raise FoundError(f"unreadable {kind}", f"{told}: {problem}: {body[:200]!r}") from problem
    if response.status >= 400:
        if state(server) != before or server.storage.revision != revision:
            raise FoundError(f"refused with {response.status} but done", f"{told}: {body[:300]!r}")
        if kind == "application/json" and (document.get("kind") != "Status" or document.get("code") != response.status):
            raise FoundError("no Status", f"{told}: {body[:300]!r}")
    return response.status


class _Steps:
    """An awaitable that measures how long the loop is held between two waits. ``longest``: seconds of CPU."""

    def __init__(self, work: Coroutine[Any, Any, Response]) -> None:
        self._work = work
        self.longest = 0.0

    def __await__(self) -> Generator[Any, None, Response]:
        steps = self._work.__await__()
        problem: BaseException | None = None
        while True:
            started = time.thread_time()
            try:
                pending = next(steps) if problem is None else steps.throw(problem)
            except StopIteration as done:
                answer: Response = done.value
                return answer
            finally:
                self.longest = max(self.longest, time.thread_time() - started)
            problem = None
            try:
                yield pending
            except BaseException as raised:  # noqa: BLE001 - it is the work's to handle
                problem = raised


async def _beginning(stream: Any) -> bytes:
    try:
        async with asyncio.timeout(0):
            await anext(stream)
    except (TimeoutError, StopAsyncIteration):
        pass
    finally:
        await stream.aclose()
    return b""


def _where(problem: BaseException | None) -> str:
    """The innermost line of ours."""
    text, trace = "", problem.__traceback__ if problem else None
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/setpoint/" in code.co_filename:
            text = f"{code.co_filename.rpartition('/setpoint/')[2]}:{code.co_name}"
        trace = trace.tb_next
    return text


def _words(body: bytes) -> str:
    """The words of an answer, without quotations."""
    return re.sub(r"\\?\".*?\\?\"|\d+", "_", body.decode("utf-8", "replace").partition('"message":')[2][1:60])


def shown(request: Request) -> str:
    body = request.body
    text = "" if body is None else f" {len(body)} bytes {body[:400]!r}"
    query = ascii(request.query)[:300]
    return f"{request.method} {ascii(request.path)[:120]} {query} {ascii(dict(request.headers))[:300]}{text}"


async def session(requests: Sequence[Request], report: Report) -> None:
    """The requests, one after another, to a server with a few objects. Raises FoundError."""
    async with serving(webhook_caller=NoHooks()) as api:
        await furnish(api)
        for request in requests:
            await send(api.server, request, report)
        if (await api.get("/livez")).status != 200:
            raise FoundError("not alive", "; ".join(map(shown, requests)))


async def furnish(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    (await api.post(MAPS, config_map(data={"a": "b"}, metadata={"labels": {"app": "web"}}))).ok()
    (await api.post(PODS, pod())).ok()
    (await api.post(DEPLOYMENTS, deployment())).ok()
    (await api.post(MYKINDS, mykind(spec={"numpods": 3, "free": {"x": [1]}}))).ok()
    (await api.post(MYKINDS, mykind("web", spec={"numpods": 3}))).ok()

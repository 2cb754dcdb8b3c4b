"""Webhooks: everything that one process serves, as a function from the bytes of a request to those of its answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from types import coroutine
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from setpoint.cache import Informer, InformerFactory, Lister, UndeclaredRead
from setpoint.crd import Versions, verify
from setpoint.meta import Object, Status, to_wire
from setpoint.serving.http_response import Reply
from setpoint.webhook.admission import Admission, Role
from setpoint.webhook.admission_decision import Misdirected, decide
from setpoint.webhook.conversion import CONVERT_PATH, ConversionFailed, Conversions, Converter, failure, review_of
from setpoint.webhook.metrics import WebhookMetrics
from setpoint.webhook.review_messages import (
    ADMISSION_V1,
    CONVERSION_V1,
    AdmissionRequest,
    AdmissionResponse,
    AdmissionReview,
    AdmissionReviewAnswer,
    ConversionRequest,
    ConversionReview,
    Envelope,
)
from setpoint.webhook.version_translation import Translation, other_versions

T = TypeVar("T", bound=Object)
logger = logging.getLogger("setpoint.webhook")

MAX_TIMEOUT: Final = 30.0
"""The longest timeout, in seconds, that API servers allow for an admission webhook; also the timeout of
all conversions.
"""
_MARGIN: Final = 0.95
"""The fraction of the caller's timeout that is used: a late answer is useless."""
_JSON: Final = {"content-type": "application/json"}
_ROLES: Final[tuple[Role, ...]] = ("mutate", "validate")
_Decides: TypeAlias = Callable[[Role, AdmissionRequest, "DeclaredReads"], Awaitable[AdmissionResponse]]
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_admission_reviews: Final = msgspec.json.Decoder(AdmissionReview)
_conversion_reviews: Final = msgspec.json.Decoder(ConversionReview)
_envelopes: Final = msgspec.json.Decoder(Envelope)
_encode: Final = msgspec.json.Encoder().encode


class _Route(NamedTuple):
    answer: Callable[[bytes], Coroutine[Any, Any, Reply]]
    at_once: bool
    """Whether requests can usually be answered without waiting."""
    reads: DeclaredReads | None = None


class Webhooks:
    """Admissions and conversions, each at its path.

    ```python
    webhooks = Webhooks(Admission(Mykind).defaults(fill_in).validates(check), Versions.of(Mykind))
    status, headers, body = await webhooks.handle_review("/mutate-grp-example-com-v1-mykind?timeout=10s", review)
    ```

    Args:
        served: `Admission`\\ s and conversions: ``Versions.of(Mykind)``.
        factory: the informers for the kinds that admissions declare with ``reads``. The caller runs it; requests that
            read objects wait for it until their deadline, other requests don't wait.
        timeout: how many seconds a request may take if its path has no timeout, and the maximum of a timeout in a path.
        samples: objects for testing conversions before they are served, in addition to those made from the schemas.

    *Guarantees*

    - A bad request is answered (with 400, 404, or a review that refuses), and never raises an exception.
    - An exception of any kind in a function, even `SystemExit`, is answered with 500, and a missed deadline with 504,
      so the webhook's failure policy applies. Both are logged and counted, other requests are not affected, and the
      caller does not see the exception's message.
    - Requests may arrive in any order and at any replica: no state is kept between them.

    *Caveats*: functions share one event loop; a long computation without an await delays all the others.

    Raises:
        ValueError: two admissions have the same path (give one of them a ``name``), or two converters are for the same
            kind.
        ConversionError: an object does not survive the conversion to another version and back; the message names the
            fields.
        TypeError: an admission has no functions, or reads without a ``factory``.
    """

    def __init__(
        self,
        *served: Admission[Any] | Converter,
        factory: InformerFactory | None = None,
        timeout: float = MAX_TIMEOUT,
        metrics: WebhookMetrics | None = None,
        samples: Sequence[Object] = (),
    ) -> None:
        self.served = served
        self.conversions = Conversions()
        self.timeout = timeout
        self.metrics = metrics or WebhookMetrics()
        self._routes: dict[str, _Route] = {}
        for webhook in served:
            if isinstance(webhook, Admission):
                self._admit_at(webhook, factory)
            else:
                self.conversions.add(webhook)
                if isinstance(webhook, Versions):
                    verify(webhook, [sample for sample in samples if isinstance(sample, tuple(webhook.classes))])
                self._routes[CONVERT_PATH] = _Route(self._convert, at_once=True)
        for webhook in served:
            if isinstance(webhook, Admission):
                self._understand(webhook, factory)
        for path in self._routes:
            self.metrics.at(path)

    def __iter__(self) -> Iterator[Admission[Any] | Converter]:
        return iter(self.served)

    @property
    def paths(self) -> list[str]:
        return sorted(self._routes)

    def _admit_at(self, admission: Admission[Any], factory: InformerFactory | None) -> None:
        if admission.read_kinds and factory is None:
            kinds = ", ".join(kind.__name__ for kind in admission.read_kinds)
            raise TypeError(f"{admission!r} reads {kinds}: give Webhooks a factory= of informers")
        if not admission.defaulters and not admission.validators:
            raise TypeError(f"{admission!r} has no function: add one with .defaults(...) or .validates(...)")
        reads = DeclaredReads(admission.read_kinds, factory)
        for role in _ROLES:
            if not admission.functions(role):
                continue
            path = admission.path(role)
            if path in self._routes:
                raise ValueError(f"there are two {admission!r} at {path}: give one of them a name=")
            self._routes[path] = self._route(admission, role, partial(decide, admission), reads)

    def _understand(self, admission: Admission[Any], factory: InformerFactory | None) -> None:
        """Serves an admission for the other versions of its kind, too, except those that have an admission of their
        own.
        """
        for version in other_versions(admission):
            translation = Translation(admission, version)
            for role in _ROLES:
                path = admission.path(role, version)
                if admission.functions(role) and path not in self._routes:
                    reads = DeclaredReads(admission.read_kinds, factory)
                    self._routes[path] = self._route(admission, role, translation.decide, reads)

    def _route(self, admission: Admission[Any], role: Role, decides: _Decides, reads: DeclaredReads) -> _Route:
        at_once = not any(function.waits for function in admission.functions(role))
        return _Route(self._admitter(decides, role, reads), at_once=at_once, reads=reads)

    # -- one request ---------------------------------------------------------------------------------------------------

    async def handle_review(self, path: str, body: bytes, *, timeout: float | None = None) -> Reply:
        """Answers the review in ``body``. ``path`` may carry the API server's ``?timeout=10s``; ``timeout``, in
        seconds, overrides it.
        """
        started = self.start_review(path, body, timeout=timeout)
        return started if isinstance(started, Reply) else await started

    def start_review(
        self, path: str, body: bytes, *, timeout: float | None = None
    ) -> Reply | Coroutine[Any, Any, Reply]:
        """As `handle_review`, but returns the answer itself if no wait is needed, which saves a task and a timer."""
        place, _, query = path.partition("?")
        route = self._routes.get(place)
        if route is None:
            return failed(404, "NotFound", f"there is no webhook at {place[:200]}")
        now = asyncio.get_running_loop().time
        start = now()
        work = route.answer(body)
        if not route.at_once:
            return self._within(place, work, start, self._limit(query, timeout))
        try:
            work.send(None)
        except StopIteration as done:
            reply: Reply = done.value
        except KeyboardInterrupt:
            raise
        except BaseException as problem:  # noqa: BLE001 - logged, counted, and answered
            reply = self._defect(place, problem)
        else:  # it has let other tasks run first
            return self._within(place, _rest_of(work), start, self._limit(query, timeout))
        self.metrics.at(place).finished(reply.status, now() - start)
        return reply

    def _limit(self, query: str, timeout: float | None) -> float:
        return _timeout_of(query, self.timeout) if timeout is None else timeout

    async def _within(self, place: str, work: Awaitable[Reply], start: float, limit: float) -> Reply:
        counts = self.metrics.at(place)
        loop = asyncio.get_running_loop()
        counts.in_flight += 1
        code = 500
        try:
            deadline = asyncio.timeout_at(start + limit * _MARGIN)
            try:
                async with deadline:
                    reply = await work
            except TimeoutError:
                if not deadline.expired():
                    raise
                logger.warning("no answer in time", extra={"fields": {"webhook": place, "seconds": limit}})
                reply = failed(504, "Timeout", f"the webhook did not answer within {limit:g} s{self._unsynced(place)}")
            code = reply.status
            return reply
        except BaseException as problem:
            task = asyncio.current_task()
            if isinstance(problem, KeyboardInterrupt | GeneratorExit) or (task is not None and task.cancelling()):
                raise
            return self._defect(place, problem)
        finally:
            counts.in_flight -= 1
            counts.finished(code, loop.time() - start)

    def _defect(self, place: str, problem: BaseException) -> Reply:
        """The answer if a function raises an exception, which affects only the request in question.

        The message goes only to the log: the caller may be anyone, and the message may contain secrets.
        """
        self.metrics.panics += 1
        logger.error("an admission function failed", exc_info=problem, extra={"fields": {"webhook": place}})
        return failed(500, "InternalError", "the webhook failed; its log has the reason")

    def _admitter(
        self, decides: _Decides, role: Role, reads: DeclaredReads
    ) -> Callable[[bytes], Coroutine[Any, Any, Reply]]:
        async def admit(body: bytes) -> Reply:
            request = _request(_admission_reviews, body, "AdmissionReview", ADMISSION_V1)
            if isinstance(request, Reply):
                return request
            try:
                response = await decides(role, request, reads)
            except Misdirected as problem:
                status = Status(status="Failure", code=400, reason="BadRequest", message=str(problem))
                response = AdmissionResponse(uid=request.uid, allowed=False, status=status)
            return Reply(200, _JSON, _encode(AdmissionReviewAnswer(response=response)))

        return admit

    async def _convert(self, body: bytes) -> Reply:
        request: ConversionRequest | Reply = _request(_conversion_reviews, body, "ConversionReview", CONVERSION_V1)
        if isinstance(request, Reply):
            return request
        try:
            converted = await self.conversions.convert_all(request.objects, request.desired_api_version)
            return Reply(200, _JSON, _encode(review_of(request.uid, converted)))
        except ConversionFailed as problem:
            if problem.defect:
                self.metrics.conversion_panics += 1
                logger.error("a conversion failed: %s", problem, exc_info=problem.__cause__)
            return Reply(200, _JSON, _encode(failure(request.uid, str(problem))))

    def _unsynced(self, path: str) -> str:
        reads = self._routes[path].reads
        names = ", ".join(reads.unsynced()) if reads is not None else ""
        return f"; the cache of {names} has not synced" if names else ""


class DeclaredReads:
    """The caches that one admission declares; see `setpoint.webhook.review.Reads`."""

    def __init__(self, kinds: Iterable[type[Object]], factory: InformerFactory | None) -> None:
        self._informers: dict[type[Object], Informer[Any]] = (
            {} if factory is None else {kind: factory.informer(kind) for kind in kinds}
        )

    async def lister(self, kind: type[T]) -> Lister[T]:
        informer = self._informers.get(kind)
        if informer is None:
            raise UndeclaredRead(
                f"{kind.__name__} was not declared: add .reads({kind.__name__}) to the Admission, so that it gets a "
                "cache and a rule of RBAC"
            )
        if not informer.has_synced:
            await informer.wait_synced()
        return cast("Lister[T]", informer.lister)

    def unsynced(self) -> list[str]:
        return [str(informer.resource) for informer in self._informers.values() if not informer.has_synced]


def failed(code: int, reason: str, message: str) -> Reply:
    """An HTTP error whose body is a ``Status``. API servers show its message."""
    status = Status(status="Failure", code=code, reason=reason, message=message)
    return Reply(code, _JSON, _encode({"kind": "Status", "apiVersion": "v1", **to_wire(status)}))


@coroutine
def _rest_of(work: Coroutine[Any, Any, Reply]) -> Generator[Any, Any, Reply]:
    """Continues ``work``, which was started without a task."""
    reply: Reply = yield from work
    return reply


def _request(decoder: msgspec.json.Decoder[Any], body: bytes, kind: str, api_version: str) -> Any:
    """The request of the review in ``body``; if the body is not a review of this kind, the error to answer with."""
    try:
        if not body.isascii():
            body.decode()  # parsers skip values that they don't need, and would fail on them later
        envelope = review = decoder.decode(body)
        problem = ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        try:  # for another kind of review the error names the kind, not a missing field
            envelope = _envelopes.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return failed(400, "BadRequest", f"the body is not a valid {kind}: {problem}")
        review = None
    if envelope.kind != kind or envelope.api_version != api_version:
        actual = f"{envelope.kind[:100]!r} of {envelope.api_version[:100]!r}"
        hint = ""
        if envelope.kind == kind and envelope.api_version.startswith(f"{api_version.partition('/')[0]}/"):
            hint = f": {'admission' if kind == 'AdmissionReview' else 'conversion'}ReviewVersions must be [v1]"
        return failed(400, "BadRequest", f"the body is {actual}; this path takes only {kind} of {api_version}{hint}")
    if review is None:
        return failed(400, "BadRequest", f"the body is not a valid {kind} of {api_version}: {problem}")
    if review.request is None:
        return failed(400, "BadRequest", f"the {kind} has no request")
    request: AdmissionRequest | ConversionRequest = review.request
    if not request.uid:
        return failed(400, "BadRequest", f"the request of the {kind} has no uid")
    return request


@lru_cache(maxsize=64)
def _timeout_of(query: str, default: float) -> float:
    """The query's ``timeout=``, a duration in Go's notation, in seconds: at most ``default``, which is also the result
    if there is no valid timeout.
    """
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name == "timeout" and len(value) < 32 and value:
            durations = _DURATION.findall(value)
            if durations and "".join(number + unit for number, unit in durations) == value:
                return min(sum(float(number) * _UNITS[unit] for number, unit in durations), default) or default
    return default

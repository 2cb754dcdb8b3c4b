"""Events: the reports of a controller about an object, sent through ``events.k8s.io/v1``.

Reporting an event does not wait for the server, and the caller does not see the server's refusals. Each report goes
through three filters before it is sent:

* *series*: a repeated report does not make a new Event, but increases the count of the first one (KEP-383);
* *aggregation*: after ten reports in ten minutes that differ only in their text, further ones are combined into one
  Event;
* *spam*: one controller may make 25 reports about an object at once, and then one every 5 minutes; repeated reports
  count, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from setpoint.client import ApiError, Client, NotFound, PatchType, TransportError
from setpoint.controller.outcome import is_terminating
from setpoint.meta import MicroTime, Object, format_micro_time, resource_of
from setpoint.meta.names import dns1123_subdomain
from setpoint.meta.text_escaping import cut
from setpoint.models.core_v1 import ObjectReference
from setpoint.models.events_v1 import Event

CAPACITY: Final = 1000
"""The maximum number of reports that wait to be sent. Further reports are dropped and counted."""
SERIES_IDLE: Final = 360.0
"""Seconds without a report after which a series ends."""
SERIES_REFRESH: Final = 30.0
"""Seconds between two writes of a growing series."""
AGGREGATE_AFTER: Final = 10
AGGREGATE_WITHIN: Final = 600.0
BURST: Final = 25
REFILL: Final = 300.0
"""Seconds after which a controller that has used up its burst for an object may make one more report about it."""
MAX_OBJECTS: Final = 4096
TRIES: Final = 12
FLUSH_TIMEOUT: Final = 5.0
"""The limit for sending the last events, in seconds: a server that does not answer must not keep a process from ending.
"""
RETRY_PERIOD: Final = 10.0
MAX_NOTE: Final = 1024
"""The maximum length of a note in bytes, as for the other limits of texts."""
MAX_WORD: Final = 128
"""The maximum length of a reason, an action and the name of an instance."""
MAX_PREFIX: Final = 200
"""The maximum length of an object's name in the name of its event."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

logger = logging.getLogger("setpoint.events")


class _Report(NamedTuple):
    regarding: ObjectReference
    related: ObjectReference | None
    type: str
    reason: str
    note: str
    action: str
    by: str
    at: datetime


class _Series:
    """An Event that was sent. ``count`` is the number of its reports, including the first."""

    __slots__ = ("count", "event", "last", "last_at", "written_at")

    def __init__(self, event: Event, last: float, last_at: datetime) -> None:
        self.event = event
        self.count = 1
        self.last = last
        self.last_at = last_at
        self.written_at = last


class EventRecorder:
    """Takes reports with `event` and sends them while `run` runs. A process has one recorder.

    *Guarantees*: `event` returns at once; memory is bounded; an Event that cannot be sent is retried for about two
    minutes and then dropped, and an Event that the server refuses is dropped at once.

    *Caveats*: events are best effort. They are lost if the process ends before they are sent.
    """

    def __init__(
        self, client: Client, *, now: Callable[[], datetime], random: Random, instance: str = "setpoint"
    ) -> None:
        self.dropped = 0
        self.sent = 0
        self._client = client
        self._now = now
        self._random = random
        self._instance = cut(instance, MAX_WORD)
        self._queue: deque[_Report] = deque()
        self._wake = asyncio.Event()
        self._series: dict[tuple[str, ...], _Series] = {}
        """The series in the order of their last reports, so series that have ended come first."""
        self._unwritten: dict[tuple[str, ...], _Series] = {}
        """The series whose present count has not been written to the server."""
        self._named = 0
        """The time in the name of the last event, in nanoseconds since 1970."""
        self._similar: dict[tuple[str, ...], deque[tuple[float, str]]] = {}
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def event(
        self,
        obj: Object,
        type: str,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: Object | None = None,
        by: str = "setpoint",
    ) -> None:
        """Reports an event about ``obj``. ``type`` is ``Normal`` or ``Warning``; ``by`` is the reporting controller.
        Texts are cut to the lengths that API servers allow, in bytes: 1024 for ``note``, 128 for ``reason`` and
        ``action``.

        Raises:
            ValueError: ``type`` is neither of the two, or ``reason`` is empty or longer than 128 characters. These are
                mistakes in the program.
        """
        if type not in ("Normal", "Warning"):
            raise ValueError(f"an event's type is Normal or Warning, not {type!r}")
        if not reason or len(reason) > MAX_WORD:
            raise ValueError(
                f"an event's reason is one CamelCase word of at most {MAX_WORD} characters, not {reason!r}"
            )
        if len(self._queue) >= CAPACITY:
            self.dropped += 1
            return
        report = _Report(
            reference_to(obj),
            reference_to(related) if related is not None else None,
            type,
            cut(reason, MAX_WORD),
            cut(note, MAX_NOTE),
            cut(action or reason, MAX_WORD),
            by,
            self._now(),
        )
        if self._is_spam(report):
            self.dropped += 1
            return
        self._queue.append(report)
        self._wake.set()

    def about(self, uid: str) -> list[tuple[Event, int, datetime]]:
        """The events about the object that the recorder has sent and still remembers, each with the number of reports
        and the time of the last report; the newest comes last. An event is remembered for `SERIES_IDLE` seconds after
        its last report, unless there are more than `MAX_OBJECTS` events. The call needs the running loop.
        """
        now = asyncio.get_running_loop().time()
        events = [
            (series.event, series.count, series.last_at)
            for series in self._series.values()
            if series.event.regarding is not None
            and series.event.regarding.uid == uid
            and now - series.last <= SERIES_IDLE
        ]
        return sorted(events, key=lambda event: event[2])

    async def run(self) -> None:
        """Sends events until the call is cancelled. Refusals and lost connections raise no exception: events must not
        end a process.
        """
        while True:
            await self._send_waiting()
            try:
                async with asyncio.timeout(
                    SERIES_REFRESH if self._unwritten else SERIES_IDLE if self._buckets else None
                ):
                    await self._wake.wait()
            except TimeoutError:
                await self._write_series()

    async def flush(self) -> None:
        """Sends all waiting events and series, with one attempt each and within `FLUSH_TIMEOUT` seconds."""
        try:
            async with asyncio.timeout(FLUSH_TIMEOUT):
                await self._send_waiting(tries=1)
                await self._write_series(everything=True)
        except TimeoutError:
            self.dropped += len(self._queue)
            self._queue.clear()
            logger.warning("not all events could be sent before the end: the server does not answer")

    async def _send_waiting(self, *, tries: int = TRIES) -> None:
        self._wake.clear()
        while self._queue:
            await self._send(self._queue.popleft(), tries)
        self._expire()

    # -- filters -------------------------------------------------------------------------------------------------------

    def _is_spam(self, report: _Report) -> bool:
        key = (report.by, report.regarding.uid or report.regarding.name or "")
        now = asyncio.get_running_loop().time()
        tokens, since = self._buckets.pop(key, (float(BURST), now))
        tokens = min(tokens + (now - since) / REFILL, float(BURST))
        spam = tokens < 1.0
        self._buckets[key] = (tokens if spam else tokens - 1.0, now)
        if len(self._buckets) > MAX_OBJECTS:
            del self._buckets[next(iter(self._buckets))]
        return spam

    def _combined(self, report: _Report) -> _Report:
        """The report, or the combined report that stands for it and for many similar ones."""
        key = _identity(report)
        now = asyncio.get_running_loop().time()
        times = self._similar.pop(key, None) or deque(maxlen=AGGREGATE_AFTER)
        self._similar[key] = times
        if len(self._similar) > MAX_OBJECTS:
            del self._similar[next(iter(self._similar))]
        while times and now - times[0][0] > AGGREGATE_WITHIN:
            times.popleft()
        notes = {note for _, note in times}
        if len(notes) >= AGGREGATE_AFTER and report.note not in notes:
            return report._replace(note=cut(f"(combined from similar events): {report.note}", MAX_NOTE))
        if report.note not in notes:
            times.append((now, report.note))
        return report

    # -- sending -------------------------------------------------------------------------------------------------------

    async def _send(self, report: _Report, tries: int) -> None:
        combined = self._combined(report)
        note = "" if combined is not report else report.note
        key = (*_identity(report), note)
        now = asyncio.get_running_loop().time()
        series = self._series.get(key)
        if series is not None and now - series.last <= SERIES_IDLE:
            del self._series[key]
            self._series[key] = series
            series.count += 1
            series.last, series.last_at = now, report.at
            self._unwritten[key] = series
            if series.count == 2 or now - series.written_at >= SERIES_REFRESH:
                await self._write_one(key, series)
            return
        event = self._event(combined)
        try:
            is_created = await self._create(event, tries)
        except asyncio.CancelledError:
            self._queue.appendleft(report)  # for `flush`; it may be said twice, which is better than never
            raise
        if is_created:
            self._forget(key)
            self._series[key] = _Series(event, now, report.at)
            if len(self._series) > MAX_OBJECTS:
                self._forget(next(iter(self._series)))

    async def _create(self, event: Event, tries: int) -> bool:
        last: Exception | None = None
        level = logging.WARNING
        for attempt in range(tries):
            try:
                await self._client.create(event)
            except TransportError as problem:
                last = problem
            except ApiError as problem:
                last = problem
                if _is_final(problem):
                    level = logging.DEBUG if is_terminating(problem) or _has_no_namespace(problem) else level
                    break
            else:
                self.sent += 1
                return True
            if attempt + 1 < tries:
                await asyncio.sleep(RETRY_PERIOD * (self._random.random() if attempt == 0 else 1.0))
        self.dropped += 1
        logger.log(level, "event dropped", extra={"fields": {"event": event.reason, "error": str(last)}})
        return False

    async def _write_series(self, *, everything: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        for key, series in list(self._unwritten.items()):
            if everything or now - series.written_at >= SERIES_REFRESH:
                await self._write_one(key, series)
        self._expire()

    async def _write_one(self, key: tuple[str, ...], series: _Series) -> None:
        series.written_at = asyncio.get_running_loop().time()
        patch = {
            "series": {"count": series.count, "lastObservedTime": format_micro_time(series.last_at)},
        }
        event = series.event
        try:
            await self._client.patch(Event, event.name, patch, type=PatchType.MERGE, namespace=event.namespace or None)
        except NotFound:
            event.metadata.resource_version = ""
            await self._create(event, 1)  # it was too old for the server, or was deleted
        except (ApiError, TransportError) as problem:
            fields = {"event": event.reason, "error": str(problem)}
            if not _is_final(problem) and series.written_at - series.last <= SERIES_IDLE:
                logger.debug(
                    "the count of a repeated event could not be written; it is tried again", extra={"fields": fields}
                )
                return  # the next attempt is in `SERIES_REFRESH` seconds
            self.dropped += 1
            level = logging.DEBUG if isinstance(problem, ApiError) and is_terminating(problem) else logging.WARNING
            logger.log(
                level,
                "the count of a repeated event could not be written; it is tried again at the next report",
                extra={"fields": fields},
            )
        del self._unwritten[key]  # no sooner: a write that is cancelled is left to `flush`

    def _expire(self) -> None:
        """Forgets series that have ended, and texts and budgets that no longer limit anything. This runs for each
        report, and there may be thousands of each, so it looks no further than the first that has not ended.
        """
        now = asyncio.get_running_loop().time()
        over = []
        for key, series in self._series.items():
            if now - series.last <= SERIES_IDLE:
                break
            if key not in self._unwritten:
                over.append(key)
        for key in over:
            self._forget(key)
        while self._similar:
            texts = next(iter(self._similar.values()))
            if texts and now - texts[-1][0] <= AGGREGATE_WITHIN:
                break
            del self._similar[next(iter(self._similar))]
        while self._buckets:
            tokens, since = next(iter(self._buckets.values()))
            if tokens + (now - since) / REFILL < BURST:
                break
            del self._buckets[next(iter(self._buckets))]

    def _forget(self, key: tuple[str, ...]) -> None:
        self._series.pop(key, None)
        self._unwritten.pop(key, None)

    def _event(self, report: _Report) -> Event:
        regarding = report.regarding
        # Programs such as `kubectl describe` show events in the order of their names: it is the order of the reports.
        self._named = max((report.at - _EPOCH) // timedelta(microseconds=1) * 1000, self._named + 1)
        prefix = (regarding.name or "")[:MAX_PREFIX].rstrip("-.")
        if dns1123_subdomain(prefix):
            prefix = "event"  # kinds such as Role allow other names than Event does
        return Event.named(
            f"{prefix}.{self._named:016x}{self._random.getrandbits(64):016x}",
            regarding.namespace or "default",
            event_time=MicroTime.of(report.at),
            reporting_controller=report.by,
            reporting_instance=self._instance,
            action=report.action,
            reason=report.reason,
            regarding=regarding,
            related=report.related,
            note=report.note,
            type=report.type,
        )


def _is_final(problem: ApiError | TransportError) -> bool:
    """Whether the server would refuse the same request again."""
    return isinstance(problem, ApiError) and problem.code < 500 and problem.code != 429


def _has_no_namespace(problem: ApiError) -> bool:
    details = problem.status.details
    return isinstance(problem, NotFound) and details is not None and details.kind == "namespaces"


def _identity(report: _Report) -> tuple[str, ...]:
    """All fields of the report except its text and time."""
    regarding = report.regarding
    related = report.related.uid or report.related.name or "" if report.related is not None else ""
    return (
        report.by, report.type, report.reason, report.action, regarding.kind or "", regarding.namespace or "",
        regarding.name or "", regarding.uid or "", related,
    )  # fmt: skip


def reference_to(obj: Object) -> ObjectReference:
    """A reference to ``obj`` that includes its version; a field whose value is unknown is left out."""
    resource = resource_of(type(obj))
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=obj.name,
        namespace=obj.namespace or None,
        uid=obj.uid or None,
        resource_version=obj.metadata.resource_version or None,
    )

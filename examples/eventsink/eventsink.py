"""eventsink.py: forwards the Events of all namespaces to an HTTP collector, in batches, in their order.

An EventSink names a collector. Its status has the resourceVersion up to which all Events are delivered, so the work
left is the difference between the cache and the status: there is no buffer that could overflow or be lost.

python examples/eventsink/eventsink.py run --embedded
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import aiohttp
import msgspec
from posting import Answer, Collector, NotServed

import setpoint as sp
from setpoint.models.events_v1 import Event

FIRST_WAIT = 1.0
"""Seconds after the first failure; each further one doubles them, up to 64."""
MOST_PATIENCE = 300.0
"""Seconds that a collector may ask to wait, at most: Events live for an hour."""
TOO_LARGE = 413
GATHER = sp.ValidationRule(
    rule="duration(self) >= duration('0s') && duration(self) <= duration('5m')", message="must be 0s to 5m"
)


class EventSinkSpec(sp.Model):
    url: Annotated[str, sp.Field(pattern=r"^(https?://[^/\s]+(/\S*)?|rediss?://[^/\s]+/[^/\s]+)$", max_length=2048)]
    """The collector's URL, to which batches are posted, or the one of a stream in a Redis, to which they are added."""
    batch: Annotated[int, sp.Field(ge=1, le=1000)] = 200
    """The number of Events that a request has at most."""
    gather: Annotated[sp.Duration, sp.Field(rules=[GATHER])] = sp.Duration(seconds=1)
    """The time from one request to the next while the collector keeps up."""


class EventSinkStatus(sp.ConditionedStatus):
    delivered: Annotated[str, sp.Field(max_length=20)] = ""
    """The resourceVersion up to which the collector has taken all Events."""
    forwarded: int = 0
    too_large: int = 0
    """The number of Events left out because the collector refused each of them alone as too large."""
    limit: int = 0
    """The number of Events that a request may have since the collector refused a larger one; 0 for no such limit."""
    failures: int = 0
    next_attempt: datetime | None = None


class EventSink(
    sp.CustomResource,
    group="events.example.com",
    version="v1",
    scope="Cluster",
    columns=(
        sp.Column("Forwarded", ".status.forwarded"),
        sp.Column("Delivering", ".status.conditions[?(@.type=='Delivering')].status"),
        sp.Column("Reason", ".status.conditions[?(@.type=='Delivering')].reason"),
    ),
):
    """A collector to which all Events of the cluster are forwarded."""

    spec: EventSinkSpec
    status: EventSinkStatus = EventSinkStatus()


def version(head: sp.Head) -> int:
    """The resourceVersion as a number. Those of one resource can be compared (KEP-5504)."""
    return int(head.resource_version)


def pending(ctx: sp.Context, delivered: str) -> list[sp.Head]:
    """The heads of the Events that are not delivered, oldest first."""
    last = int(delivered or 0)
    return sorted((head for head in ctx.lister(Event).heads() if version(head) > last), key=version)


def cloud_event(head: sp.Head, event: dict[str, Any]) -> dict[str, Any]:
    """An Event as CloudEvents 1.0. This state of the Event has the same ``id`` whenever it is sent."""
    series: dict[str, Any] = event.get("series") or {}
    last_seen = series.get("lastObservedTime") or event.get("eventTime")
    return {
        "specversion": "1.0",
        "id": f"{head.uid}/{head.resource_version}",
        "source": f"/apis/events.k8s.io/v1/namespaces/{head.namespace}/events/{head.name}",
        "type": "io.k8s.events.v1.Event",
        "time": last_seen or event.get("deprecatedLastTimestamp") or event["metadata"]["creationTimestamp"],
        "datacontenttype": "application/json",
        "data": event,
    }


async def post(sink: EventSink, batch: list[sp.Head], ctx: sp.Context) -> Answer:
    """The collector's answer to a batch; code 0 if there was none. Failures go to the condition, and not into Events,
    which would be forwarded themselves."""
    events = [(head, ctx.lister(Event).get(head.key, as_=dict[str, Any])) for head in batch]
    body = msgspec.json.encode([cloud_event(head, event) for head, event in events])
    try:
        answer = await ctx.state(Collector).post(sink.spec.url, body)
    except NotServed as problem:
        ctx.set_condition("Delivering", False, "NotServed", str(problem))
        return Answer(0)
    except OSError as problem:
        ctx.set_condition("Delivering", False, "NoAnswer", f"the collector does not answer: {problem}")
        return Answer(0)
    if 200 <= answer.code < 300:
        ctx.set_condition("Delivering", True, "Taken", "the collector takes what there is")
    elif answer.code == TOO_LARGE:
        ctx.set_condition("Delivering", False, "TooLarge", f"the collector refuses {len(batch)} Events as too large")
    else:
        reason = "Busy" if answer.code in (429, 503) else "Refused"
        detail = f": {answer.words}" if answer.words else f" with the status {answer.code}"
        ctx.set_condition("Delivering", False, reason, f"the collector answers{detail}")
    return answer


async def reconcile(sink: EventSink, ctx: sp.Context) -> sp.Outcome:
    status, gather = sink.status, sink.spec.gather.total_seconds()
    if status.next_attempt is not None:
        delay = (status.next_attempt - ctx.now()).total_seconds()
        if 0 < delay <= max(MOST_PATIENCE, gather):  # a time beyond that is of a clock that was wrong
            return sp.after(delay, "the collector is given time")
    if not pending(ctx, status.delivered):
        return sp.done()
    await ctx.ensure_current()  # a status that the cache does not show yet says what is delivered
    waiting = pending(ctx, status.delivered)  # again: what was read before may have changed since
    batch = waiting[: status.limit or sink.spec.batch]
    answer = await post(sink, batch, ctx)
    wait = 0.0
    if 200 <= answer.code < 300:
        status.delivered, status.failures = batch[-1].resource_version, 0
        status.forwarded += len(batch)
        status.limit = 2 * status.limit if 2 * status.limit < sink.spec.batch else 0
        wait = gather if len(batch) == len(waiting) else 0.0
    elif answer.code == TOO_LARGE and len(batch) > 1:
        status.limit = len(batch) // 2
    elif answer.code == TOO_LARGE:
        ctx.log.warning("the collector refuses an Event as too large", event=batch[0].key)
        status.delivered = batch[0].resource_version
        status.too_large += 1
    else:
        wait = min(max(answer.retry_after, FIRST_WAIT * 2 ** min(status.failures, 6)), MOST_PATIENCE)
        status.failures += 1
    status.next_attempt = ctx.now() + timedelta(seconds=wait) if wait else None
    return sp.after(wait, "for more Events" if answer.code else "for another attempt")


def all_sinks(_changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return caches.lister(EventSink).keys()


controller = sp.Controller(EventSink, reconcile, timeout=60).watches(Event, all_sinks)


@dataclass
class Options:
    """The program's own flags of ``run``."""

    token_file: str = ""
    """The file of the bearer token, or the password, that collectors ask for."""
    streams: bool = False
    """Whether sinks may be streams of a Redis. Needs the package ``redis``."""


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncGenerator[Collector]:
    async with aiohttp.ClientSession() as session:
        if not program.options.streams:
            yield Collector(session, program.options.token_file)
            return
        from streams import Streams

        async with Streams(session, program.options.token_file) as collector:
            yield collector


if __name__ == "__main__":
    sp.main(controller, name="events.example.com", options=Options, lifespan=lifespan)

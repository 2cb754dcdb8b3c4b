"""Metrics of informers. They are collected at each scrape and cost nothing per event.

A metric that client-go also has is named as in client-go: ``reflector_*`` as in its reflector metrics, and
``informer_*`` as in Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from setpoint.cache.object_record import version_number

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from setpoint.cache.shared_informer import SharedInformer


class _Factory(Protocol):
    @property
    def informers(self) -> list[SharedInformer]: ...


_LABELS = ("name", "group", "version", "resource")


class InformerMetrics:
    """A Prometheus collector for the informers of one or more factories.

        metrics = InformerMetrics()
        registry.register(metrics)
        async with InformerFactory(client, metrics=metrics) as factory: ...

    ``name`` distinguishes this program's informers from those of other programs in the same registry.
    """

    def __init__(self, name: str = "setpoint") -> None:
        self._name = name
        self._factories: dict[_Factory, str] = {}

    def follow(self, factory: _Factory, *, name: str = "") -> None:
        """Adds the informers of ``factory``. ``name`` distinguishes them from those of other factories, which may have
        informers for the same resource.
        """
        self._factories[factory] = name or self._name

    def unfollow(self, factory: _Factory) -> None:
        """Removes the informers of this factory."""
        self._factories.pop(factory, None)

    def describe(self) -> Iterable[Metric]:
        """Returns no metrics, so that a registry can register this collector without collecting from it."""
        return ()

    def collect(self) -> Iterable[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily

        gauges = {
            name: GaugeMetricFamily(name, text, labels=_LABELS)
            for name, text in (
                ("informer_queued_items", "Objects that wait for the slowest handler."),
                ("informer_store_resource_version", "The resource version that the store has reached."),
                ("informer_objects", "Objects in the store."),
                ("informer_stored_bytes", "Bytes that the objects take in the store, compressed."),
                ("informer_raw_bytes", "Bytes of the objects' JSON, without managed fields."),
                ("informer_synced", "1 when the first list is complete, else 0."),
                ("informer_sync_duration_seconds", "How long the first list took, from the informer's start."),
                ("reflector_last_resource_version", "The last resource version seen."),
                ("reflector_last_byte_age_seconds", "Seconds since the server last sent anything on the watch."),
            )
        }
        counters = {
            name: CounterMetricFamily(name, text, labels=_LABELS)
            for name, text in (
                ("reflector_lists", "Lists, streamed ones not included."),
                ("reflector_streamed_lists", "Lists that came as a watch's initial events."),
                ("reflector_watches", "Watches."),
                ("reflector_short_watches", "Watches that ended within a second, without a change."),
                ("reflector_bookmarks", "Bookmarks."),
                ("reflector_received_bytes", "Bytes received on watches."),
                ("informer_skipped_objects", "Objects whose metadata could not be read; they were skipped."),
                ("informer_unreadable_objects", "Received objects that can't be decoded; they are kept unchanged."),
            )
        }
        events = CounterMetricFamily("informer_events", "Changes by type.", labels=(*_LABELS, "type"))
        ends = CounterMetricFamily("reflector_watch_ends", "Ends of watches, by reason.", labels=(*_LABELS, "reason"))
        relists = CounterMetricFamily("reflector_relists", "Lists made again, by reason.", labels=(*_LABELS, "reason"))
        failures = CounterMetricFamily(
            "informer_handler_failures", "Exceptions of handlers.", labels=(*_LABELS, "handler")
        )
        list_seconds = SummaryMetricFamily("reflector_list_duration_seconds", "Time of lists.", labels=_LABELS)
        items = SummaryMetricFamily("reflector_items_per_list", "Objects in lists.", labels=_LABELS)
        watch_seconds = SummaryMetricFamily("reflector_watch_duration_seconds", "Time of watches.", labels=_LABELS)
        watch_items = SummaryMetricFamily("reflector_items_per_watch", "Changes in watches.", labels=_LABELS)

        for factory_name, shared in self._informers():
            resource, store, reflector = shared.scope.resource, shared.store, shared.reflector
            done = reflector.counters
            labels = [factory_name, resource.group, resource.version, resource.plural]
            queued = max((registration.queued for registration in shared.registrations), default=0)
            gauges["informer_queued_items"].add_metric(labels, queued)
            for name, version in (
                ("informer_store_resource_version", store.last_sync_resource_version),
                ("reflector_last_resource_version", reflector.last_resource_version),
            ):
                gauges[name].add_metric(labels, version_number(version))
            gauges["informer_objects"].add_metric(labels, len(store))
            gauges["informer_stored_bytes"].add_metric(labels, store.stored_bytes)
            gauges["informer_raw_bytes"].add_metric(labels, store.raw_bytes)
            gauges["informer_synced"].add_metric(labels, shared.has_synced)
            if shared.sync_seconds is not None:
                gauges["informer_sync_duration_seconds"].add_metric(labels, shared.sync_seconds)
            if done.last_byte_at is not None and (age := _age(done.last_byte_at)) is not None:
                gauges["reflector_last_byte_age_seconds"].add_metric(labels, age)
            for name, value in (
                ("reflector_lists", done.lists),
                ("reflector_streamed_lists", done.streamed_lists),
                ("reflector_watches", done.watches),
                ("reflector_short_watches", done.short_watches),
                ("reflector_bookmarks", done.bookmarks),
                ("reflector_received_bytes", done.bytes),
                ("informer_skipped_objects", shared.skipped),
                ("informer_unreadable_objects", shared.unreadable),
            ):
                counters[name].add_metric(labels, value)
            for type, count in shared.events.items():
                events.add_metric([*labels, type], count)
            for reason, count in done.ends.items():
                ends.add_metric([*labels, reason], count)
            for reason, count in done.relists.items():
                relists.add_metric([*labels, reason], count)
            for registration in shared.registrations:
                failures.add_metric([*labels, registration.name], registration.failures)
            all_lists = done.lists + done.streamed_lists
            list_seconds.add_metric(labels, count_value=all_lists, sum_value=done.list_seconds)
            items.add_metric(labels, count_value=all_lists, sum_value=done.listed_items)
            watch_seconds.add_metric(labels, count_value=done.watches, sum_value=done.watch_seconds)
            watch_items.add_metric(labels, count_value=done.watches, sum_value=done.watched_events)
        yield from gauges.values()
        yield from counters.values()
        yield from (events, ends, relists, failures, list_seconds, items, watch_seconds, watch_items)

    def _informers(self) -> Iterator[tuple[str, SharedInformer]]:
        for factory, name in self._factories.items():
            for shared in factory.informers:
                yield name, shared


def _age(moment: float) -> float | None:
    """Seconds since ``moment``, a time on the running loop's clock; None if no loop runs (a scrape from another
    thread).
    """
    try:
        return asyncio.get_running_loop().time() - moment
    except RuntimeError:
        return None

"""An event whose key another process has costs little: nothing is decoded for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from setpoint.cache import Head, HeadUpdate, ObjectParser, Store
from setpoint.controller import predicates
from setpoint.controller.controls import Controls
from setpoint.controller.declaration import WatchedKind
from setpoint.controller.run.delivery import subscribe
from setpoint.meta import ObjectKey, resource_of
from setpoint.models.core_v1 import ConfigMap


class Counting(Store):
    """Counts how often an old state is decoded."""

    decoded = 0

    def head_of(self, record: bytes) -> Head:
        self.decoded += 1
        return super().head_of(record)


async def delivered(own: bool) -> tuple[list[ObjectKey], int]:
    """The keys that an update leads to in a process that has the key, or not; and how many states were decoded."""
    store = Counting(ObjectParser(resource_of(ConfigMap)))
    item = store.parser.read(b'{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"},"data":{}}')
    store.put("n/a", item)
    old = store.record("n/a")
    item = store.parser.read(b'{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"2"},"data":{}}')
    store.put("n/a", item)
    handlers: dict[str, Any] = {}
    informer = SimpleNamespace(store=store, add_event_handler=lambda **given: handlers.update(given))
    queued: list[ObjectKey] = []
    subscribe(
        WatchedKind(ConfigMap, "for", predicates=(predicates.resource_version_changed,)),
        cast(
            "Any",
            SimpleNamespace(
                informers={resource_of(ConfigMap).gvr: informer},
                caches=None,
                name="c",
                resource=resource_of(ConfigMap),
                controls=Controls(pause=""),
            ),
        ),
        cast("Any", SimpleNamespace(echoes={}, suspects=None)),
        cast("Any", SimpleNamespace(causes=SimpleNamespace(add=lambda *_: None), metrics=None, events=None)),
        cast("Any", SimpleNamespace(add=lambda key, **_: queued.append(key))),
        cast("Any", None),
        cast("Any", None),
        lambda _key: own,
    )
    handlers["on_change"](HeadUpdate(store, old, store.record("n/a"), new_head=item.head))
    return queued, store.decoded


async def test_an_event_of_another_processs_key_is_dropped_before_its_old_state_is_decoded() -> None:
    assert await delivered(own=False) == ([], 0)
    assert await delivered(own=True) == ([ObjectKey("n/a")], 1)

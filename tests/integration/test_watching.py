"""Watches and informers against a whole API server: what caches are built on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from setpoint.cache import InformerFactory, WatchOptions
from setpoint.client import ApiError, Client, metadata_only
from setpoint.meta import ObjectMeta, Status
from setpoint.models.core_v1 import ConfigMap

from .kinds import gizmos_in, installed, until


def config_map(name: str, namespace: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "pages"])
async def test_an_informer_shows_what_is_there_and_what_happens(
    client: Client, namespace: str, streaming: bool
) -> None:
    """With ``streaming`` it asks for the first list as a watch, and falls back where the server knows none (1.26)."""
    for number in range(7):
        await client.create(config_map(f"c{number}", namespace))
    async with InformerFactory(
        client, namespace=namespace, watch_options=WatchOptions(streaming_lists=streaming, page_size=3)
    ) as factory:
        informer = factory.informer(ConfigMap)
        seen: list[tuple[str, str]] = []
        informer.add_event_handler(
            on_add=lambda head, initial: seen.append(("add", head.name)) if not initial else None,
            on_update=lambda old, new: seen.append(("update", new.name)),
            on_delete=lambda head, unknown: seen.append(("delete", head.name)),
        )
        await factory.wait_for_cache_sync()
        names = {item.name for item in informer.lister.list()}
        assert names >= {f"c{number}" for number in range(7)}
        new_config_map = await client.create(config_map("new", namespace, k="v"))
        new_config_map.data["k"] = "w"
        changed = await client.update(new_config_map)
        key = f"{namespace}/new"
        assert await informer.observed(key, changed.metadata.resource_version)
        assert informer.lister.get(key).data == {"k": "w"}
        await client.delete(changed)
        assert await informer.observed(key, uid=changed.uid, deleted=True)
        assert informer.lister.try_get(key) is None
    assert [change for change in seen if change[1] == "new"] == [("add", "new"), ("update", "new"), ("delete", "new")]


async def test_an_informer_of_heads_and_one_of_a_custom_resource(client: Client, namespace: str) -> None:
    gizmo = gizmos_in(f"{namespace}.example.com")
    async with installed(client, gizmo), InformerFactory(client, namespace=namespace) as factory:
        whole, heads = factory.informer(gizmo), factory.informer(metadata_only(gizmo))
        await factory.wait_for_cache_sync()
        new_gizmo = await client.create(gizmo.named("g", namespace))
        for informer in (whole, heads):
            assert await informer.observed(f"{namespace}/g", new_gizmo.metadata.resource_version)
        assert whole.lister.get(f"{namespace}/g").spec.size == 1


async def test_a_watch_ends_with_a_bookmark(client: Client, namespace: str, transport: str) -> None:
    """A server sends one about two seconds before the watch ends; a kube-apiserver may leave it out (KEP-956): 1.37.2
    did so in half of the watches of 5 to 20 seconds on a busy machine, 1.31 and 1.33 in all of them.
    """
    start = (await client.list(ConfigMap, namespace=namespace)).metadata.resource_version
    await client.create(config_map("a", namespace))
    marks: list[int] = []
    for seconds in (5, 10, 20):
        seen = await _seen(client, namespace, start, seconds)
        assert "ADDED" in [kind for kind, _ in seen]
        marks = [int(version) for kind, version in seen if kind == "BOOKMARK"]
        if marks:
            break
    if not marks and transport == "cluster":
        pytest.skip("bookmarks are a best effort, and this server made none in three watches")
    assert marks
    assert marks[-1] >= int(start)


async def _seen(client: Client, namespace: str, start: str, seconds: int) -> list[tuple[str, str]]:
    async with (
        asyncio.timeout(seconds + 30),
        client.watch(ConfigMap, namespace=namespace, resource_version=start, timeout_seconds=seconds) as events,
    ):
        return [(event.type, _version(event.object)) async for event in events]


def _version(obj: ConfigMap | Status) -> str:
    return obj.metadata.resource_version if obj.metadata is not None else ""


async def test_the_initial_events_end_with_a_bookmark_that_says_so(
    client: Client, namespace: str, version: tuple[int, int]
) -> None:
    if version < (1, 32) or version == (1, 33):
        pytest.skip(f"servers of {version[0]}.{version[1]} do not stream lists unless WatchList is enabled")
    await client.create(config_map("a", namespace))
    seen = []
    async with asyncio.timeout(60):
        async with client.watch(ConfigMap, namespace=namespace, send_initial_events=True) as events:
            async for event in events:
                assert isinstance(event.object, ConfigMap)
                seen.append((event.type, event.object.name))
                if event.type == "BOOKMARK":
                    assert (event.object.metadata.annotations or {})["k8s.io/initial-events-end"] == "true"
                    break
    assert ("ADDED", "a") in seen


async def test_a_server_without_streaming_lists_refuses_in_words_that_a_fallback_can_be_made_of(
    client: Client, namespace: str, version: tuple[int, int]
) -> None:
    if version >= (1, 27):
        pytest.skip("this server knows sendInitialEvents")
    with pytest.raises(ApiError):
        await _drained(client, namespace, send_initial_events=True)


async def test_a_watch_from_long_ago_is_told_that_it_is_too_late(
    client: Client, namespace: str, embedded: bool
) -> None:
    problem = await _problem(client, namespace)
    if problem is None and not embedded:
        pytest.skip("this server still has every change since it was made")
    assert problem is not None
    assert problem.code == 410


async def _problem(client: Client, namespace: str) -> ApiError | None:
    try:
        await _drained(client, namespace, resource_version="2", timeout_seconds=2)
    except ApiError as problem:
        return problem
    return None


async def _drained(client: Client, namespace: str, **options: Any) -> None:
    async with asyncio.timeout(60), client.watch(ConfigMap, namespace=namespace, **options) as events:
        async for _ in events:
            pass


async def test_pages_go_on_when_what_they_show_changes(client: Client, namespace: str) -> None:
    for number in range(6):
        await client.create(config_map(f"c{number}", namespace))
    names = []
    async for page in client.pages(ConfigMap, namespace=namespace, limit=2, field_selector=""):
        names.append(page.name)
        if page.name == "c1":
            await client.create(config_map("c11", namespace))
            await client.delete(ConfigMap, "c4", namespace=namespace)
    assert [name for name in names if name.startswith("c")][:4] == ["c0", "c1", "c2", "c3"]
    assert len(names) == len(set(names))
    assert await until(lambda: _has(client, namespace, "c11"))


async def _has(client: Client, namespace: str, name: str) -> bool:
    return name in [config_map.name for config_map in await client.list(ConfigMap, namespace=namespace)]

"""A request that fails has changed nothing, and what is stored, however bad, never keeps the rest from being served."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, MAPS, MYKINDS, Api, config_map, crd, mykind, serving

from setpoint.apiserver import SqliteStorage, StorageError
from setpoint.apiserver.admission import configurations
from setpoint.apiserver.custom_resources import definitions
from setpoint.apiserver.resources.strategy import Strategy
from setpoint.apiserver.responses import representation
from setpoint.testing import virtual_time

CRD = f"{CRDS}/mykinds.grp.example.com"
VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def hook(name: str = "hook") -> dict[str, Any]:
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://localhost/x"},
        "rules": [{"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "webhooks": [webhook],
    }  # fmt: skip


def other_crd() -> dict[str, Any]:
    new_crd = crd(names={"plural": "others", "kind": "Other"})
    new_crd["metadata"]["name"] = "others.grp.example.com"
    return new_crd


def fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError("an unexpected error")


@virtual_time
async def test_a_status_that_lacks_what_the_server_reads_does_not_brick_the_directory(tmp_path: Path) -> None:
    async with serving(SqliteStorage(tmp_path)) as api:
        (await api.post(CRDS, crd())).ok()
        stored = (await api.get(CRD)).ok()
        for status in ({"conditions": [{}]}, {"conditions": None}, {}, {"acceptedNames": {}, "conditions": [{}]}):
            answer = await api.put(f"{CRD}/status", {**stored, "status": status})
            assert answer.status < 500, answer.body
            stored = (await api.get(CRD)).ok()
        (await api.post(MYKINDS, mykind())).ok()
    async with serving(SqliteStorage(tmp_path)) as api:
        assert not api.server.damage
        (await api.get(f"{MYKINDS}/one")).ok()
        (await api.post(MAPS, config_map())).ok()


Write = Callable[[Api], Any]
WRITES: dict[str, Write] = {
    "create": lambda api: api.post(MAPS, config_map("new")),
    "update": lambda api: api.put(f"{MAPS}/there", config_map("there", data={"a": "2"})),
    "patch": lambda api: api.patch(f"{MAPS}/there", {"data": {"a": "2"}}),
    "apply": lambda api: api.apply(f"{MAPS}/there", config_map("there", data={"b": "2"})),
    "apply of a new one": lambda api: api.apply(f"{MAPS}/new", config_map("new", data={"b": "2"})),
    "delete": lambda api: api.delete(f"{MAPS}/there"),
    "delete of many": lambda api: api.delete(MAPS),
    "create of a definition": lambda api: api.post(CRDS, other_crd()),
    "delete of a definition": lambda api: api.delete(CRD),
    "status of a definition": lambda api: api.patch(f"{CRD}/status", {"status": {"conditions": [{"type": "x"}]}}),
    "a custom object": lambda api: api.post(MYKINDS, mykind("two")),
    "a configuration": lambda api: api.post(HOOKS, hook()),
}


@pytest.fixture
async def furnished() -> Any:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        (await api.post(MAPS, config_map("there", data={"a": "1"}))).ok()
        yield api


def everything(api: Api) -> Any:
    storage = api.server.storage
    names = ("configmaps", "mykinds.grp.example.com", definitions.COLLECTION, VALIDATING)
    stored = {name: [(r.name, r.revision, r.value) for r in storage.scan(name)] for name in names}
    served = sorted(str(item.resource.gvr) for item in api.server.registry)
    terminating = [str(item) for item in api.server.registry if item.terminating]
    return storage.revision, stored, served, terminating, api.server.hooks.active


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_whose_storing_fails_has_changed_nothing(
    furnished: Api, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = everything(furnished)

    def full(*_: Any) -> None:
        raise StorageError("/data: can't write: database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(furnished.server.storage, "_write", full)
        async with furnished.watch(MAPS, resourceVersion=str(furnished.revision), timeoutSeconds="1") as events:
            (await WRITES[name](furnished)).failed(500, "InternalError", "database or disk is full")
            assert everything(furnished) == before
            furnished.server.end_watches()
            assert await events.rest() == []
    assert "Traceback" not in caplog.text
    assert (await WRITES[name](furnished)).status in (200, 201)
    assert everything(furnished) != before


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("where", ["after the write", "in the answer"])
async def test_a_write_that_fails_after_it_was_stored_has_changed_nothing(
    furnished: Api, name: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either the work after the write fails, or that on the bytes of the answer."""
    before = everything(furnished)
    with monkeypatch.context() as patched:
        if where == "in the answer":
            patched.setattr(representation.Representation, "single", fails)
            patched.setattr(representation.Representation, "document", fails)
            patched.setattr("setpoint.apiserver.verbs.delete.respond", fails)
        else:
            patched.setattr(Strategy, "after_create", fails)
            patched.setattr(Strategy, "after_update", fails)
            patched.setattr(Strategy, "after_delete", fails)
            patched.setattr(definitions, "served_versions", fails)
            patched.setattr(definitions.CustomResources, "_finish", fails)
            patched.setattr(configurations, "Webhook", fails)
        answer = await WRITES[name](furnished)
        if (where, name) != ("after the write", "status of a definition"):  # from which nothing follows
            answer.failed(500, "InternalError", "an unexpected error")
            assert everything(furnished) == before
    assert (await WRITES[name](furnished)).status in (200, 201)


@virtual_time
async def test_watches_see_a_request_whole_and_only_once_it_is_stored() -> None:
    async with serving() as api:
        seen: list[int] = []
        since = api.revision
        storage = api.server.storage
        reader = storage.subscribe(
            definitions.COLLECTION, since, lambda: seen.append(len(storage.scan(definitions.COLLECTION)))
        )
        (await api.post(CRDS, crd())).ok()
        assert seen == [1]
        changes = reader.read()
        assert [change.type for change in changes] == ["ADDED", "MODIFIED", "MODIFIED"]
        assert [change.revision for change in changes] == [since + 1, since + 2, since + 3]


async def test_a_server_starts_whatever_is_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(SqliteStorage(tmp_path)) as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        (await api.post(CRDS, other_crd())).ok()
        (await api.post(HOOKS, hook("good"))).ok()
        (await api.post(HOOKS, hook("bad"))).ok()
        storage = api.server.storage
        for collection, name, harm in (
            (definitions.COLLECTION, "others.grp.example.com", {"spec": {}}),
            (VALIDATING, "bad", {"webhooks": [{"name": 5}]}),
        ):
            record = storage.get(collection, "", name)
            assert record is not None
            document = json.dumps({**json.loads(record.value), **harm}).encode()
            storage.put(collection, "", name, lambda _, document=document: document, expected=record.revision)
    caplog.clear()
    async with serving(SqliteStorage(tmp_path)) as api:
        named = {item.subject for item in api.server.damage}
        assert named == {f"{definitions.COLLECTION} others.grp.example.com", f"{VALIDATING} bad"}
        assert all(what in caplog.text for what in named)
        status = (await api.get("/debug/damage")).json
        assert {cause["field"] for cause in status["details"]["causes"]} == named
        assert status["reason"] == "StorageReadError"
        (await api.get(f"{MYKINDS}/one")).ok()
        assert [hook.uid for hook in api.server.hooks.validating] == ["good/a.example.com"]
        (await api.post(MYKINDS, mykind("two"))).ok()
        (await api.post(HOOKS, hook("better"))).ok()
        (await api.delete(f"{CRDS}/others.grp.example.com")).ok()
        (await api.delete(f"{HOOKS}/bad")).ok()
        (await api.post(HOOKS, hook("bad"))).ok()
        assert not api.server.damage
        assert (await api.get("/debug/damage")).json["status"] == "Success"

"""``/scale`` by server-side apply, as horizontal autoscalers in Go do it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, DEPLOYMENTS, MYKINDS, Api, crd, deployment, mykind, serving

WEB = f"{DEPLOYMENTS}/web"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        (await api.send("POST", DEPLOYMENTS, deployment(replicas=1), user_agent="maker/1")).ok()
        yield api


def scale(replicas: int | None = 3, **metadata: str) -> dict[str, Any]:
    spec = {} if replicas is None else {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": spec}


async def test_replicas_that_another_set_are_a_conflict_unless_forced(api: Api) -> None:
    status = (await api.apply(f"{WEB}/scale", scale(), "hpa")).failed(409, "Conflict", "Apply failed with 1 conflict")
    assert status["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "maker" using autoscaling/v1',
            "field": ".spec.replicas",
        }
    ]
    shown = (await api.apply(f"{WEB}/scale", scale(), "hpa", force="true")).ok()
    assert (shown["kind"], shown["spec"], shown["status"]["selector"]) == ("Scale", {"replicas": 3}, "app=web")
    web = (await api.get(WEB)).ok()
    assert (web["spec"]["replicas"], web["metadata"]["generation"]) == (3, 2)
    owner, maker = web["metadata"]["managedFields"]
    assert owner == {
        "manager": "hpa",
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        "subresource": "scale",
    }
    assert "f:replicas" not in maker["fieldsV1"]["f:spec"]


async def test_an_apply_without_replicas_sets_none_only_where_it_applied_them_before(api: Api) -> None:
    """The answers of a kube-apiserver 1.37.2."""
    for force in ("false", "true"):
        assert (await api.apply(f"{WEB}/scale", scale(None), "hpa", force=force)).ok()["spec"] == {"replicas": 1}
    (await api.apply(f"{WEB}/scale", scale(), "hpa", force="true")).ok()
    assert (await api.apply(f"{WEB}/scale", scale(None), "hpa")).ok()["spec"] == {}
    assert (await api.get(WEB)).ok()["spec"]["replicas"] == 0


async def test_replicas_that_nobody_set_are_those_of_before_the_first_apply(api: Api) -> None:
    path = f"{DEPLOYMENTS}/plain"
    (await api.apply(path, deployment("plain"), "own")).ok()
    words = 'conflict with "before-first-apply" with subresource "scale" using autoscaling/v1: .spec.replicas'
    (await api.apply(f"{path}/scale", scale(3), "own")).failed(409, "Conflict", words)
    (await api.apply(f"{path}/scale", scale(1), "hpa")).ok()
    managers = (await api.get(path)).ok()["metadata"]["managedFields"]
    assert [(entry["manager"], entry.get("subresource")) for entry in managers] == [
        ("hpa", "scale"),
        ("own", None),
        ("before-first-apply", "scale"),
    ]


@pytest.mark.parametrize(
    ("path", "sent", "code", "reason", "words"),
    [
        (f"{DEPLOYMENTS}/absent/scale", scale(), 404, "NotFound", 'deployments.apps "absent" not found'),
        (f"{WEB}/scale", scale(-1), 422, "Invalid", 'Scale.autoscaling "web" is invalid: spec.replicas'),
        (f"{WEB}/scale", deployment(), 400, "BadRequest", "invalid object type: apps/v1, Kind=Deployment"),
        (f"{WEB}/scale", scale(name="e"), 400, "BadRequest", "does not match the name on the URL (web)"),
        (f"{WEB}/scale", scale(resourceVersion="1"), 409, "Conflict", "the object has been modified"),
        (
            f"{WEB}/scale",
            {**scale(), "spec": {"replicas": 1, "other": 1}},
            400,
            "BadRequest",
            "(/; autoscaling/v1, Kind=Scale): .spec.other: field not declared in schema",
        ),
    ],
)
async def test_what_can_not_be_applied(api: Api, path: str, sent: Any, code: int, reason: str, words: str) -> None:
    (await api.apply(path, sent, "hpa", force="true")).failed(code, reason, words)
    assert (await api.get(WEB)).ok()["spec"]["replicas"] == 1


async def test_scales_of_custom_resources_are_not_applied(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    (await api.post(MYKINDS, mykind(spec={"numpods": 1}))).ok()
    words = "request to convert CR to an invalid group/version: autoscaling/v1"
    (await api.apply(f"{MYKINDS}/one/scale", scale(), "hpa", force="true")).failed(400, "BadRequest", words)


async def test_a_dry_run_takes_an_object_with_a_version() -> None:
    """Upstream's storage refuses it, and is not asked in a dry run."""
    sent = deployment(replicas=1)
    sent["metadata"]["resourceVersion"] = "5"
    async with serving() as api:
        assert (await api.post(DEPLOYMENTS, sent, dryRun="All")).status == 201
        (await api.post(DEPLOYMENTS, sent)).failed(400, "BadRequest", "resourceVersion should not be set")
        sent["spec"]["replicas"] = -1
        (await api.post(DEPLOYMENTS, sent)).failed(422, "Invalid", "spec.replicas")


@pytest.mark.parametrize(
    "wrong",
    [
        {"spec": {"replicas": "x"}}, {"spec": {"replicas": 2**31}}, {"spec": 5}, {"status": {"replicas": "x"}},
        {"status": {"replicas": -(2**31) - 1}}, {"kind": "Foo"}, {"apiVersion": "v1"},
    ],
)  # fmt: skip
async def test_a_result_that_is_not_a_scale_is_a_wrong_patch_and_a_bad_request(api: Api, wrong: dict[str, Any]) -> None:
    status = (await api.patch(f"{WEB}/scale", wrong)).failed(422, "Invalid", "")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["patch"]
    (await api.put(f"{WEB}/scale", {**scale(name="web"), **wrong})).failed(400, "BadRequest", "")
    assert (await api.get(f"{WEB}/scale")).ok()["spec"] == {"replicas": 1}

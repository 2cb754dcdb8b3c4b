"""Conversion webhooks of custom resources, called in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, MYKINDS, Api, crd, mykind, serving

from setpoint.apiserver import InProcessCaller
from setpoint.testing import virtual_time

V1 = MYKINDS
V2 = MYKINDS.replace("/v1/", "/v2/")
URL = "https://hooks.test/convert"
CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": URL}, "conversionReviewVersions": ["v1"]},
}


def version(name: str, field: str, *, storage: bool) -> dict[str, Any]:
    spec = {"type": "object", "properties": {field: {"type": "integer", "minimum": 0}, "note": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": f".spec.{field}"}],
    }


def definition(storage: str = "v2", **spec: Any) -> dict[str, Any]:
    versions = [version("v1", "numpods", storage=storage == "v1"), version("v2", "replicas", storage=storage == "v2")]
    return crd(versions=versions, conversion=CONVERSION, **spec)


class Converter:
    """Renames numpods to replicas and back."""

    def __init__(self) -> None:
        self.reviews: list[dict[str, Any]] = []
        self.spoil: Callable[[dict[str, Any]], Any] = lambda response: response

    async def __call__(self, path: str, body: bytes) -> tuple[int, bytes]:
        request = json.loads(body)["request"]
        self.reviews.append(request)
        result = [self.convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": result}
        response = self.spoil(response)
        if isinstance(response, tuple):
            return response
        review = {"kind": "ConversionReview", "apiVersion": json.loads(body)["apiVersion"], "response": response}
        return 200, json.dumps(review).encode()

    def convert(self, obj: dict[str, Any], wanted: str) -> dict[str, Any]:
        assert obj["apiVersion"] != wanted
        old, new = ("numpods", "replicas") if wanted.endswith("v2") else ("replicas", "numpods")
        spec = {new if key == old else key: value for key, value in obj.get("spec", {}).items()}
        metadata = {**obj["metadata"], "creationTimestamp": "1999-01-01T00:00:00Z"}
        return {**obj, "apiVersion": wanted, "metadata": metadata, "spec": spec}


@asynccontextmanager
async def converting(storage: str = "v2") -> AsyncIterator[tuple[Api, Converter]]:
    converter = Converter()
    async with serving(webhook_caller=InProcessCaller({URL: converter})) as api:
        (await api.post(CRDS, definition(storage))).ok()
        yield api, converter


def spec_of(answer: Any) -> Any:
    return answer.ok()["spec"]


async def test_each_version_writes_and_reads_the_other() -> None:
    async with converting() as (api, _):
        result = (await api.post(V1, mykind(spec={"numpods": 2}))).ok()
        assert (result["apiVersion"], result["spec"]) == ("grp.example.com/v1", {"numpods": 2})
        record = api.server.storage.get("mykinds.grp.example.com", "default", "one")
        assert record is not None
        assert json.loads(record.value)["apiVersion"] == "grp.example.com/v2"
        assert json.loads(record.value)["spec"] == {"replicas": 2}
        assert spec_of(await api.get(f"{V2}/one")) == {"replicas": 2}
        live = (await api.get(f"{V1}/one")).ok()
        assert live["metadata"] == result["metadata"]  # whatever the webhook made of it
        live["spec"]["numpods"] = 3
        assert spec_of(await api.put(f"{V1}/one", live)) == {"numpods": 3}
        assert spec_of(await api.patch(f"{V2}/one", {"spec": {"replicas": 4}})) == {"replicas": 4}
        assert spec_of(await api.patch(f"{V1}/one", {"spec": {"note": "x"}})) == {"numpods": 4, "note": "x"}
        (await api.patch(f"{V1}/one", {"spec": {"numpods": -1}})).failed(422, "Invalid", "spec.numpods")
        (await api.put(f"{V1}/one", live)).failed(409, "Conflict")
        assert (await api.patch(f"{V1}/one/status", {"status": {}})).ok()["spec"]["numpods"] == 4
        (await api.delete(f"{V1}/one")).ok()
        (await api.get(f"{V2}/one")).failed(404, "NotFound")


async def test_whole_numbers_of_a_converted_object_are_integers() -> None:
    async with converting() as (api, converter):

        def in_floats(response: dict[str, Any]) -> dict[str, Any]:
            for obj in response["convertedObjects"]:
                obj["spec"] = {name: float(value) for name, value in obj["spec"].items()}
            return response

        converter.spoil = in_floats
        assert repr((await api.post(V1, mykind(spec={"numpods": 2}))).ok()["spec"]["numpods"]) == "2"
        assert repr((await api.get(f"{V2}/one")).ok()["spec"]["replicas"]) == "2"
        assert repr((await api.get(f"{V1}/one")).ok()["spec"]["numpods"]) == "2"
        assert repr((await api.get(V1)).ok()["items"][0]["spec"]["numpods"]) == "2"


@pytest.mark.parametrize(
    ("names", "spoken"), [(["v1beta1"], "v1beta1"), (["v2", "v1beta1", "v1"], "v1beta1"), (["v9x", "v1"], "v1")]
)
async def test_reviews_are_of_the_first_version_that_both_know(names: list[str], spoken: str) -> None:
    bodies: list[dict[str, Any]] = []
    converter = Converter()

    async def noted(path: str, body: bytes) -> tuple[int, bytes]:
        bodies.append(json.loads(body))
        return await converter(path, body)

    new_definition = definition()
    webhook = {**CONVERSION["webhook"], "conversionReviewVersions": names}  # type: ignore[dict-item]
    new_definition["spec"]["conversion"] = {**CONVERSION, "webhook": webhook}
    async with serving(webhook_caller=InProcessCaller({URL: noted})) as api:
        (await api.post(CRDS, new_definition)).ok()
        assert spec_of(await api.post(V1, mykind(spec={"numpods": 2}))) == {"numpods": 2}
    assert {body["apiVersion"] for body in bodies} == {f"apiextensions.k8s.io/{spoken}"}


async def test_fields_have_one_owner_over_all_versions() -> None:
    async with converting() as (api, _):
        (await api.apply(f"{V1}/one", mykind(spec={"numpods": 2}), "first")).ok()
        (await api.apply(f"{V2}/one", mykind(version="v2", spec={"replicas": 3}), "second")).failed(
            409, "Conflict", '"first"'
        )
        result = (await api.apply(f"{V2}/one", mykind(version="v2", spec={"replicas": 3}), "second", force="true")).ok()
        owners = {entry["manager"] for entry in result["metadata"]["managedFields"]}
        assert owners == {"second"}
        assert spec_of(await api.get(f"{V1}/one")) == {"numpods": 3}
        again = (await api.apply(f"{V2}/one", mykind(version="v2", spec={"replicas": 3}), "second")).ok()
        assert again["metadata"]["resourceVersion"] == result["metadata"]["resourceVersion"]


async def test_reviews_are_no_larger_than_webhooks_take() -> None:
    async with converting() as (api, converter):
        for number in range(5):
            (await api.post(V2, mykind(f"m{number}", "v2", spec={"replicas": number, "note": "x" * 1_200_000}))).ok()
        converter.reviews.clear()
        items = (await api.get(V1)).ok()["items"]
        assert sorted(item["spec"]["numpods"] for item in items) == list(range(5))
        assert [len(review["objects"]) for review in converter.reviews] == [2, 2, 1]


async def test_lists_are_converted_in_one_review() -> None:
    async with converting() as (api, converter):
        for index in range(20):
            (await api.post(V2, mykind(f"m{index}", "v2", spec={"replicas": index}))).ok()
        assert not converter.reviews
        items = (await api.get(V1)).ok()["items"]
        assert sorted(item["spec"]["numpods"] for item in items) == list(range(20))
        assert {item["apiVersion"] for item in items} == {"grp.example.com/v1"}
        assert len(converter.reviews) == 1
        current_items = (await api.get(V1, fieldSelector="spec.numpods=7")).ok()["items"]
        assert [item["metadata"]["name"] for item in current_items] == ["m7"]
        deleted = (await api.delete(V1)).ok()["items"]
        assert len(deleted) == 20
        assert "numpods" in deleted[0]["spec"]


async def test_watches_see_their_version() -> None:
    async with converting() as (api, _):
        (await api.post(V2, mykind("one", "v2", spec={"replicas": 1}))).ok()
        async with api.watch(V1) as events, api.watch(V1, fieldSelector="spec.numpods=1") as ones:
            assert [(kind, obj["spec"]) for kind, obj in await events.take(1)] == [("ADDED", {"numpods": 1})]
            assert (await ones.next())[0] == "ADDED"
            (await api.patch(f"{V2}/one", {"spec": {"replicas": 2}})).ok()
            kind, obj = await events.next()
            assert (kind, obj["apiVersion"], obj["spec"]) == ("MODIFIED", "grp.example.com/v1", {"numpods": 2})
            kind, gone = await ones.next()
            assert (kind, gone["spec"]) == ("DELETED", {"numpods": 1})
            assert gone["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]
            (await api.delete(f"{V1}/one")).ok()
            kind, obj = await events.next()
            assert (kind, obj["spec"]) == ("DELETED", {"numpods": 2})


async def test_a_watch_ends_with_an_error_when_conversion_fails() -> None:
    async with converting() as (api, converter), api.watch(V1, resourceVersion=str(api.revision)) as events:
        converter.spoil = lambda response: (500, b"down")
        (await api.post(V2, mykind("one", "v2"))).ok()
        kind, status = await events.next()
        assert (kind, status["code"]) == ("ERROR", 500)
        assert await events.rest() == []


async def test_objects_stored_before_an_upgrade_are_read_and_rewritten() -> None:
    """They stay as they were written until a client writes them again: storage migration."""
    async with converting("v1") as (api, converter):
        (await api.post(V1, mykind(spec={"numpods": 2}))).ok()
        (await api.post(V1, mykind("two", spec={"numpods": 2}))).ok()
        path = f"{CRDS}/mykinds.grp.example.com"
        upgraded = {**(await api.get(path)).ok(), "spec": definition("v2")["spec"]}
        (await api.put(path, upgraded)).ok()
        live = (await api.get(f"{V2}/one")).ok()
        assert (live["apiVersion"], live["spec"]) == ("grp.example.com/v2", {"replicas": 2})
        assert (await api.get(f"{V1}/one")).ok()["spec"] == {"numpods": 2}
        assert [item["spec"] for item in (await api.get(V2)).ok()["items"]] == [{"replicas": 2}] * 2
        written = (await api.put(f"{V2}/one", live)).ok()
        assert written["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]
        again = (await api.put(f"{V2}/one", written)).ok()
        assert again["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
        converter.spoil = lambda response: (500, b"down")
        (await api.get(f"{V2}/one")).ok()
        failed = "conversion webhook for grp.example.com/v1, Kind=Mykind failed: an error on the server"
        revision = (await api.get(f"{V1}/two")).ok()["metadata"]["resourceVersion"]
        undecodable = f"object not decodable revision={revision}: {failed}"
        corrupt = f"StorageError: corrupt object, Code: 7, Key: /grp.example.com/mykinds/{V2.split('/')[-2]}/two, "
        for refused in (await api.get(f"{V2}/two"), await api.delete(f"{V2}/two")):
            status = refused.failed(500, "InternalError", f"Internal error occurred: {corrupt}")
            assert f"ResourceVersion: 0, AdditionalErrorMsg: {undecodable}" in status["message"]
            assert status["details"]["causes"][0]["message"].startswith(corrupt)
        changed = {**live, "metadata": {"name": "two"}}
        (await api.put(f"{V2}/two", changed)).failed(500, "", undecodable)
        (await api.delete(path)).ok()  # nothing has to be converted to be deleted
        (await api.get(path)).failed(404, "NotFound")


def without(key: str) -> Callable[[dict[str, Any]], Any]:
    def spoil(response: dict[str, Any]) -> Any:
        for obj in response["convertedObjects"]:
            obj.pop(key)
        return response

    return spoil


def with_metadata(**fields: Any) -> Callable[[dict[str, Any]], Any]:
    def spoil(response: dict[str, Any]) -> Any:
        for obj in response["convertedObjects"]:
            obj["metadata"].update(fields)
        return response

    return spoil


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda response: {**response, "convertedObjects": []}, "returned 0 objects, expected 1"),
        (lambda response: {**response, "uid": "x"}, 'failed: expected response.uid="'),
        (lambda response: {"uid": response["uid"], "result": {"status": "Failure", "message": "no"}}, "failed: no"),
        (lambda response: (500, b"oops"), "failed: an error on the server"),
        (without("metadata"), "invalid metadata: missing metadata in converted object"),
        (without("apiVersion"), "invalid groupVersion (expected grp.example.com/v2, received )"),
        (without("kind"), "invalid kind (expected Mykind, received )"),
        (with_metadata(name="other"), "invalid object: must have the same name: one != other"),
        (with_metadata(uid="other"), "invalid object: must have the same UID: "),
        (with_metadata(labels={"a b": "c"}), "invalid metadata: metadata.labels"),
        (
            with_metadata(annotations={"a": "x" * (1 << 18)}),
            "returned invalid metadata: metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
    ],
)
async def test_a_bad_conversion_stores_nothing(spoil: Callable[[dict[str, Any]], Any], words: str) -> None:
    async with converting() as (api, converter):
        converter.spoil = spoil
        failure = (await api.post(V1, mykind(spec={"numpods": 1}))).failed(500, "", words)
        assert failure["message"].startswith("conversion webhook for grp.example.com/v1, Kind=Mykind ")
        converter.spoil = lambda response: response
        assert (await api.get(V2)).ok()["items"] == []


async def test_labels_and_annotations_may_be_converted() -> None:
    async with converting() as (api, converter):
        converter.spoil = with_metadata(annotations={"was": "numpods"})
        result = (await api.post(V1, mykind(spec={"numpods": 1}))).ok()
        assert result["metadata"]["annotations"] == {"was": "numpods"}
        assert result["metadata"]["creationTimestamp"] == "2026-01-31T12:00:00Z"


@virtual_time
async def test_a_conversion_that_hangs_ends_the_request() -> None:
    import asyncio

    async def hang(path: str, body: bytes) -> tuple[int, bytes]:
        await asyncio.sleep(1000)
        return 200, b""

    async with serving(webhook_caller=InProcessCaller({URL: hang})) as api:
        (await api.post(CRDS, definition())).ok()
        (await api.post(V1, mykind(spec={"numpods": 1}))).failed(500, "", "context deadline exceeded")


@pytest.mark.parametrize(
    ("conversion", "words"),
    [
        ({"strategy": "Webhook"}, "spec.conversion.webhookClientConfig: Required value"),
        (
            {"strategy": "None", "webhook": CONVERSION["webhook"]},
            "should not be set when strategy is not set to Webhook",
        ),
        ({"strategy": "Magic"}, "spec.conversion.strategy: Unsupported value"),
        (
            {"strategy": "Webhook", "webhook": {"clientConfig": {"url": URL}, "conversionReviewVersions": ["v9"]}},
            "spec.conversion.conversionReviewVersions: Invalid value",
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {"url": "https://[foo]/x"}, "conversionReviewVersions": ["v1"]},
            },
            'parse "https://[foo]/x": invalid host: ParseAddr("foo"): unable to parse IP',
        ),
    ],
)
async def test_bad_conversions_are_refused(conversion: dict[str, Any], words: str) -> None:
    async with serving() as api:
        (await api.post(CRDS, crd(conversion=conversion))).failed(422, "Invalid", words)


HPAS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
ANNOTATION = "autoscaling.alpha.kubernetes.io/"


async def test_an_autoscaler_in_v1_has_the_rest_in_annotations_in_the_form_of_that_version() -> None:
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    selector = {"matchLabels": {"a": "b"}}
    pods = {"metric": {"name": "m", "selector": selector}, "target": {"type": "AverageValue", "averageValue": "1"}}
    lag = {"metric": {"name": "lag"}, "target": {"type": "Value", "value": "500m"}}
    metrics = [{"type": "Pods", "pods": pods}, {"type": "External", "external": lag}]
    policies = [{"type": "Pods", "value": 4, "periodSeconds": 15}]
    spec = {
        "scaleTargetRef": target,
        "maxReplicas": 3,
        "metrics": metrics,
        "behavior": {"scaleUp": {"policies": policies}},
    }
    async with serving() as api:
        result = (await api.post(HPAS.format("v2"), {"metadata": {"name": "a"}, "spec": spec})).ok()
        used = {"name": "cpu", "current": {"averageUtilization": 7}}
        result["status"]["currentMetrics"] = [{"type": "Resource", "resource": used}]
        result = (await api.put(f"{HPAS.format('v2')}/a/status", result)).ok()
        shown = (await api.get(f"{HPAS.format('v1')}/a")).ok()
        annotations = shown["metadata"]["annotations"]
        assert annotations[f"{ANNOTATION}metrics"] == (
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1","selector":{"matchLabels":{"a":"b"}}}},'
            '{"type":"External","external":{"metricName":"lag","targetValue":"500m"}}]'
        )
        assert annotations[f"{ANNOTATION}behavior"].startswith(
            '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":'
            '[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{'
        )
        assert annotations[f"{ANNOTATION}current-metrics"] == (
            '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"0"}}]'
        )
        (await api.put(f"{HPAS.format('v1')}/a", shown)).ok()
        after = (await api.get(f"{HPAS.format('v2')}/a")).ok()
        assert (after["spec"], after["status"]) == (result["spec"], result["status"])


@pytest.mark.parametrize(
    ("text", "metrics"),
    [
        (
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]',
            [
                {
                    "type": "Pods",
                    "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}},
                }
            ],
        ),
        *(
            (
                text,
                [
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
                    }
                ],
            )
            for text in ("x", "[]", "[5]", "{}")
        ),
    ],
)
async def test_metrics_that_a_client_of_v1_writes_are_those_of_v2(text: str, metrics: list[dict[str, Any]]) -> None:
    async with serving() as api:
        metadata = {"name": "a", "annotations": {f"{ANNOTATION}metrics": text}}
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        spec = {"scaleTargetRef": target, "maxReplicas": 3}
        (await api.post(HPAS.format("v1"), {"metadata": metadata, "spec": spec})).ok()
        assert (await api.get(f"{HPAS.format('v2')}/a")).ok()["spec"]["metrics"] == metrics


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            ("behavior", text)
            for text in (
                "5",
                "[1]",
                '"x"',
                '{"ScaleUp":5}',
                '{"ScaleUp":{"Policies":5}}',
                '{"ScaleUp":{"Policies":[5]}}',
            )
        ),
        ("behavior", '{"ScaleUp":{"Policies":[{"Value":"x","Type":5}]}}'),
        ("behavior", '{"a":' * 700 + "1" + "}" * 700),
        ("metrics", '[{"type":5}]'),
        ("metrics", '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":"x"}}]'),
        ("metrics", '[{"type":"Pods","pods":{"metricName":"a","targetAverageValue":"1","selector":"x"}}]'),
        *((name, "[" * 5000) for name in ("behavior", "metrics", "conditions")),
        *(("conditions", text) for text in ("5", '"x"', "[5]", '{"a":1}')),
    ],
)
async def test_an_annotation_of_v1_that_is_not_in_its_form_is_ignored(name: str, text: str) -> None:
    async with serving() as api:
        metadata = {"name": "a", "annotations": {f"{ANNOTATION}{name}": text}}
        spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3}
        (await api.post(HPAS.format("v1"), {"metadata": metadata, "spec": spec})).ok()
        status = {"currentReplicas": 1, "desiredReplicas": 1}
        (await api.patch(f"{HPAS.format('v1')}/a/status", {"metadata": metadata, "status": status})).ok()
        result = (await api.get(f"{HPAS.format('v2')}/a")).ok()
        assert [item["type"] for item in result["spec"]["metrics"]] == ["Resource"]
        assert "behavior" not in result["spec"]
        assert not result["status"].get("conditions")


@pytest.mark.parametrize(
    ("name", "text", "field"),
    [
        ("behavior", '{"ScaleUp":{"StabilizationWindowSeconds":999999}}', "stabilizationWindowSeconds"),
        ("metrics", '[{"type":"Bogus"}]', "spec.metrics[0]"),
    ],
)
async def test_what_annotations_of_v1_say_is_judged_as_in_v2(name: str, text: str, field: str) -> None:
    async with serving() as api:
        metadata = {"name": "a", "annotations": {f"{ANNOTATION}{name}": text}}
        spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3}
        (await api.post(HPAS.format("v1"), {"metadata": metadata, "spec": spec})).failed(422, "Invalid", field)


async def test_a_webhook_that_cannot_be_reached_is_named_with_its_timeout() -> None:
    """Upstream tells the webhook how long it waits."""
    async with serving(webhook_caller=InProcessCaller({})) as api:
        (await api.post(CRDS, definition())).ok()
        failure = (await api.post(V1, mykind(spec={"numpods": 1}))).failed(500, "", "conversion webhook for")
        assert f'failed: Post "{URL}?timeout=30s": ' in failure["message"]

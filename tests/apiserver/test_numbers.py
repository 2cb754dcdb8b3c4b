"""Numbers in requests, read as Go's decoders read them, and YAML as sigs.k8s.io/yaml reads it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MYKINDS,
    PODS,
    STRATEGIC,
    Api,
    crd,
    deployment,
    mykind,
    pod,
    serving,
)

from setpoint.apiserver.objects.go_times import time_problem
from setpoint.apiserver.requests import type_errors

MERGE = "application/merge-patch+json"
YAML = "application/yaml"
TYPED = "json: cannot unmarshal number {} into Go struct field {} of type int32"
REPLICAS = "DeploymentSpec.spec.replicas"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


@pytest.mark.parametrize("number", ["3.0", "1e3", "2.5", "-0.0", "3000000000"])
async def test_an_integer_of_a_built_in_kind_has_no_fraction_or_exponent(api: Api, number: str) -> None:
    body = b'{"metadata":{"name":"d"},"spec":{"replicas":' + number.encode() + b"}}"
    refused = await api.post(DEPLOYMENTS, body)
    assert refused.failed(400, "BadRequest")["message"] == (
        'Deployment in version "v1" cannot be handled as a Deployment: ' + TYPED.format(number, REPLICAS)
    )


async def test_an_integer_or_string_has_no_fraction(api: Api) -> None:
    body = b'{"metadata":{"name":"s"},"spec":{"ports":[{"port":80,"targetPort":8080.0}]}}'
    refused = await api.post("/api/v1/namespaces/default/services", body)
    refused.failed(400, "BadRequest", TYPED.format("8080.0", "ServicePort.spec.ports.targetPort"))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (MERGE, b'{"spec":{"replicas":2.0}}'),
        (JSON_PATCH, b'[{"op":"replace","path":"/spec/replicas","value":2.0}]'),
    ],
)
async def test_a_patch_of_json_is_read_as_a_whole_object(api: Api, kind: str, body: bytes) -> None:
    (await api.post(DEPLOYMENTS, deployment())).ok()
    refused = await api.patch(f"{DEPLOYMENTS}/web", body, kind)
    refused.failed(422, "Invalid", TYPED.format("2.0", REPLICAS))


async def test_strategic_patches_and_applies_take_whole_numbers_in_any_form(api: Api) -> None:
    (await api.post(DEPLOYMENTS, deployment())).ok()
    changed = (await api.patch(f"{DEPLOYMENTS}/web", b'{"spec":{"replicas":2.0}}', STRATEGIC)).ok()
    assert repr(changed["spec"]["replicas"]) == "2"
    applied = b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":4e0}}'
    changed = (await api.apply(f"{DEPLOYMENTS}/web", applied, force="true")).ok()
    assert repr(changed["spec"]["replicas"]) == "4"


async def test_whole_numbers_in_the_schema_of_a_definition_are_integers(api: Api) -> None:
    """As a kube-apiserver 1.37.2 answers."""
    definition = crd()
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields |= {
        "ratio": {"type": "number", "default": 1.0, "minimum": 0.0},
        "count": {"type": "integer", "default": 3.0, "enum": [3.0, 4.0]},
        "half": {"type": "number", "default": 0.5},
        "big": {"type": "number", "default": 1e21},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {"a": [2.0]}},
    }
    stored = (await api.post(CRDS, definition)).ok()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert json.dumps({name: stored["spec"]["properties"][name] for name in ("ratio", "count")}) == (
        '{"ratio": {"type": "number", "default": 1, "minimum": 0}, '
        '"count": {"type": "integer", "default": 3, "enum": [3, 4]}}'
    )
    defaulted = (await api.post(MYKINDS, mykind(spec={}))).ok()["spec"]
    assert {name: repr(value) for name, value in defaulted.items() if name != "numpods"} == {
        "ratio": "1", "count": "3", "half": "0.5", "big": "1e+21", "any": "{'a': [2]}",
    }  # fmt: skip


@pytest.mark.parametrize(("number", "stored"), [("1.0", "1"), ("1e3", "1000"), ("-0.0", "0"), ("2E0", "2")])
async def test_whole_numbers_of_custom_resources_are_stored_as_integers(api: Api, number: str, stored: str) -> None:
    (await api.post(CRDS, crd())).ok()
    spec = b'"spec":{"numpods":' + number.encode() + b"}}"
    body = b'{"apiVersion":"grp.example.com/v1","kind":"Mykind","metadata":{"name":"m"},' + spec
    assert repr((await api.post(MYKINDS, body)).ok()["spec"]["numpods"]) == stored
    for kind, patch in (
        (MERGE, b"{" + spec),
        (JSON_PATCH, b'[{"op":"add","path":"/spec/numpods","value":' + number.encode() + b"}]"),
    ):
        assert repr((await api.patch(f"{MYKINDS}/m", patch, kind)).ok()["spec"]["numpods"]) == stored
    applied = mykind("n", spec={"numpods": float(number)})
    assert repr((await api.apply(f"{MYKINDS}/n", applied)).ok()["spec"]["numpods"]) == stored


@pytest.mark.parametrize(("value", "kind"), [("y", "bool"), ("off", "bool"), ("1e3", "number"), ("0777", "number")])
async def test_yaml_is_that_of_kubectl(api: Api, value: str, kind: str) -> None:
    body = f"metadata: {{name: x}}\ndata: {{a: {value}}}\n".encode()
    refused = await api.send("POST", MAPS, body, content_type=YAML)
    text = f"json: cannot unmarshal {kind} into Go struct field ConfigMap.data of type string"
    refused.failed(400, "BadRequest", text)


async def test_yes_and_no_in_yaml_are_booleans(api: Api) -> None:
    answer = await api.send("POST", MAPS, b"metadata: {name: w}\nimmutable: y\n", content_type=YAML)
    assert answer.ok()["immutable"] is True
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z, labels: {n: n}}\n"
    refused = await api.patch(f"{MAPS}/z", body, APPLY, fieldManager="m")
    text = ".metadata.labels.false: expected string, got &value.valueUnstructured{Value:false}"
    assert text in refused.json["message"]


def test_times_are_refused_with_the_words_of_go() -> None:
    """Observed errors of ``time.Parse(time.RFC3339, text)``; an empty one is a time."""
    observed = json.loads((Path(__file__).parent / "observed_times.json").read_text("utf-8"))
    assert {text: time_problem(text) for text in observed} == observed


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2020-01-01T1:00:00Z", "2020-01-01T01:00:00Z"),
        ("2020-01-01T00:00:00+24:00", "2019-12-31T00:00:00Z"),
        ("2020-01-01T23:59:59,5Z", "2020-01-01T23:59:59Z"),
    ],
)
async def test_a_time_in_any_form_of_go_is_accepted(api: Api, text: str, answer: str) -> None:
    status = {"conditions": [{"type": "A", "status": "True", "lastTransitionTime": text}]}
    (await api.post(PODS, pod())).ok()
    changed = (await api.patch(f"{PODS}/web/status", {"status": status}, STRATEGIC)).ok()
    assert changed["status"]["conditions"][0]["lastTransitionTime"] == answer


async def test_a_time_in_another_form_is_refused_in_a_request(api: Api) -> None:
    refused = await api.post(PODS, pod() | {"status": {"startTime": "2020-01-01T24:00:00Z"}})
    refused.failed(400, "BadRequest", 'Pod: parsing time "2020-01-01T24:00:00Z": hour out of range')


@given(st.uuids(), st.datetimes())
def test_uids_and_times_are_no_odd_numbers(uid: UUID, time: datetime) -> None:
    """Otherwise each object with one would be validated against the schema, which costs as much as all the rest."""
    document = {"uid": str(uid), "owners": [f"{uid}"], "time": f"{time.isoformat()}Z", "count": -12}
    assert not type_errors._ODD_NUMBER.search(msgspec.json.encode(document))
    for number in (b"-1e3", b"+1E3", b"1.0", b"-1234567890", b"12345678901"):
        assert type_errors._ODD_NUMBER.search(b'{"uid":"%s","count": %s}' % (str(uid).encode(), number))


async def test_resources_are_rounded_up_to_thousandths_and_other_amounts_to_billionths(api: Api) -> None:
    """Upstream's defaults of a ResourceList."""
    limits = "/api/v1/namespaces/default/limitranges"
    for sent, stored in (("1n", "1m"), ("123456u", "124m"), ("1e-9", "1e-3"), ("1500m", "1500m")):
        items = [{"type": "Container", "max": {"cpu": sent}}]
        answer = (await api.post(limits, {"metadata": {"name": "l"}, "spec": {"limits": items}}, dryRun="All")).ok()
        assert answer["spec"]["limits"][0]["max"]["cpu"] == stored
    overhead = {"metadata": {"name": "r"}, "handler": "h", "overhead": {"podFixed": {"cpu": "1n"}}}
    created = (await api.post("/apis/node.k8s.io/v1/runtimeclasses", overhead)).ok()
    assert created["overhead"]["podFixed"]["cpu"] == "1n"
    items = [{"type": "Pod", "max": {"cpu": "1K"}}]
    answer = await api.post(limits, {"metadata": {"name": "l"}, "spec": {"limits": items}})
    answer.failed(400, "BadRequest", "unable to parse quantity's suffix")


@pytest.mark.parametrize(("amount", "status"), [("9E", 201), ("10E", 201), ("1.5", 422), ("1" + 30 * "0", 422)])
async def test_a_count_is_whole_if_its_64_bits_are(api: Api, amount: str, status: int) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": amount}}}
    assert (await api.post("/api/v1/namespaces/default/resourcequotas", quota)).status == status


async def test_what_a_node_has_is_what_it_gives_unless_it_says_otherwise(api: Api) -> None:
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    assert (await api.post("/api/v1/nodes", node)).ok()["status"]["allocatable"] == {"cpu": "4"}

"""Values of the wrong type or size, at every level of every kind: the server refuses them and never fails itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from tests.apiserver.harness import APPLY, DEPLOYMENTS, MERGE, PODS, STRATEGIC, deployment, pod, serving
from tests.conformance.differential.run import resource_of
from tests.conformance.differential.samples import samples

from setpoint.schema import copy_json

_HUGE = 10**30
_ODD: tuple[Any, ...] = (
    *(None, "", "x", "é\u2028", "9" * 40, "1e999", "-1Ki", "2026-01-01T00:00:00Z"),
    *(0, 1, -1, 1.5, 3.0, 2**31, 2**63, _HUGE, 1e30, True),
    *([], {}, [None], [1], ["x"], [{}], [[]], {"a": 1}, {"a": None}, {"a": {}}),
)
_ADDED = ("spec", "status", "data", "metadata", "kind", "apiVersion", "items")
_SHARE = 0.004
Step = str | int


def _paths(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield from _paths(item, (*path, step))


def _changed(obj: Any, path: tuple[Step, ...], value: Any) -> Any:
    if not path:
        return value
    obj = copy_json(obj)
    inner = obj
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return obj


def _patch_of(path: tuple[Step, ...], value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _collection(sample: dict[str, Any]) -> str:
    resource = resource_of(sample)
    middle = "/namespaces/default" if resource.namespaced else ""
    return f"{resource.root}{middle}/{resource.plural}"


async def test_no_value_at_any_level_of_any_kind_leads_to_an_internal_error() -> None:
    random = Random(1)
    async with serving(plugins_off=()) as api:
        for given in samples():
            sample = json.loads(json.dumps(given).replace("{ns}", "default"))
            sample.setdefault("metadata", {}).setdefault("name", "kept")
            where = _collection(sample)
            name = f"{where}/{sample['metadata']['name']}"
            await api.post(where, sample)
            stored = await api.get(name)
            for verb in ("POST", "PUT", "PUT status", "PATCH") if stored.status == 200 else ("POST",):
                obj = sample if verb == "POST" else stored.json
                for path in [*_paths(obj), *[(field,) for field in _ADDED if field not in obj]]:
                    for value in _ODD:
                        if random.random() > _SHARE:
                            continue
                        if verb == "PATCH":
                            kind = random.choice((MERGE, STRATEGIC, APPLY))
                            force = {"force": "true"} if kind == APPLY else {}
                            query = {"dryRun": "All", "fieldManager": "m", **force}
                            answer = await api.patch(name, _patch_of(path, value), kind, **query)
                        elif verb == "POST":
                            answer = await api.post(where, _changed(obj, path, value), dryRun="All")
                        else:
                            part = "/status" if verb == "PUT status" else ""
                            answer = await api.put(name + part, _changed(obj, path, value), dryRun="All")
                        assert answer.status != 500, (verb, name, path, value, answer.body)


async def test_a_field_that_a_kind_does_not_have_is_dropped_whatever_its_value_is() -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    async with serving() as api:
        answer = await api.post(secrets, {"metadata": {"name": "s"}, "spec": "x"})
        assert answer.status == 201
        assert 'unknown field \\"spec\\"' in answer.warnings
        assert (await api.patch(f"{secrets}/s", {"spec": ["x"]})).status == 200
        assert (await api.put(f"{secrets}/s", {"metadata": {"name": "s"}, "spec": 1})).status == 200


async def test_a_binding_without_metadata_is_refused() -> None:
    async with serving() as api:
        await api.post(PODS, pod("p"))
        for binding in ({"target": {"name": "n"}}, {"metadata": None, "target": {"name": "n"}}, {}):
            answer = await api.post(f"{PODS}/p/binding", binding)
            answer.failed(400, "BadRequest", "name in URL does not match name in Binding object")


@pytest.mark.parametrize("amount", ["1e30", "1e+30", "1E18", "9223372036854775807"])
async def test_a_quota_whose_thousandths_overflow_to_a_multiple_of_1000_is_accepted(amount: str) -> None:
    """Upstream counts in thousandths of 64 bits; with an exponent an overflow is 0."""
    async with serving() as api:
        body = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": amount}}}
        (await api.post("/api/v1/namespaces/default/resourcequotas", body)).ok()


@pytest.mark.parametrize("amount", [_HUGE, f"{_HUGE}", "123456789012345678901", "1500m", "0.0001"])
async def test_a_quota_of_more_pods_than_64_bits_can_count_is_refused(amount: Any) -> None:
    async with serving() as api:
        body = json.dumps({"metadata": {"name": "q"}, "spec": {"hard": {"pods": amount}}}).encode()
        answer = await api.post("/api/v1/namespaces/default/resourcequotas", body)
        answer.failed(422, "Invalid", "spec.hard[pods]: Invalid value", "must be an integer")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        *((_HUGE, "1"), (f"{_HUGE}", "1"), (12 * 10**22, "120")),
        *(("12345678901234567890000", "12345678901234567890k"), ("1500m", "1500m")),
    ],
)
async def test_a_refused_amount_of_ten_to_the_21_or_more_is_named_without_the_zeros(amount: Any, text: str) -> None:
    """Go counts them, but has no suffix for them."""
    async with serving() as api:
        body = json.dumps({"metadata": {"name": "q"}, "spec": {"hard": {"pods": amount}}}).encode()
        answer = await api.post("/api/v1/namespaces/default/resourcequotas", body)
        answer.failed(422, "Invalid", f'spec.hard[pods]: Invalid value: "{text}": must be an integer')
        resources = {"limits": {"example.com/a": amount}, "requests": {"example.com/a": amount}}
        spec = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
        answer = await api.post(PODS, json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode())
        answer.failed(422, "Invalid", f'limits[example.com/a]: Invalid value: "{text}": must be an integer')


@pytest.mark.parametrize(
    "number", ["1000000000000000000000000000000", "1e30", "2147483648", "-2147483649", "3.0", "1.5"]
)
async def test_a_number_that_is_no_32_bit_integer_is_refused_where_a_number_or_text_is_expected(number: str) -> None:
    wanted = f"json: cannot unmarshal number {number} into Go struct field"
    async with serving() as api:
        daemons = b'{"metadata":{"name":"d"},"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":%s}}}}'
        answer = await api.post("/apis/apps/v1/namespaces/default/daemonsets", daemons % number.encode())
        field = "RollingUpdateDaemonSet.spec.updateStrategy.rollingUpdate.maxUnavailable of type int32"
        answer.failed(400, "BadRequest", f"{wanted} {field}")
        budget = b'{"metadata":{"name":"b"},"spec":{"minAvailable":%s}}'
        answer = await api.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget % number.encode())
        answer.failed(400, "BadRequest", f"{wanted} PodDisruptionBudgetSpec.spec.minAvailable of type int32")


async def test_a_uid_that_is_no_text_is_refused_with_its_own_type() -> None:
    async with serving() as api:
        path = "/api/v1/namespaces/default/configmaps"
        answer = await api.post(path, b'{"metadata":{"name":"c","uid":5}}')
        answer.failed(400, "BadRequest", "number into Go struct field ObjectMeta.metadata.uid of type types.UID")
        await api.post(path, b'{"metadata":{"name":"c"}}')
        merge = "application/strategic-merge-patch+json"
        for text, problem in (("5", "cannot convert int64 to types.UID"), ("1.5", "unrecognized type: string")):
            answer = await api.patch(f"{path}/c", b'{"metadata":{"uid":%s}}' % text.encode(), merge)
            answer.failed(422, "Invalid", problem)


async def test_an_integer_that_is_out_of_range_is_named_with_its_field() -> None:
    async with serving() as api:
        answer = await api.post(DEPLOYMENTS, deployment(replicas=2**31))
        answer.failed(
            400,
            "BadRequest",
            'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number 2147483648 '
            "into Go struct field DeploymentSpec.spec.replicas of type int32",
        )


async def test_owners_of_fields_that_are_no_objects_are_ignored() -> None:
    async with serving() as api:
        created = (await api.post(DEPLOYMENTS, deployment())).ok()
        owners = created["metadata"]["managedFields"]
        for tree in ("x", [{}], [[]]):
            body = copy_json(created)
            body["metadata"]["managedFields"][0]["fieldsV1"] = tree
            answer = (await api.put(f"{DEPLOYMENTS}/web", body)).ok()
            assert answer["metadata"]["managedFields"] == owners

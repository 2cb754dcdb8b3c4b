"""Bodies of actions of objects (binding, eviction, token, scale, review) are judged as API servers do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.harness import Api, serving

N = "/api/v1/namespaces/default"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "a", "image": "i"}]},
}
MISMATCH = "the namespace of the provided object does not match the namespace sent on the request"
ATTRIBUTES = "spec.resourceAttributes"


def eviction(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, **fields}


def binding(**fields: Any) -> dict[str, Any]:
    result = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    return result | fields


async def bound(api: Api) -> None:
    """A pod on a node, which is deleted only when its kubelet says so."""
    (await api.post(f"{N}/pods", POD)).ok()
    (await api.post(f"{N}/pods/p/binding", binding())).ok()


async def conditions(api: Api) -> dict[str, Any]:
    """The conditions of the pod by type."""
    result = (await api.get(f"{N}/pods/p")).ok()
    return {item["type"]: item for item in result["status"].get("conditions", ())}


@pytest.mark.parametrize(
    ("action", "body", "code", "message"),
    [
        ("pods/p/eviction", POD, 400, "cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction)"),
        ("pods/p/eviction", eviction(apiVersion="policy/v9"), 400, 'is registered for version "policy/v9"'),
        ("pods/p/eviction", eviction(metadata={}), 400, "name in URL does not match name in Eviction object"),
        ("pods/p/eviction", eviction(metadata={"name": "p", "namespace": "x"}), 400, MISMATCH),
        ("pods/p/binding", POD, 400, "cannot be handled as a Binding: converting (v1.Pod) to (core.Binding)"),
        ("pods/p/binding", binding(metadata={}), 400, "name in URL does not match name in Binding object"),
        (
            "pods/p/binding",
            binding(target={"kind": "Pod"}),
            422,
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value',
        ),
        ("pods/p/binding", binding(target={"name": "N_"}), 422, 'target.name: Invalid value: "N_": a lowercase RFC'),
        ("serviceaccounts/default/token", POD, 400, "converting (v1.Pod) to (authentication.TokenRequest)"),
        ("serviceaccounts/default/token", {"metadata": {"namespace": "x"}, "spec": {}}, 400, MISMATCH),
    ],
)
async def test_what_is_no_request_for_an_action_is_refused_and_nothing_is_done(
    action: str, body: dict[str, Any], code: int, message: str
) -> None:
    async with serving() as api:
        (await api.post(f"{N}/serviceaccounts", {"metadata": {"name": "default"}})).ok()
        before = (await api.post(f"{N}/pods", POD)).ok()
        answer = await api.post(f"{N}/{action}", body)
        assert answer.status == code
        assert message in answer.json["message"]
        assert (await api.get(f"{N}/pods/p")).ok() == before


async def test_the_older_form_of_an_eviction_is_as_good() -> None:
    async with serving() as api:
        (await api.post(f"{N}/pods", POD)).ok()
        (await api.post(f"{N}/pods/p/eviction", eviction(apiVersion="policy/v1beta1"))).ok()
        assert (await api.get(f"{N}/pods/p")).status == 404


async def test_an_evicted_pod_says_that_it_was_unless_the_eviction_was_a_trial() -> None:
    async with serving() as api:
        await bound(api)
        trial = eviction(deleteOptions={"dryRun": ["All"]})
        (await api.post(f"{N}/pods/p/eviction", trial)).ok()
        assert "DisruptionTarget" not in await conditions(api)
        (await api.post(f"{N}/pods/p/eviction", eviction())).ok()
        disruption_target = (await conditions(api))["DisruptionTarget"]
        assert (disruption_target["status"], disruption_target["reason"]) == ("True", "EvictionByEvictionAPI")
        assert disruption_target["message"] == "Eviction API: evicting"
        assert disruption_target["lastTransitionTime"]


@pytest.mark.parametrize("seconds", [30, 0])
async def test_an_evicted_pod_says_so_even_if_it_is_already_being_deleted(seconds: int) -> None:
    async with serving() as api:
        await bound(api)
        held = {"metadata": {"finalizers": ["a.b/c"]}}
        (await api.patch(f"{N}/pods/p", held)).ok()
        deleted = (await api.delete(f"{N}/pods/p", gracePeriodSeconds=seconds)).ok()
        assert "DisruptionTarget" not in await conditions(api)
        (await api.post(f"{N}/pods/p/eviction", eviction(deleteOptions={"dryRun": ["All"]}))).ok()
        assert "DisruptionTarget" not in await conditions(api)
        (await api.post(f"{N}/pods/p/eviction", eviction())).ok()
        assert (await conditions(api))["DisruptionTarget"]["reason"] == "EvictionByEvictionAPI"
        metadata = (await api.get(f"{N}/pods/p")).ok()["metadata"]
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
            assert metadata[name] == deleted["metadata"][name]
        (await api.post(f"{N}/pods/p/eviction", eviction())).ok()
        assert (await api.get(f"{N}/pods/p")).ok()["metadata"]["resourceVersion"] == metadata["resourceVersion"]


async def test_a_pod_that_has_a_node_is_bound_to_no_other() -> None:
    async with serving() as api:
        (await api.post(f"{N}/pods", POD)).ok()
        (await api.post(f"{N}/pods/p/binding", binding())).ok()
        answer = await api.post(f"{N}/pods/p/binding", binding(target={"name": "m"}))
        text = 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"'
        assert (answer.status, answer.json["message"]) == (409, text)


async def test_a_scale_of_no_replicas_can_be_patched_by_operations() -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    async with serving() as api:
        (await api.post(path, {"metadata": {"name": "d"}, "spec": spec})).ok()
        operations = [{"op": "replace", "path": "/spec/replicas", "value": 4}]
        patched = await api.send("PATCH", f"{path}/d/scale", operations, content_type="application/json-patch+json")
        assert patched.ok()["spec"] == {"replicas": 4}
        nameless = await api.put(f"{path}/d/scale", {"spec": {"replicas": 2}})
        assert nameless.failed(400, "BadRequest", "name must be provided")


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("zz", {"zz": 1}),
        ("spec.x", {"spec": {"replicas": 1, "x": 2}}),
        ("spec.Replicas", {"spec": {"Replicas": 1}}),
        ("status.q", {"status": {"replicas": 1, "q": 1}}),
        ("metadata.foo", {"metadata": {"name": "d", "foo": 1}}),
    ],
)
async def test_unknown_fields_of_a_scale_are_warned_of_or_refused(field: str, wrong: dict[str, Any]) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    scale = {"metadata": {"name": "d"}, "spec": {"replicas": 3}, **wrong}
    text = f'unknown field "{field}"'
    async with serving() as api:
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        (await api.post(path, {"metadata": {"name": "d"}, "spec": spec})).ok()
        for way in (api.put, api.patch):
            for validation in ("", "Warn"):
                query = {"fieldValidation": validation} if validation else {}
                answer = await way(f"{path}/d/scale", scale, **query)
                assert field.split(".")[-1] not in str(answer.ok())
                assert answer.warnings == f'299 - "{text.replace(chr(34), chr(92) + chr(34))}"'
            assert not (await way(f"{path}/d/scale", scale, fieldValidation="Ignore")).warnings
        refused = await api.put(f"{path}/d/scale", scale, fieldValidation="Strict")
        what = 'Scale in version "v1" cannot be handled as a Scale: strict decoding error: '
        refused.failed(400, "BadRequest", what + text)
        refused = await api.patch(f"{path}/d/scale", scale, fieldValidation="Strict")
        refused.failed(422, "Invalid", f"strict decoding error: {text}")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"rawSelector": "a=b"}, None),
        ({}, "requirements: Required value: when {} is specified, requirements or rawSelector is required"),
        (
            {"rawSelector": "a=b", "requirements": [{"key": "k", "operator": "In", "values": ["v"]}]},
            'rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
        ),
        (
            {"requirements": [{"key": "k", "operator": "In"}]},
            "requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"requirements": [{"key": "k", "operator": "Exists", "values": ["v"]}]},
            "requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
    ],
)
@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
async def test_selectors_of_a_review_are_checked(name: str, selector: dict[str, Any], message: str | None) -> None:
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    attributes = {"verb": "list", "resource": "pods", name: selector}
    async with serving() as api:
        answer = await api.post(reviews, {"spec": {"user": "u", "resourceAttributes": attributes}})
        if message is None:
            assert "evaluationError" not in answer.ok()["status"]
        else:
            place = f"{ATTRIBUTES}.{name}"
            assert answer.json["message"].endswith(f"{place}.{message.format(place)}")


@pytest.mark.parametrize(
    ("name", "operator", "values", "usable"),
    [
        ("fieldSelector", "In", ["v"], True),
        ("fieldSelector", "In", ["v", "w"], False),
        ("labelSelector", "In", ["v", "w"], True),
        ("labelSelector", "Nope", ["v"], False),
    ],
)
async def test_a_selector_that_cant_be_used_is_named(name: str, operator: str, values: list[str], usable: bool) -> None:
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    selector = {"requirements": [{"key": "k", "operator": operator, "values": values}]}
    attributes = {"verb": "list", "resource": "pods", name: selector}
    async with serving() as api:
        status = (await api.post(reviews, {"spec": {"user": "u", "resourceAttributes": attributes}})).ok()["status"]
        assert status.get("evaluationError") == (None if usable else f"{ATTRIBUTES}.{name} ignored due to parse error")

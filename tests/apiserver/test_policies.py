"""Admission policies and match conditions: the verdicts and words of API servers of 1.36."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, DEPLOYMENTS, MAPS, MYKINDS, Api, config_map, crd, deployment, mykind, serving
from tests.apiserver.test_admission import MUTATING, VALIDATING, adding, allow, configuration, hooked, webhook

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
MUTATIONS = f"{GROUP}/mutatingadmissionpolicies"
MUTATION_BINDINGS = f"{GROUP}/mutatingadmissionpolicybindings"
PATHS = {
    "ConfigMap": MAPS,
    "MutatingAdmissionPolicy": MUTATIONS,
    "MutatingAdmissionPolicyBinding": MUTATION_BINDINGS,
    "ValidatingAdmissionPolicy": POLICIES,
    "ValidatingAdmissionPolicyBinding": BINDINGS,
}
OBSERVED = json.loads((Path(__file__).parent / "observed_policies.json").read_text())
"""The answers of an API server to objects under policies: recorded once."""


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def policy(*validations: str | dict[str, Any], name: str = "p", **spec: Any) -> dict[str, Any]:
    """A policy about everything that is created or changed."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["*"]}
    result = {"matchConstraints": {"resourceRules": [rule]}, **spec}
    if validations:
        result["validations"] = [{"expression": item} if isinstance(item, str) else item for item in validations]
    return {"metadata": {"name": name}, "spec": result}


def mutation(*expressions: str, name: str = "p", **spec: Any) -> dict[str, Any]:
    """A mutating policy about config maps and Mykinds."""
    new_policy = policy(name=name, **{"reinvocationPolicy": "Never", **spec})
    (rule,) = new_policy["spec"]["matchConstraints"]["resourceRules"]
    rule |= {"operations": ["CREATE", "UPDATE"], "resources": ["configmaps", "mykinds"]}
    new_policy["spec"]["mutations"] = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
        if text.startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
        for text in expressions
    ]
    return new_policy


def binding(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": f"{name}-bound"}, "spec": {"policyName": name, **spec}}


DENY = {"validationActions": ["Deny"]}


@pytest.mark.parametrize("case", OBSERVED, ids=lambda case: json.dumps(case["configured"][-2]["spec"])[-60:])
async def test_what_a_policy_does_is_what_it_does_on_a_server(api: Api, case: dict[str, Any]) -> None:
    for document in case["configured"]:
        (await api.post(PATHS[document["kind"]], document)).ok()
    answer = await api.post(MAPS, case["object"], dryRun="All")
    assert answer.warnings == ", ".join(case["warnings"])
    if "message" in case:
        answer.failed(case["code"], case["reason"], case["message"])
        return
    new_answer = answer.ok()
    by_key = {key: new_answer["metadata"].get(key) for key in ("labels", "annotations", "finalizers")}
    by_key["data"] = new_answer.get("data")
    assert {key: value for key, value in by_key.items() if value} == case["made"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            policy("object.x", "nope", " "),
            'spec.validations[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn',
        ),
        (policy("nope == 1"), "undeclared reference to 'nope'"),
        (policy("params.x == 1"), "undeclared reference to 'params'"),
        (policy("request.nope == 1"), "undefined field 'nope'"),
        (policy("variables.x == 1", variables=[{"name": "y", "expression": "1"}]), "undefined field 'x'"),
        (policy({"expression": "true", "messageExpression": "1"}), "must evaluate to string but got int"),
        (
            policy({"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"}),
            "undeclared reference to 'authorizer'",
        ),
        (
            policy({"expression": "true", "reason": "X"}),
            'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        ),
        (policy(), "validations or auditAnnotations must contain at least one item"),
        (
            policy("true", matchConditions=[{"name": "a", "expression": "1 =="}]),
            "spec.matchConditions[0].expression: Invalid value",
        ),
        (policy("true", matchConstraints={}), "spec.matchConstraints.resourceRules: Required value"),
        (policy("true", variables=[{"name": "in", "expression": "1"}]), "must be a valid CEL identifier"),
        (
            policy("true", auditAnnotations=[{"key": "k", "valueExpression": "1"}]),
            "must evaluate to one of [string null_type] but got int",
        ),
    ],
)
async def test_a_policy_that_can_not_be_right_is_refused(api: Api, spec: dict[str, Any], words: str) -> None:
    (await api.post(POLICIES, spec)).failed(422, "Invalid", words)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (mutation("1"), "must evaluate to Object but got int"),
        (mutation("[1]"), "must evaluate to list(JSONPatch) but got list(int)"),
        (mutation("Object.spec{}"), "must evaluate to Object but got Object.spec"),
        (mutation("[JSONPatch{op: 1}]"), "expected type of field 'op' is 'string' but provided type is 'int'"),
        (mutation(), "mutations must contain at least one item"),
    ],
)
async def test_a_mutation_that_can_not_be_right_is_refused(api: Api, spec: dict[str, Any], words: str) -> None:
    (await api.post(MUTATIONS, spec)).failed(422, "Invalid", words)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "spec.validationActions: Required value"),
        ({"validationActions": ["Deny", "Warn"]}, "must not contain both Deny and Warn"),
        ({**DENY, "paramRef": {"name": "a"}}, "spec.paramRef.parameterNotFoundAction: Required value"),
        ({**DENY, "paramRef": {"parameterNotFoundAction": "Deny"}}, "one of name or selector must be specified"),
    ],
)
async def test_a_binding_that_can_not_be_right_is_refused(api: Api, spec: dict[str, Any], words: str) -> None:
    (await api.post(BINDINGS, binding(**spec))).failed(422, "Invalid", words)


async def test_a_policy_is_in_force_with_its_binding_and_no_longer(api: Api) -> None:
    (await api.post(POLICIES, policy("false"))).ok()
    (await api.post(MAPS, config_map("a"))).ok()
    (await api.post(BINDINGS, binding(**DENY))).ok()
    (await api.post(MAPS, config_map("b"))).failed(422, "Invalid", "failed expression: false")
    (await api.delete(f"{BINDINGS}/p-bound")).ok()
    (await api.post(MAPS, config_map("b"))).ok()


async def test_updates_and_deletions_see_the_old_object(api: Api) -> None:
    (await api.post(MAPS, config_map("a"))).ok()
    rules = policy(
        "request.operation != 'UPDATE' || object.?data == oldObject.?data",
        "request.operation != 'DELETE' || (object == null && oldObject.metadata.name != 'a')",
    )
    (await api.post(POLICIES, rules)).ok()
    (await api.post(BINDINGS, binding(**DENY))).ok()
    (await api.patch(f"{MAPS}/a", {"data": {"x": "new"}})).failed(422, "Invalid", "object.?data == oldObject.?data")
    (await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "y"}}})).ok()
    (await api.delete(f"{MAPS}/a")).failed(422, "Invalid", "denied request")


async def test_policies_are_no_obstacle_to_policies(api: Api) -> None:
    (await api.post(POLICIES, policy("false"))).ok()
    (await api.post(BINDINGS, binding(**DENY))).ok()
    (await api.delete(f"{POLICIES}/p")).ok()


async def test_custom_resources_are_changed_within_their_schema(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    (await api.post(MUTATIONS, mutation("Object{spec: Object.spec{numpods: object.spec.numpods + 1}}"))).ok()
    (await api.post(MUTATION_BINDINGS, binding())).ok()
    new_mykind = (await api.post(MYKINDS, mykind(spec={"numpods": 3}))).ok()
    assert new_mykind["spec"]["numpods"] == 4


async def test_a_whole_double_of_a_policys_patch_is_an_integer(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    for collection, field, obj in (
        (DEPLOYMENTS, "replicas", deployment()),
        (DEPLOYMENTS, "minReadySeconds", deployment("other")),
        (MYKINDS, "numpods", mykind(spec={"numpods": 1})),
    ):
        name = field.lower()
        patching = mutation(f"[JSONPatch{{op: 'add', path: '/spec/{field}', value: 3.0}}]", name=name)
        (rule,) = patching["spec"]["matchConstraints"]["resourceRules"]
        rule |= {"apiGroups": ["*"], "apiVersions": ["*"], "resources": [collection.rpartition("/")[2]]}
        (await api.post(MUTATIONS, patching)).ok()
        (await api.post(MUTATION_BINDINGS, binding(name))).ok()
        assert repr((await api.post(collection, obj)).ok()["spec"][field]) == "3"


async def test_a_policy_sees_again_what_a_webhook_changed() -> None:
    async with hooked(a=adding("/data/hook", "1")) as (api, _):
        (
            await api.post(
                MUTATIONS, mutation("Object{data: {'seen': string(object.data.size())}}", reinvocationPolicy="IfNeeded")
            )
        ).ok()
        (await api.post(MUTATION_BINDINGS, binding())).ok()
        (await api.post(MUTATING, configuration(webhook(rule={"resources": ["configmaps"]})))).ok()
        new_config_map = (await api.post(MAPS, config_map("a", data={"x": "1"}))).ok()
        assert new_config_map["data"] == {"x": "1", "hook": "1", "seen": "3"}


async def test_validating_policies_come_before_validating_webhooks() -> None:
    async with hooked(a=allow) as (api, webhooks):
        (await api.post(VALIDATING, configuration(webhook(rule={"resources": ["configmaps"]})))).ok()
        (await api.post(POLICIES, policy("object.kind != 'ConfigMap'"))).ok()
        (await api.post(BINDINGS, binding(**DENY))).ok()
        (await api.post(MAPS, config_map("a"))).failed(422, "Invalid")
        assert webhooks.names == ""


@pytest.mark.parametrize(
    ("conditions", "policy_", "code", "expected"),
    [
        (["object.metadata.name == 'a'"], "Fail", 201, "a"),
        (["object.metadata.name == 'b'"], "Fail", 201, ""),
        (["true", "request.userInfo.username == 'other'"], "Fail", 201, ""),
        (["object.nope == 1", "false"], "Fail", 201, ""),
        (["object.nope == 1"], "Fail", 403, ""),
        (["object.nope == 1"], "Ignore", 201, ""),
        (
            [
                "oldObject == null && namespaceObject == null",
                "authorizer.group('').resource('x').check('get').allowed()",
            ],
            "Fail",
            201,
            "a",
        ),
    ],
)
async def test_match_conditions_of_webhooks(conditions: list[str], policy_: str, code: int, expected: str) -> None:
    async with hooked(a=allow) as (api, webhooks):
        entries = [{"name": f"c{index}", "expression": text} for index, text in enumerate(conditions)]
        hook = webhook(rule={"resources": ["configmaps"]}, matchConditions=entries, failurePolicy=policy_)
        (await api.post(VALIDATING, configuration(hook))).ok()
        answer = await api.post(MAPS, config_map("a"))
        assert (answer.status, webhooks.names) == (code, expected)
        if code == 403:
            said = "expression 'object.nope == 1' resulted in error: no such key: nope"
            answer.failed(403, "Forbidden", f'configmaps "a" is forbidden: {said}')


async def test_an_expensive_condition_is_given_up() -> None:
    async with hooked(a=allow) as (api, _):
        costly = "lists.range(900).all(x, lists.range(900).all(y, x + y >= 0))"
        hook = webhook(rule={"resources": ["configmaps"]}, matchConditions=[{"name": "c", "expression": costly}])
        (await api.post(VALIDATING, configuration(hook))).ok()
        refused = await api.post(MAPS, config_map("a"))
        refused.failed(403, "Forbidden", "operation cancelled: actual cost limit exceeded")

"""Rules of custom resources and admission policies, as kubectl shows them."""

from __future__ import annotations

from typing import Annotated, Any

from setpoint.crd import CustomResource, Field, ValidationRule, crd_for, immutable
from setpoint.meta import Model, to_wire

from .conftest import Kubectl, config_map

GREETS = ValidationRule(
    rule="self.words.all(word, word.size() < 9)", message="words must be short", field_path=".words"
)


class FerrySpec(Model, rules=[GREETS, "self.low <= self.high"]):
    low: int = 0
    high: int = 9
    port: Annotated[str, Field(max_length=20, rules=[immutable()])] = "home"
    words: Annotated[list[Annotated[str, Field(max_length=30)]], Field(max_length=5)] = []


class Ferry(CustomResource, group="ferries.example.com", version="v1"):
    """A boat that comes back."""

    spec: FerrySpec = FerrySpec()


def ferry(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "ferries.example.com/v1", "kind": "Ferry", "metadata": {"name": "one"}, "spec": spec}


def policy(action: str, expression: str, message: str) -> list[dict[str, Any]]:
    """A policy about config maps that are made or changed, and its binding."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": action.lower()}}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": message}],
    }
    bound = {"policyName": action.lower(), "validationActions": [action]}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound},
    ]


async def test_kubectl_shows_which_rules_an_object_breaks(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=to_wire(crd_for(Ferry)))
    refused = await kubectl("create", "-f", "-", stdin=ferry(low=10, words=["long and windy"]), fails=True)
    assert refused.err.splitlines() == [
        'The Ferry "one" is invalid: ',
        "* spec.words: Invalid value: words must be short",
        "* spec: Invalid value: failed rule: self.low <= self.high",
    ]
    refused = await kubectl("create", "-f", "-", stdin=ferry(low=1), fails=True)
    assert refused.err == (
        'The Ferry "one" is invalid: spec: Invalid value: "object": no such key: words evaluating rule: '
        "words must be short"
    )
    await kubectl("create", "-f", "-", stdin=ferry(low=1, words=[]))
    refused = await kubectl("patch", "ferry", "one", "--type=merge", "-p", '{"spec":{"port":"away"}}', fails=True)
    assert refused.err == 'The Ferry "one" is invalid: spec.port: Invalid value: "away": is immutable'


async def test_kubectl_shows_a_rule_that_does_not_compile(kubectl: Kubectl) -> None:
    definition: Any = to_wire(crd_for(Ferry))
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"][1]["rule"] = "self.low <= self.hihg"
    refused = await kubectl("create", "-f", "-", stdin=definition, fails=True)
    assert refused.err.splitlines() == [
        'The CustomResourceDefinition "ferries.ferries.example.com" is invalid: '
        'spec.validation.openAPIV3Schema.properties[spec].default: Invalid value: "object": rule compile error: '
        "compilation failed: ERROR: <input>:1:17: undefined field 'hihg'",
        " | self.low <= self.hihg",
        " | ................^",
    ]


async def test_kubectl_shows_what_policies_refuse_and_warn_of(kubectl: Kubectl) -> None:
    for document in policy("Deny", "object.data.size() < 3", "at most 2 keys") + policy(
        "Warn", "has(object.data.owner)", "say whose it is"
    ):
        await kubectl("create", "-f", "-", stdin=document)
    warned = await kubectl("create", "-f", "-", stdin=config_map("mine", a="1"))
    assert warned.err == (
        "Warning: Validation failed for ValidatingAdmissionPolicy 'warn' with binding 'warn': say whose it is"
    )
    refused = await kubectl("create", "-f", "-", stdin=config_map("full", owner="me", a="1", b="2"), fails=True)
    assert refused.err == (
        "The configmaps \"full\" is invalid: : ValidatingAdmissionPolicy 'deny' with binding 'deny' denied request: "
        "at most 2 keys"
    )

"""Rules of custom resources: refused with the definition, enforced on objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, MYKINDS, Api, crd, crd_version, mykind, serving

CRD = f"{CRDS}/mykinds.grp.example.com"
STEADY = {"rule": "self.numpods == oldSelf.numpods", "message": "numpods is immutable"}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def ruled(*rules: str | dict[str, Any]) -> dict[str, Any]:
    """A definition with rules on the spec."""
    version = crd_version()
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"] = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return crd(versions=[version])


async def test_a_rule_that_does_not_compile_is_refused_with_its_place(api: Api) -> None:
    refused = await api.post(CRDS, ruled("self.numpods > 0", "self.nope > 0"))
    status = refused.failed(422, "Invalid", "undefined field 'nope'")
    (cause,) = status["details"]["causes"]
    assert cause["field"] == "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[1].rule"


async def test_a_rule_that_costs_too_much_is_refused(api: Api) -> None:
    definition = ruled()
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["words"] = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}],
    }
    refused = await api.post(CRDS, definition)
    refused.failed(422, "Invalid", "estimated rule cost exceeds budget by factor of more than 100x")


async def test_a_default_that_breaks_a_rule_is_refused(api: Api) -> None:
    definition = ruled()
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["numpods"]["x-kubernetes-validations"] = [{"rule": "self > 1"}]
    (await api.post(CRDS, definition)).failed(
        422, "Invalid", "numpods].default: Invalid value: 1: failed rule: self > 1"
    )


async def test_objects_keep_the_rules_after_defaults_are_set(api: Api) -> None:
    rules = ({"rule": "self.numpods < 5", "message": "no more than 4", "fieldPath": ".numpods"},)
    (await api.post(CRDS, ruled(*rules, "self.numpods > 0"))).ok()
    (await api.post(MYKINDS, mykind("fine", spec={}))).ok()
    status = (await api.post(MYKINDS, mykind(spec={"numpods": 7}))).failed(422, "Invalid")
    assert status["message"] == 'Mykind.grp.example.com "one" is invalid: spec.numpods: Invalid value: no more than 4'
    (await api.post(MYKINDS, mykind(spec={"numpods": 0}))).failed(422, "Invalid", "spec: Invalid value: failed rule:")


async def test_transition_rules_see_what_was_there(api: Api) -> None:
    (await api.post(CRDS, ruled(STEADY))).ok()
    (await api.post(MYKINDS, mykind(spec={"numpods": 2}))).ok()
    one = f"{MYKINDS}/one"
    (await api.patch(one, {"spec": {"numpods": 3}})).failed(422, "Invalid", "spec: Invalid value: numpods is immutable")
    (await api.patch(one, {"spec": {"color": "red"}})).ok()


async def test_a_broken_schema_keeps_rules_from_being_asked(api: Api) -> None:
    (await api.post(CRDS, ruled("self.numpods < 5"))).ok()
    refused = await api.post(MYKINDS, mykind(spec={"numpods": "x"}))
    refused.failed(422, "Invalid", "some validation rules were not checked because the object was invalid")


async def test_rules_of_later_are_only_warned_of_for_what_did_not_change(api: Api) -> None:
    (await api.post(CRDS, ruled())).ok()
    (await api.post(MYKINDS, mykind(spec={"numpods": 7}))).ok()
    definition = (await api.get(CRD)).ok()
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["numpods"]["x-kubernetes-validations"] = [{"rule": "self < 5", "message": "too many"}]
    (await api.put(CRD, definition)).ok()
    one = f"{MYKINDS}/one"
    changed = await api.patch(one, {"spec": {"color": "red"}})
    assert changed.ok()
    assert "spec.numpods: Invalid value: 7: too many" in changed.warnings
    (await api.patch(one, {"spec": {"numpods": 8}})).failed(422, "Invalid", "too many")


async def test_the_status_is_judged_too(api: Api) -> None:
    definition = ruled()
    properties = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["status"]["x-kubernetes-validations"] = [{"rule": "!has(self.ready) || self.ready < 5"}]
    (await api.post(CRDS, definition)).ok()
    (await api.post(MYKINDS, mykind())).ok()
    refused = await api.patch(f"{MYKINDS}/one/status", {"status": {"ready": 9}})
    refused.failed(422, "Invalid", "status: Invalid value: failed rule: !has(self.ready) || self.ready < 5")


async def test_rules_that_were_taken_are_no_obstacle_later(api: Api) -> None:
    (await api.post(CRDS, ruled("self.numpods < 5"))).ok()
    definition = (await api.get(CRD)).ok()
    definition["metadata"]["labels"] = {"a": "b"}
    (await api.put(CRD, definition)).ok()


@pytest.mark.parametrize("field", ["namespace", "for", "if", "as", "package", "__namespace__"])
async def test_fields_may_be_named_by_reserved_words(api: Api, field: str) -> None:
    name = field.strip("_")
    definition = ruled(f"!has(self.{field}) || self.{field} == 'right'")
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"][name] = {"type": "string"}
    (await api.post(CRDS, definition)).ok()
    (await api.post(MYKINDS, mykind("right", spec={name: "right"}))).ok()
    (await api.post(MYKINDS, mykind("wrong", spec={name: "wrong"}))).failed(422, "Invalid", "failed rule")


@pytest.mark.parametrize("field", ["in", "true", "null"])
async def test_words_of_the_language_are_escaped(api: Api, field: str) -> None:
    definition = ruled(f"self.{field} == 'right'")
    spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"][field] = {"type": "string"}
    (await api.post(CRDS, definition)).failed(422, "Invalid", "compilation failed")

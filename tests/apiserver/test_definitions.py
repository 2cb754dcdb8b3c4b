"""The rules for CustomResourceDefinitions, and how their versions and defaults change what is read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.harness import CRDS, MERGE, Api, serving

JsonObject = dict[str, Any]
THINGS = "/apis/cases.example.com/{}/namespaces/default/things"
OBJECT: JsonObject = {"type": "object"}


def schema(**fields: JsonObject) -> JsonObject:
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}}


def version(name: str = "v1", **fields: Any) -> JsonObject:
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": OBJECT}, **fields}


def definition(*versions: JsonObject, group: str = "cases.example.com", **fields: Any) -> JsonObject:
    metadata = {"name": f"things.{group}", **fields.pop("metadata", {})}
    spec = {"group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, **fields}
    return {"metadata": metadata, "spec": {**spec, "versions": [*versions] or [version()]}}


def thing(name: str, api_version: str = "v1", **fields: Any) -> JsonObject:
    return {"apiVersion": f"cases.example.com/{api_version}", "kind": "Thing", "metadata": {"name": name}, **fields}


async def serve(api: Api, *versions: JsonObject, **fields: Any) -> None:
    (await api.post(CRDS, definition(*versions, **fields))).ok()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"additionalPrinterColumns": [{"name": "B", "type": "string", "format": "odd", "jsonPath": ".b"}]},
            'spec.additionalPrinterColumns[0].format: Invalid value: "odd": must be one of '
            "byte,date,date-time,double,float,int32,int64,password",
        ),
        (
            {"additionalPrinterColumns": [{"name": "B", "type": "odd", "jsonPath": "b"}]},
            'spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of '
            "boolean,date,integer,number,string, spec.additionalPrinterColumns[0].JSONPath: Invalid value: "
            '"b": must be a simple json path starting with .',
        ),
        (
            {"deprecated": True, "deprecationWarning": "o" * 257},
            f'spec.versions[0].deprecationWarning: Invalid value: "{"o" * 257}": must be <= 256 characters long',
        ),
        (
            {"deprecated": True, "deprecationWarning": "a\nb"},
            'spec.versions[0].deprecationWarning: Invalid value: "a\\nb": must only contain printable UTF-8 '
            "characters; non-printable character found at index 1",
        ),
        (
            {"deprecated": True, "deprecationWarning": ""},
            'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
        ),
        (
            {"deprecationWarning": "a"},
            'spec.versions[0].deprecationWarning: Invalid value: "a": can only be set for deprecated versions',
        ),
        (
            {"schema": schema(a={"type": "string"}), "selectableFields": [{"jsonPath": ".spec.nope"}]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.nope": is an invalid path: does not refer to a '
            "valid field",
        ),
        (
            {"schema": schema(a={"type": "string"}), "selectableFields": [{"jsonPath": ".metadata.name"}]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": is an invalid path: does not refer to '
            "a valid field",
        ),
        (
            {"schema": schema(a={"type": "string"}), "selectableFields": [{"jsonPath": ".spec"}]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean '
            "or integer. Enum string fields and strings with formats are allowed.",
        ),
        (
            {"schema": schema(a={"type": "string"}), "selectableFields": [{"jsonPath": ".spec['a']"}]},
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec['a']\": is an invalid path: array notation is "
            "not allowed",
        ),
        (
            {"subresources": {"scale": {"specReplicasPath": ".status.a", "statusReplicasPath": "a"}}},
            'spec.subresources.scale.specReplicasPath: Invalid value: ".status.a": should be a json path under .spec, '
            'spec.subresources.scale.statusReplicasPath: Invalid value: "a": must be a simple json path starting with '
            ".",
        ),
    ],
)
async def test_a_part_of_a_version_is_refused_in_upstreams_words(fields: JsonObject, text: str) -> None:
    async with serving() as api:
        answer = await api.post(CRDS, definition(version(**fields)))
        answer.failed(422, "Invalid", text)


async def test_parts_that_versions_do_not_share_are_named_with_their_version() -> None:
    column = {"name": "B", "type": "string", "format": "odd", "jsonPath": ".b"}
    async with serving() as api:
        answer = await api.post(CRDS, definition(version(), version("v2", additionalPrinterColumns=[column])))
        answer.failed(422, "Invalid", "spec.versions[1].additionalPrinterColumns[0].format: Invalid value")


async def test_formats_that_are_not_checked_are_warned_of_when_they_are_new() -> None:
    fields = {"a": {"type": "string", "format": "odd"}, "format": {"type": "string", "format": "date-time"}}
    sets = {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"type": "object", "x-kubernetes-map-type": "atomic"},
    }
    async with serving() as api:
        created = await api.post(CRDS, definition(version(schema=schema(**fields))))
        assert created.warnings == '299 - "unrecognized format \\"odd\\""'
        changed = definition(version(schema=schema(**fields, b={"type": "integer", "format": "float"}, c=sets)))
        answer = await api.patch(f"{CRDS}/things.cases.example.com", {"spec": changed["spec"]})
        assert answer.status == 200, answer.body
        assert 'unrecognized format \\"float\\"' in answer.warnings
        assert 'set for items of type \\"object\\" is not supported' in answer.warnings
        assert "odd" not in answer.warnings


APPROVED = "api-approved.kubernetes.io"


@pytest.mark.parametrize("group", ["foo.k8s.io", "k8s.io", "foo.kubernetes.io"])
async def test_a_definition_in_a_group_of_the_community_needs_an_approval(group: str) -> None:
    async with serving() as api:
        answer = await api.post(CRDS, definition(group=group))
        field = f"metadata.annotations[{APPROVED}]: Required value: protected groups must have approval annotation"
        answer.failed(422, "Invalid", field)
        odd = definition(group=group, metadata={"annotations": {APPROVED: "yes"}})
        (await api.post(CRDS, odd)).failed(422, "Invalid", 'Invalid value: "yes"', 'starting with "unapproved"')
        for value in ("https://github.com/kubernetes/enhancements/pull/1", "unapproved, for a test"):
            approved = definition(group=group, metadata={"annotations": {APPROVED: value}})
            (await api.post(CRDS, approved, dryRun="All")).ok()


async def test_an_approval_that_is_missing_may_stay_missing() -> None:
    async with serving() as api:
        approved = definition(group="foo.k8s.io", metadata={"annotations": {APPROVED: "unapproved"}})
        (await api.post(CRDS, approved)).ok()
        name = f"{CRDS}/things.foo.k8s.io"
        (await api.patch(name, {"metadata": {"labels": {"a": "b"}}})).ok()
        removed = await api.patch(name, {"metadata": {"annotations": None}})
        removed.failed(422, "Invalid", "Required value: protected groups")


async def test_a_default_of_the_status_is_that_of_an_object_without_one() -> None:
    status = {"type": "object", "default": {"phase": "Pending"}, "properties": {"phase": {"type": "string"}}}
    properties = {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "status": status}
    document = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    things = THINGS.format("v1")
    async with serving() as api:
        await serve(api, version(schema=document, subresources={"status": {}}))
        for given in ({}, {"status": {"phase": "Odd"}}):
            name = f"o{len(given)}"
            created = (await api.post(things, thing(name, spec={"a": "1"}, **given))).ok()
            assert created["status"] == {"phase": "Pending"}
            assert (await api.get(f"{things}/{name}")).ok()["status"] == {"phase": "Pending"}
            (await api.patch(f"{things}/{name}/status", {"status": {"phase": "Ready"}})).ok()
            changed = (await api.put(f"{things}/{name}", {**created, "metadata": {"name": name}, "spec": {}})).body
            assert b'"phase":"Ready"' in changed or b"resourceVersion" in changed
            assert (await api.get(f"{things}/{name}")).ok()["status"] == {"phase": "Ready"}


@pytest.mark.parametrize(
    ("field", "code", "text"),
    [
        ({"type": "object", "additionalProperties": "x"}, 400, "boolean or JSON schema expected"),
        ({"type": "object", "not": {"additionalItems": 3}}, 400, "boolean or JSON schema expected"),
        ({"type": "array", "items": "x"}, 422, "properties[a].items: Required value: must be specified"),
        ({"type": "object", "additionalProperties": None, "default": {}}, 200, ""),
    ],
)
async def test_parts_of_schemas_that_are_no_schemas_are_refused(field: JsonObject, code: int, text: str) -> None:
    async with serving() as api:
        answer = await api.post(CRDS, definition(version(schema=schema(a=field))), dryRun="All")
        if code == 200:
            answer.ok()
        else:
            answer.failed(code, "BadRequest" if code == 400 else "Invalid", text)


@pytest.mark.parametrize(
    "spec", [5, "x", [], True, {"versions": 5}, {"versions": [5]}, {"versions": [{"schema": 5}]}], ids=repr
)
async def test_a_definition_with_a_part_of_another_type_is_refused(spec: Any) -> None:
    async with serving() as api:
        answer = await api.post(CRDS, {"metadata": {"name": "things.cases.example.com"}, "spec": spec}, dryRun="All")
        answer.failed(400, "BadRequest", "json: cannot unmarshal")


async def test_selectable_fields_that_versions_of_one_schema_do_not_share_are_refused() -> None:
    document, fields = schema(a={"type": "string"}), [{"jsonPath": ".spec.a"}]
    first = version(schema=document, selectableFields=fields)
    async with serving() as api:
        for second, text in (
            (version("v2", schema=document), "may only be set when `version.schema.openAPIV3Schema` is not included"),
            (version("v2", schema=document, selectableFields=fields), ""),
            (version("v2", schema=schema(b={"type": "string"})), ""),
        ):
            answer = await api.post(CRDS, definition(first, second), dryRun="All")
            if text:
                answer.failed(422, "Invalid", f'spec.versions[0].selectableFields: Invalid value: "": {text}')
            else:
                answer.ok()


async def test_a_write_in_another_version_is_answered_with_the_defaults_of_the_stored_one() -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string", "default": "d"}}}}
    first = schema(b={"type": "string", "default": "one"}, rows=rows)
    open_ended = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    new = THINGS.format("v2")
    async with serving() as api:
        await serve(api, version(schema=first), version("v2", schema=open_ended))
        sent = thing("o", "v2", spec={"rows": [{"k": None}]})
        for query in ({"dryRun": "All"}, {}):
            created = (await api.post(new, sent, **query)).ok()
            assert created["spec"] == {"b": "one", "rows": [{"k": "d"}]}
        changed = (await api.patch(f"{new}/o", {"spec": {"b": None, "rows": [{}]}}, MERGE)).ok()
        assert changed["spec"] == {"b": "one", "rows": [{"k": "d"}]}


async def test_the_first_request_to_delete_a_definition_only_marks_it() -> None:
    async with serving() as api:
        await serve(api, version(schema=schema(a={"type": "string"})))
        (await api.post(THINGS.format("v1"), thing("o", metadata={"name": "o", "finalizers": ["example.com/f"]}))).ok()
        path = f"{CRDS}/things.cases.example.com"
        first = (await api.delete(path, propagationPolicy="Foreground")).ok()["metadata"]
        assert first["generation"] == 1
        assert "deletionTimestamp" in first
        assert "deletionGracePeriodSeconds" not in first
        assert first["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        second = (await api.delete(path)).ok()["metadata"]
        assert (second["generation"], second["deletionGracePeriodSeconds"]) == (1, 0)


async def test_an_object_in_another_version_has_the_fields_of_both_and_the_defaults_of_the_stored_one() -> None:
    first = schema(a={"type": "string"}, b={"type": "string", "default": "one"})
    second = schema(a={"type": "string"}, c={"type": "string", "default": "two"})
    old, new = THINGS.format("v1"), THINGS.format("v2")
    async with serving() as api:
        await serve(api, version(schema=first), version("v2", schema=second))
        (await api.post(old, thing("o", spec={"a": "1"}))).ok()
        assert (await api.get(f"{new}/o")).ok()["spec"] == {"a": "1"}
        created = (await api.post(new, thing("p", "v2", spec={"a": "1", "c": "3"}))).ok()
        assert created["spec"] == {"a": "1"}
        assert (await api.get(f"{old}/p")).ok()["spec"] == {"a": "1", "b": "one"}
        listed = (await api.get(new)).ok()
        assert listed["metadata"]["continue"] == ""  # as upstream's, which omits it in lists of built-in kinds
        assert [item["spec"] for item in listed["items"]] == [{"a": "1"}, {"a": "1"}]
        async with api.watch(new, resourceVersion="0") as events:
            assert [obj["spec"] for _, obj in await events.take(2)] == [{"a": "1"}, {"a": "1"}]
        (await api.patch(f"{new}/o", {"spec": {"a": "2", "c": "4"}}, MERGE)).ok()
        assert (await api.get(f"{old}/o")).ok()["spec"] == {"a": "2", "b": "one"}


async def test_versions_with_one_schema_keep_all_fields() -> None:
    shared = schema(a={"type": "string"})
    async with serving() as api:
        await serve(api, version(schema=shared), version("v2", schema=shared))
        (await api.post(THINGS.format("v1"), thing("o", spec={"a": "1"}))).ok()
        assert (await api.get(f"{THINGS.format('v2')}/o")).ok()["spec"] == {"a": "1"}


async def test_a_conversion_can_be_mended_while_the_definition_is_being_deleted() -> None:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/x"}}
    versions = version(schema=schema(a={"type": "string"})), version("v2", schema=schema(b={"type": "string"}))
    things = THINGS.format("v1")
    async with serving() as api:
        await serve(api, *versions, conversion={"strategy": "Webhook", "webhook": webhook})
        (await api.post(things, {**thing("o"), "metadata": {"name": "o", "finalizers": ["example.com/f"]}})).ok()
        assert (await api.get(f"{THINGS.format('v2')}/o")).status == 500
        await api.delete(f"{CRDS}/things.cases.example.com")
        patch = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        (await api.patch(f"{CRDS}/things.cases.example.com", patch)).ok()
        assert (await api.get(f"{THINGS.format('v2')}/o")).ok()["apiVersion"] == "cases.example.com/v2"
        (await api.patch(f"{THINGS.format('v2')}/o", {"metadata": {"finalizers": None}})).ok()
        assert (await api.get(f"{CRDS}/things.cases.example.com")).status == 404

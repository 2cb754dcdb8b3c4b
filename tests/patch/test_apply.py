from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from setpoint.patch import apply as ssa
from setpoint.patch import initial_managed_fields
from setpoint.patch.apply import ApplyConflict, ApplyResult, Endpoint, InvalidApply
from setpoint.patch.fieldset import FieldSet, Path
from setpoint.patch.managed_fields import Managed, managers_of_request
from setpoint.patch.typed import field_set
from setpoint.schema import ANYTHING, Schema, Schemas

from .worlds import DEFINITIONS, THING, thing, things

NOTHING: dict[str, Any] = {"apiVersion": "t/v1", "kind": "Thing", "metadata": {"name": "x"}}
NOW = "2024-01-01T00:00:00Z"
LATER = "2024-01-02T00:00:00Z"


def apply(
    live: Any, applied: Any, manager: str = "m", *, now: str = NOW, schema: Schema = THING, **options: Any
) -> ApplyResult:
    managers = ((live or {}).get("metadata") or {}).get("managedFields") or []
    force = options.pop("force", False)
    return ssa.apply(Endpoint(schema, "t/v1", **options), live, applied, managers, manager, force=force, now=now)


def update(
    live: Any, new: Any, manager: str = "m", *, now: str = NOW, schema: Schema = THING, **options: Any
) -> dict[str, Any]:
    if live is None:
        entries = initial_managed_fields.create(schema, new, manager, api_version="t/v1", now=now, zero={}, **options)
    else:
        managers = (live.get("metadata") or {}).get("managedFields") or []
        endpoint = Endpoint(schema, "t/v1", **options)
        entries = ssa.update(endpoint, live, new, Managed.decode(managers), manager, now=now)
    return with_entries(new, entries)


def with_entries(value: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    metadata = {name: item for name, item in (value.get("metadata") or {}).items() if name != "managedFields"}
    return {**value, "metadata": {**metadata, **({"managedFields": entries} if entries else {})}}


def plain(value: dict[str, Any]) -> dict[str, Any]:
    return with_entries(value, [])


def owned(value: dict[str, Any], manager: str, operation: str | None = None) -> set[str]:
    """The paths a manager owns, as text."""
    paths: set[Path] = set()
    for entry in value["metadata"].get("managedFields", []):
        if entry["manager"] == manager and operation in (None, entry["operation"]):
            paths |= set(FieldSet.from_fields_v1(entry["fieldsV1"]))
    return {ssa.path_text(path) for path in paths}


def owners(value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["manager"], entry["operation"]) for entry in value["metadata"].get("managedFields", [])]


def test_creating_by_apply_owns_what_was_applied() -> None:
    result = apply(None, thing({"replicas": 3, "containers": [{"name": "c", "image": "i"}]}, {"labels": {"a": "b"}}))
    assert plain(result.object) == thing(
        {"replicas": 3, "containers": [{"name": "c", "image": "i"}]}, {"labels": {"a": "b"}}
    )
    assert result.managed_fields == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "t/v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {
                    "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}},
                    "f:replicas": {},
                },
            },
        }
    ]


def test_another_value_of_an_owned_field_is_a_conflict() -> None:
    live = update(None, thing({"replicas": 3}), "kubectl-client-side-apply")
    with pytest.raises(ApplyConflict) as caught:
        apply(live, thing({"replicas": 5}))
    assert caught.value.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using t/v1: .spec.replicas'
    )
    assert caught.value.causes == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-client-side-apply" using t/v1',
            "field": ".spec.replicas",
        }
    ]


def test_several_conflicts_are_listed_by_manager() -> None:
    live = apply(None, thing({"replicas": 3, "paused": True}), "x").object
    live = apply(live, thing({"containers": [{"name": "c", "image": "1"}]}), "y", subresource="scale").object
    live = update(live, {**live, "spec": {**live["spec"], "args": ["a"]}}, "z", subresource="status")
    want = thing({"replicas": 5, "paused": False, "args": ["b"], "containers": [{"name": "c", "image": "2"}]})
    with pytest.raises(ApplyConflict) as caught:
        apply(live, want)
    assert caught.value.message == (
        "Apply failed with 4 conflicts: "
        'conflicts with "x":\n- .spec.paused\n- .spec.replicas\n'
        'conflicts with "y" with subresource "scale":\n- .spec.containers[name="c"].image\n'
        'conflicts with "z" with subresource "status" using t/v1:\n- .spec.args'
    )


def test_force_takes_the_field_over() -> None:
    live = update(None, thing({"replicas": 3, "paused": True}), "other")
    result = apply(live, thing({"replicas": 5}), force=True).object
    assert result["spec"] == {"replicas": 5, "paused": True}
    assert owned(result, "m") == {".spec.replicas"}
    assert owned(result, "other") == {".spec", ".spec.paused"}


def test_an_equal_value_is_owned_together() -> None:
    live = apply(None, thing({"replicas": 3}), "a").object
    live = apply(live, thing({"replicas": 3}), "b").object
    assert owned(live, "a") == owned(live, "b") == {".spec.replicas"}
    gone = apply(live, NOTHING, "a").object
    assert gone["spec"] == {"replicas": 3}
    assert owners(gone) == [("b", "Apply")]


def test_what_is_left_out_is_removed_if_nobody_else_owns_it() -> None:
    live = apply(None, thing({"replicas": 3, "containers": [{"name": "a"}, {"name": "b"}], "args": ["x"]})).object
    result = apply(live, thing({"containers": [{"name": "b"}]})).object
    assert result["spec"] == {"containers": [{"name": "b"}]}


def test_an_item_somebody_added_to_survives_its_first_owner() -> None:
    live = apply(None, thing({"containers": [{"name": "a", "image": "1"}]}), "first").object
    live = apply(live, thing({"containers": [{"name": "a", "args": ["x"]}]}), "second").object
    result = apply(live, NOTHING, "first").object
    assert result["spec"] == {"containers": [{"name": "a", "args": ["x"]}]}
    assert owners(result) == [("second", "Apply")]


def test_an_item_goes_with_its_last_owner_even_if_an_update_touched_it() -> None:
    live = apply(None, thing({"containers": [{"name": "a"}, {"name": "b"}]})).object
    changed = copy.deepcopy(live)
    changed["spec"]["containers"][0]["image"] = "injected"
    live = update(live, changed, "injector")
    result = apply(live, thing({"containers": [{"name": "b"}]})).object
    assert result["spec"] == {"containers": [{"name": "b"}]}
    assert owners(result) == [("m", "Apply")]


def test_order_of_applied_items_wins_and_others_stay_between() -> None:
    live = thing({"containers": [{"name": "a"}, {"name": "s"}, {"name": "b"}]})
    result = apply(live, thing({"containers": [{"name": "b"}, {"name": "a"}]})).object
    assert [item["name"] for item in result["spec"]["containers"]] == ["s", "b", "a"]


def test_an_atomic_list_is_owned_as_one() -> None:
    live = apply(None, thing({"args": ["x", "y"]}), "a").object
    with pytest.raises(ApplyConflict, match=r"\.spec\.args"):
        apply(live, thing({"args": ["x"]}), "b")
    assert apply(live, thing({"args": ["x"]}), "a").object["spec"] == {"args": ["x"]}


def test_an_atomic_map_is_owned_as_one() -> None:
    live = apply(None, thing({"selector": {"a": "x"}}), "a").object
    assert owned(live, "a") == {".spec.selector"}
    with pytest.raises(ApplyConflict, match=r"\.spec\.selector"):
        apply(live, thing({"selector": {"a": "x", "b": "y"}}), "b")


def test_defaulted_keys_identify_an_item() -> None:
    live = apply(None, thing({"containers": [{"name": "c", "ports": [{"port": 1}]}]})).object
    assert '.spec.containers[name="c"].ports[port=1,protocol="TCP"]' in owned(live, "m")


def test_applying_nothing_new_changes_nothing() -> None:
    live = apply(None, thing({"replicas": 3})).object
    again = apply(live, thing({"replicas": 3}), now=LATER)
    assert not again.changed
    assert again.object == live
    assert again.managed_fields == live["metadata"]["managedFields"]


def test_time_moves_with_the_object_and_not_with_the_set_alone() -> None:
    live = apply(None, thing({"replicas": 3})).object
    assert apply(live, thing({"replicas": 4}), now=LATER).managed_fields[0]["time"] == LATER
    live = apply(live, thing({"replicas": 3}), "other").object
    assert apply(live, NOTHING, "other", now=LATER).managed_fields[0]["time"] == NOW
    joined = apply(live, thing({"replicas": 3}), "third", now=LATER)
    assert joined.changed
    (third,) = [entry for entry in joined.managed_fields if entry["manager"] == "third"]
    assert "time" not in third


def test_fields_from_before_the_first_apply_belong_to_nobody_in_particular() -> None:
    live = {**thing({"replicas": 3}), "metadata": {"name": "x", "uid": "u"}}
    with pytest.raises(ApplyConflict, match=r'"before-first-apply" using t/v1: \.spec\.replicas'):
        apply(live, thing({"replicas": 4}))
    result = apply(live, thing({"paused": True})).object
    assert owners(result) == [("m", "Apply"), ("before-first-apply", "Update")]
    assert owned(result, "before-first-apply") == {".spec", ".spec.replicas"}


def test_kubectl_takes_over_what_it_applied_from_the_client_side() -> None:
    last = json.dumps(thing({"replicas": 3}))
    created = thing({"replicas": 3}, {"annotations": {ssa.LAST_APPLIED: last}})
    live = update(None, created, "kubectl-client-side-apply")
    result = apply(live, thing({"replicas": 5}), "kubectl").object
    assert result["spec"] == {"replicas": 5}
    with pytest.raises(ApplyConflict):
        apply(live, thing({"replicas": 5}), "somebody")
    scaled = update(live, {**live, "spec": {"replicas": 9}}, "autoscaler")
    with pytest.raises(ApplyConflict, match="autoscaler"):
        apply(scaled, thing({"replicas": 5}), "kubectl")


@pytest.mark.parametrize(
    ("applied", "reason"),
    [
        (thing({"frob": 1}), r"\.spec\.frob: field not declared in schema"),
        (thing({"replicas": "x"}), r"\.spec\.replicas: expected numeric"),
        (thing({"replicas": True}), r"\.spec\.replicas: expected numeric"),
        (
            thing({"containers": [{"name": "a"}, {"name": "a"}]}),
            r'\.spec\.containers: duplicate entries for key \[name="a"\]',
        ),
        (thing({"containers": [{"image": "a"}]}), r'omits all key fields \["name"\]'),
        (thing({"containers": {"name": "a"}}), r"\.spec\.containers: expected list"),
        (thing({}, {"finalizers": ["a", "a"]}), r"\.metadata\.finalizers: duplicate entries"),
        (thing({}, {"finalizers": [{}]}), r"has an element that's a map type"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(applied: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidApply, match=reason):
        apply(None, applied)


def test_one_misfit_is_told_in_a_line_and_several_in_a_list() -> None:
    with pytest.raises(InvalidApply) as one:
        apply(None, thing({"frob": 1}))
    assert str(one.value) == "failed to create typed patch object: .spec.frob: field not declared in schema"
    with pytest.raises(InvalidApply) as two:
        apply(None, thing({"frob": 1, "grob": 1}))
    assert str(two.value) == (
        "failed to create typed patch object: errors:\n"
        "  .spec.frob: field not declared in schema\n"
        "  .spec.grob: field not declared in schema"
    )


@pytest.mark.parametrize(
    "message", ["[]", '"x"', "3", "null", "{", '{"apiVersion": "t/v2"}', '{"apiVersion": "t/v1", "a": 1}']
)
def test_an_annotation_that_anybody_may_write_gives_no_rights(message: str) -> None:
    live = update(None, thing({"replicas": 3}, {"annotations": {ssa.LAST_APPLIED: message}}), "somebody")
    with pytest.raises(ApplyConflict, match="somebody"):
        apply(live, thing({"replicas": 5}), "kubectl")


def test_managed_fields_can_not_be_applied() -> None:
    with pytest.raises(ValueError, match=r"^metadata\.managedFields must be nil$"):
        apply(None, thing({}, {"managedFields": []}))


def test_schemaless_objects_merge_by_field_and_replace_lists() -> None:
    live = apply(None, {"a": {"b": 1, "l": [{"name": "x"}]}}, "one", schema=ANYTHING).object
    live = apply(live, {"a": {"c": {"d": None, "e": {}}}}, "two", schema=ANYTHING).object
    assert plain(live)["a"] == {"b": 1, "l": [{"name": "x"}], "c": {"d": None, "e": {}}}
    assert owned(live, "one") == {".a", ".a.b", ".a.l"}
    assert owned(live, "two") == {".a", ".a.c", ".a.c.d", ".a.c.e"}
    assert plain(apply(live, {}, "one", schema=ANYTHING).object)["a"] == {"c": {"d": None, "e": {}}}


def test_a_type_that_became_atomic_is_owned_as_one_from_then_on() -> None:
    live = apply(None, {**NOTHING, "metadata": {"name": "x", "labels": {"a": "b"}}}).object
    definitions = copy.deepcopy(DEFINITIONS)
    definitions["Meta"]["properties"]["labels"]["x-kubernetes-map-type"] = "atomic"
    atomic = Schemas(definitions)["Thing"]
    result = apply(live, thing({"paused": True}, {"labels": {"a": "b"}}), "other", schema=atomic).object
    assert owned(result, "m") == {".metadata.labels"}


def test_an_update_owns_what_it_changed() -> None:
    live = apply(None, thing({"replicas": 3, "args": ["a"], "paused": True}), "applier").object
    new = {**live, "spec": {"replicas": 4, "args": ["a"]}}
    result = update(live, new, "editor", now=LATER)
    assert owned(result, "editor") == {".spec.replicas"}
    assert owned(result, "applier") == {".spec.args"}
    assert owners(result) == [("applier", "Apply"), ("editor", "Update")]


def test_an_update_of_the_same_manager_adds_to_its_entry() -> None:
    live = update(None, thing({"replicas": 3}), "editor")
    live = update(live, {**live, "spec": {"replicas": 3, "paused": True}}, "editor", now=LATER)
    assert owned(live, "editor") == {".spec", ".spec.replicas", ".spec.paused"}
    assert [entry["time"] for entry in live["metadata"]["managedFields"]] == [LATER]


def test_an_update_that_changes_nothing_moves_no_time() -> None:
    live = update(None, thing({"replicas": 3}), "editor")
    assert update(live, copy.deepcopy(live), "other", now=LATER) == live


def test_subresources_have_entries_of_their_own_and_ignored_fields_have_none() -> None:
    live = update(None, thing({"replicas": 3}), "editor")
    status = FieldSet.of(("f:status",))
    with_status = {**live, "status": {"phase": "x"}}
    assert "status" not in str(update(live, with_status, "editor", ignored=status)["metadata"])
    result = update(live, with_status, "editor", subresource="status", ignored=FieldSet.of(("f:spec",)))
    assert [(entry["manager"], entry.get("subresource")) for entry in result["metadata"]["managedFields"]] == [
        ("editor", None),
        ("editor", "status"),
    ]
    applied = apply(live, {**NOTHING, "status": {"phase": "y"}}, ignored=status)
    assert owned(applied.object, "m") == set()


def test_an_update_is_noted_with_its_time_its_endpoint_and_a_name() -> None:
    live = update(None, {**thing({}), "status": {"phase": "A"}}, "", subresource="status")
    live = update(live, {**live, "status": {"phase": "B"}}, "", subresource="status", now=LATER)
    (entry,) = live["metadata"]["managedFields"]
    assert {name: item for name, item in entry.items() if name != "fieldsV1"} == {
        "manager": "unknown",
        "operation": "Update",
        "apiVersion": "t/v1",
        "time": LATER,
        "fieldsType": "FieldsV1",
        "subresource": "status",
    }
    (first,) = update(None, thing({"replicas": 3}))["metadata"]["managedFields"]
    assert (first["manager"], first["time"]) == ("m", NOW)


def test_fields_that_an_endpoint_can_not_set_are_no_conflict() -> None:
    live = update(None, {**thing({"replicas": 3}), "status": {"phase": "Running"}}, "kubelet")
    applied = {**thing({"paused": True}), "status": {"phase": "Gone"}}
    with pytest.raises(ApplyConflict, match="kubelet"):
        apply(live, applied)
    result = apply(live, applied, ignored=FieldSet.of(("f:status",))).object
    assert ".status.phase" in owned(result, "kubelet")
    assert {path for path in owned(result, "m") if path.startswith(".status")} == set()
    assert ".spec.paused" in owned(result, "m")


def test_an_object_that_nobody_owns_a_field_of_has_no_entries() -> None:
    live = apply(None, thing({"replicas": 3}), "one").object
    result = apply(live, NOTHING, "one")
    assert (result.managed_fields, result.object["metadata"]) == ([], {"name": "x"})
    empty = {**NOTHING, "metadata": {"name": "x", "managedFields": None}}
    result = apply(live, empty, "one")
    assert (result.managed_fields, result.object["metadata"]) == ([], {"name": "x"})


def test_identity_and_bookkeeping_are_owned_by_nobody() -> None:
    value = {**thing({}), "metadata": {"name": "x", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}}}
    assert owned(update(None, value), "m") == {".metadata.labels", ".metadata.labels.a", ".spec"}


def test_objects_nobody_tracked_stay_untracked_by_updates() -> None:
    live = {**thing({"replicas": 1}), "metadata": {"name": "x", "uid": "u"}}
    assert ssa.update(Endpoint(THING, "t/v1"), live, {**live, "spec": {"replicas": 2}}, Managed({}), "m", now=NOW) == []


def test_old_updates_are_squashed() -> None:
    live = update(None, thing({}, {"labels": {"m00": "x"}}), "m00", now="2024-01-01T00:00:00Z")
    for number in range(1, 15):
        labels = {**live["metadata"]["labels"], f"m{number:02}": "x"}
        new = {**live, "metadata": {**live["metadata"], "labels": labels}}
        live = update(live, new, f"m{number:02}", now=f"2024-01-01T00:00:{number:02}Z")
    names = [manager for manager, _ in owners(live)]
    assert len(names) == 10
    assert names[0] == "ancient-changes"
    assert {f".metadata.labels.m{number:02}" for number in range(6)} <= owned(live, "ancient-changes")


def test_duplicate_items_of_an_update_are_owned_together() -> None:
    live = update(None, thing({"containers": [{"name": "a", "image": "1"}, {"name": "a", "image": "2"}]}))
    assert '.spec.containers[name="a"]' in owned(live, "m")
    single = update(live, {**live, "spec": {"containers": [{"name": "a", "image": "1"}]}}, "other")
    assert '.spec.containers[name="a"].image' in owned(single, "other")


def test_requests_may_edit_or_reset_managed_fields() -> None:
    live = update(None, thing({"replicas": 3}))["metadata"]["managedFields"]
    sent = [{**live[0], "manager": "renamed"}]
    assert managers_of_request(live, sent).encode() == sent
    assert managers_of_request(live, None).encode() == live
    assert managers_of_request(live, []).encode() == []
    assert managers_of_request(live, [{}]).encode() == []
    assert managers_of_request(live, [{"manager": "broken"}]).encode() == live
    assert managers_of_request(live, [], subresource="status").encode() == live


@cache
def newer() -> Schema:
    """The kind's second version, in which ``replicas`` is ``count``."""
    definitions = copy.deepcopy(DEFINITIONS)
    definitions["Spec"]["properties"]["count"] = definitions["Spec"]["properties"].pop("replicas")
    return Schemas(definitions)["Thing"]


def convert(value: dict[str, Any], version: str) -> tuple[Schema, dict[str, Any]] | None:
    if version not in ("t/v1", "t/v2"):
        return None
    there, here = ("replicas", "count") if version == "t/v1" else ("count", "replicas")
    spec = {there if name == here else name: item for name, item in (value.get("spec") or {}).items()}
    return (THING if version == "t/v1" else newer()), {**value, "apiVersion": version, "spec": spec}


def at(version: str, live: dict[str, Any]) -> dict[str, Any]:
    converted = convert(live, version)
    assert converted is not None
    return converted[1]


def apply_at(version: str, live: dict[str, Any], spec: dict[str, Any], manager: str, **options: Any) -> ApplyResult:
    """Apply in one of two versions, whichever ``live`` is in."""
    schema = THING if version == "t/v1" else newer()
    applied = {**thing(spec), "apiVersion": version}
    entries = live["metadata"].get("managedFields", [])
    endpoint = Endpoint(schema, version, convert=convert)
    return ssa.apply(endpoint, at(version, live), applied, entries, manager, now=NOW, **options)


def update_at(version: str, live: dict[str, Any], new: dict[str, Any], manager: str, **options: Any) -> dict[str, Any]:
    schema = THING if version == "t/v1" else newer()
    managed = Managed.decode(live["metadata"].get("managedFields", []))
    new = {**new, "apiVersion": version}
    endpoint = Endpoint(schema, version, convert=convert, **options)
    entries = ssa.update(endpoint, at(version, live), new, managed, manager, now=NOW)
    return with_entries(new, entries)


def test_versions_with_other_names_convert() -> None:
    live = apply(None, thing({"replicas": 3, "paused": True}), "old").object
    with pytest.raises(ApplyConflict, match=r'"old": \.spec\.replicas'):
        apply_at("t/v2", live, {"count": 5}, "new")
    forced = apply_at("t/v2", live, {"count": 5}, "new", force=True).object
    assert plain(forced)["spec"] == {"count": 5, "paused": True}
    mine = apply_at("t/v2", live, {"count": 5}, "old")
    assert plain(mine.object)["spec"] == {"count": 5}
    assert [entry["apiVersion"] for entry in mine.managed_fields] == ["t/v2"]


def test_an_update_in_one_version_takes_fields_that_are_owned_in_another() -> None:
    live = apply(None, thing({"replicas": 3, "paused": True}), "old").object
    changed = update_at("t/v2", live, thing({"count": 5, "paused": True}), "new")
    assert owned(changed, "old") == {".spec.paused"}
    assert owned(changed, "new") == {".spec.count"}
    gone = update_at("t/v2", live, thing({"paused": True}), "new")
    assert (owned(gone, "old"), owners(gone)) == ({".spec.paused"}, [("old", "Apply")])


def test_fields_that_a_request_can_not_set_stay_with_their_owners_in_every_version() -> None:
    live = update(None, {**thing({"replicas": 3}), "status": {"phase": "Running"}}, "kubelet")
    new = {**thing({"count": 5}), "status": {"phase": "Gone"}}
    changed = update_at("t/v2", live, new, "new", ignored=FieldSet.of(("f:status",)))
    assert {".status", ".status.phase"} & owned(changed, "kubelet") == {".status", ".status.phase"} & owned(
        live, "kubelet"
    )
    assert owned(changed, "new") == {".spec.count"}


def test_an_applier_shares_what_others_apply_in_its_own_version_too() -> None:
    live = apply(None, thing({"replicas": 3, "paused": True}), "one").object
    live = apply_at("t/v1", live, {"replicas": 3}, "three").object
    live = apply_at("t/v2", live, {"paused": True}, "two").object
    result = apply_at("t/v1", live, {}, "one").object
    assert plain(result)["spec"] == {"replicas": 3, "paused": True}
    gone = apply_at("t/v1", result, {}, "three").object
    assert plain(gone)["spec"] == {"paused": True}


def test_an_entry_of_no_version_keeps_no_other_from_losing_what_changed() -> None:
    live = apply(None, thing({"paused": True}), "a").object
    live = apply(live, thing({"replicas": 3}), "b").object
    (first, second) = live["metadata"]["managedFields"]
    left = with_entries(live, [{**first, "apiVersion": "t/v0"}, second])
    with pytest.raises(ApplyConflict, match='conflict with "b"'):
        apply_at("t/v2", left, {"count": 5}, "new")
    result = apply_at("t/v2", left, {"count": 5}, "new", force=True).object
    assert ".spec.replicas" not in owned(result, "b")


def test_entries_of_a_version_that_is_not_served_any_more_are_dropped() -> None:
    live = apply(None, thing({"replicas": 3, "paused": True}), "old").object
    (entry,) = live["metadata"]["managedFields"]
    left = with_entries(live, [{**entry, "apiVersion": "t/v0"}])
    result = apply_at("t/v2", left, {"count": 5}, "new")
    assert owners(result.object) == [("new", "Apply")]
    assert plain(result.object)["spec"] == {"count": 5, "paused": True}


def test_what_an_applier_leaves_out_stays_if_somebody_owns_it_in_another_version() -> None:
    containers = [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]
    live = apply(None, thing({"replicas": 3, "paused": True, "containers": containers}), "one").object
    live = apply_at("t/v2", live, {"count": 3, "containers": [{"name": "b", "image": "1"}]}, "two").object
    result = apply_at("t/v1", live, {}, "one").object
    assert plain(result)["spec"] == {"replicas": 3, "containers": [{"name": "b", "image": "1"}]}
    assert owned(result, "one") == {".spec"}
    assert ".spec.count" in owned(result, "two")


steps = st.lists(
    st.tuples(st.sampled_from(["apply", "force", "update"]), st.sampled_from(["a", "b", "c"]), things),
    min_size=1,
    max_size=4,
)


def run(history: list[tuple[str, str, dict[str, Any]]]) -> dict[str, Any] | None:
    live: dict[str, Any] | None = None
    for number, (kind, manager, value) in enumerate(history):
        now = f"2024-01-01T00:00:{number:02}Z"
        if kind == "update":
            live = update(live, value, manager, now=now)
            continue
        try:
            live = apply(live, value, manager, now=now, force=kind == "force").object
        except ApplyConflict:
            continue
    return live


def present(value: Any, schema: Schema = THING) -> set[Path]:
    """Every path in a value, owned or not."""
    return set(ssa.compare(schema, {}, plain(value)).added)


@settings(deadline=None, max_examples=50)
@given(steps)
def test_nobody_owns_what_is_not_there(history: list[tuple[str, str, dict[str, Any]]]) -> None:
    live = run(history)
    if live is not None:
        for entry in live["metadata"].get("managedFields", []):
            assert set(FieldSet.from_fields_v1(entry["fieldsV1"])) <= present(live)


@settings(deadline=None, max_examples=50)
@given(steps, things)
def test_applying_twice_is_applying_once(
    history: list[tuple[str, str, dict[str, Any]]], applied: dict[str, Any]
) -> None:
    live = run(history)
    before = copy.deepcopy((live, applied))
    once = apply(live, applied, force=True)
    twice = apply(once.object, applied, now=LATER)
    assert twice.object == once.object
    assert not twice.changed
    assert (live, applied) == before


@settings(deadline=None, max_examples=50)
@given(steps, things)
def test_what_is_applied_is_there(history: list[tuple[str, str, dict[str, Any]]], applied: dict[str, Any]) -> None:
    result = apply(run(history), applied, force=True).object
    assert set(field_set(THING, applied)) <= present(result) | set(field_set(THING, plain(result)))
    assert set(ssa.compare(THING, applied, plain(result)).modified) == set()


def split(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two configurations of disjoint fields."""
    spec, labels = value["spec"], value["metadata"].get("labels", {})
    left = {name: item for name, item in spec.items() if name in ("replicas", "containers", "strategy")}
    right = {name: item for name, item in spec.items() if name not in left and name != "free"}
    one = thing(left, {"labels": {name: item for name, item in labels.items() if name in "ab"}} if labels else {})
    two = thing(right, {"labels": {name: item for name, item in labels.items() if name not in "ab"}} if labels else {})
    return one, two


@settings(deadline=None, max_examples=50)
@given(things)
def test_two_managers_of_disjoint_fields_commute(value: dict[str, Any]) -> None:
    one, two = split(value)
    assume(all(owners(apply(None, part).object) for part in (one, two)))  # both own something
    first = apply(apply(None, one, "one").object, two, "two").object
    second = apply(apply(None, two, "two").object, one, "one").object
    assert plain(first) == plain(second)
    assert all(owned(first, manager) == owned(second, manager) for manager in ("one", "two"))


@settings(deadline=None, max_examples=50)
@given(things, things)
def test_applying_nothing_removes_exactly_what_only_that_manager_owned(
    mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    alone = apply(None, theirs, "them").object
    both = apply(alone, mine, "me", force=True).object
    after = apply(both, NOTHING, "me").object
    left = set(field_set(THING, plain(after)))
    still = {path for path in FieldSet.of(*field_set(THING, theirs)) if ssa.path_text(path) in owned(both, "them")}
    assert {ssa.path_text(path) for path in still} <= owned(after, "them") | {".apiVersion", ".kind", ".metadata.name"}
    gone = owned(both, "me") - owned(both, "them")
    kept = {ssa.path_text(path) for path in left}
    inside_theirs = {text for text in gone if any(other.startswith(text) for other in owned(both, "them"))}
    assert not (gone - inside_theirs) & kept
    assert "me" not in {manager for manager, _ in owners(after)}

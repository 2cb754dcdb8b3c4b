from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings

from setpoint.meta.json_values import json_equal
from setpoint.patch import strategic
from setpoint.patch.strategic import StrategicPatchError

from .worlds import THING, thing, things


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


@settings(deadline=None, max_examples=60)
@given(things, things)
def test_the_patch_between_two_objects_makes_one_of_the_other(original: Any, modified: Any) -> None:
    before = copy.deepcopy((original, modified))
    patch = strategic.diff(THING, original, modified)
    assert json_equal(strategic.apply(THING, original, patch), modified)
    assert (original, modified) == before
    if json_equal(original, modified):
        assert patch == {}


@settings(deadline=None, max_examples=60)
@given(things, things)
def test_applying_a_patch_twice_is_applying_it_once(document: Any, other: Any) -> None:
    patch = strategic.diff(THING, document, other)
    once = strategic.apply(THING, document, patch)
    assert strategic.apply(THING, once, patch) == once


@settings(deadline=None, max_examples=60)
@given(things, things)
def test_a_plain_patch_changes_no_input(document: Any, patch: Any) -> None:
    before = copy.deepcopy((document, patch))
    strategic.apply(THING, document, patch)
    assert (document, patch) == before


def test_items_merge_by_key_and_new_ones_are_added() -> None:
    live = containers({"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "1"})
    patch = containers({"name": "b", "image": "2"}, {"name": "c", "image": "3"})
    assert strategic.apply(THING, live, patch) == containers(
        {"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "2"}, {"name": "c", "image": "3"}
    )


def test_the_delete_directive_removes_an_item() -> None:
    live = containers({"name": "a"}, {"name": "b"})
    patch = containers({"name": "a", "$patch": "delete"})
    assert strategic.apply(THING, live, patch) == containers({"name": "b"})
    assert strategic.apply(THING, {"spec": {}}, patch) == containers()


def test_the_replace_directive_replaces_a_list() -> None:
    live = containers({"name": "a"}, {"name": "b"})
    assert strategic.apply(THING, live, containers({"$patch": "replace"}, {"name": "z"})) == containers({"name": "z"})


def test_directives_work_on_objects() -> None:
    live = {"spec": {"strategy": {"type": "x", "surge": 1}}}
    replaced = strategic.apply(THING, live, {"spec": {"strategy": {"$patch": "replace", "type": "y"}}})
    assert replaced == {"spec": {"strategy": {"type": "y"}}}
    assert strategic.apply(THING, live, {"spec": {"strategy": {"$patch": "delete"}}}) == {"spec": {"strategy": {}}}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"$patch": "merge"}},
        {"spec": {"$patch": "frob"}},
        containers({"name": "a", "$patch": "merge"}),
        containers({"name": "a", "$patch": "frob"}),
        containers({"image": "x"}),
        containers({"$patch": "delete"}),
        {"spec": {"strategy": {"$retainKeys": ["type"], "surge": 3}}},
        {"spec": {"strategy": {"$retainKeys": "type"}}},
        {"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}},
        {"spec": {"$setElementOrder/containers": "a"}},
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "a"}, {"name": "b"}],
            }
        },
    ],
)
def test_senseless_patches_are_refused(patch: dict[str, Any]) -> None:
    live = {"spec": {"strategy": {"type": "x"}, "containers": [{"name": "a"}]}}
    with pytest.raises(StrategicPatchError):
        strategic.apply(THING, live, patch)


def test_retain_keys_drops_the_other_member_of_a_union() -> None:
    live = {"spec": {"volumes": [{"name": "v", "secret": "s"}]}}
    want = {"spec": {"volumes": [{"name": "v", "configMap": "c"}]}}
    patch = strategic.diff(THING, live, want)
    assert patch["spec"]["volumes"] == [
        {"name": "v", "secret": None, "configMap": "c", "$retainKeys": ["configMap", "name"]}
    ]
    other = {"spec": {"volumes": [{"name": "v", "disk": "d"}]}}  # another client was quicker
    assert strategic.apply(THING, other, patch) == want


def test_order_directive_orders_and_keeps_items_only_the_server_has() -> None:
    live = containers({"name": "a"}, {"name": "s"}, {"name": "b"})
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}
    got = strategic.apply(THING, live, patch)["spec"]["containers"]
    assert [item["name"] for item in got] == ["s", "b", "a"]


def test_sets_of_scalars_merge() -> None:
    live = {"metadata": {"finalizers": ["a", "b"]}}
    merged = strategic.apply(THING, live, {"metadata": {"finalizers": ["c", "a"]}})
    assert merged == {"metadata": {"finalizers": ["c", "a", "b"]}}
    deleted = strategic.apply(THING, live, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})
    assert deleted == {"metadata": {"finalizers": ["b"]}}


def test_the_diff_of_a_set_names_what_goes_and_the_order() -> None:
    patch = strategic.diff(THING, {"metadata": {"finalizers": ["a", "b"]}}, {"metadata": {"finalizers": ["c", "b"]}})
    assert patch == {
        "metadata": {
            "finalizers": ["c"],
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "$setElementOrder/finalizers": ["c", "b"],
        }
    }


def test_the_diff_of_a_map_list_is_that_of_the_go_client() -> None:
    before = containers({"name": "a", "image": "1"}, {"name": "b", "image": "1"})
    after = containers({"name": "b", "image": "2"}, {"name": "c"})
    assert strategic.diff(THING, before, after) == {
        "spec": {
            "containers": [{"name": "b", "image": "2"}, {"name": "c"}, {"name": "a", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
        }
    }


def test_lists_without_strategy_are_replaced() -> None:
    live = thing({"args": ["a", "b"]})
    assert strategic.apply(THING, live, {"spec": {"args": ["c"]}})["spec"] == {"args": ["c"]}


def test_nulls_in_new_values_never_arrive() -> None:
    patch = {"spec": {"strategy": {"type": "x", "surge": None}, "replicas": None}}
    assert strategic.apply(THING, {}, patch) == {"spec": {"strategy": {"type": "x"}}}

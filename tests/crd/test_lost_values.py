"""Values lost in a conversion come back, and changes in between stay."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.crd.field_path import MISSING, Draft, parse_place
from setpoint.crd.lost_values import loss, restore
from setpoint.schema import Schema, copy_json

NOWHERE: frozenset[tuple[str, ...]] = frozenset()
scalars = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=12,
)
documents = st.dictionaries(st.sampled_from("xyz"), values, max_size=3)
PARTS = Schema(
    properties={"parts": Schema(type="array", list_type="map", list_map_keys=("name",), items=Schema(type="object"))}
)
parts = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"size": st.integers(0, 2), "extra": values}),
    unique_by=lambda part: part["name"],
    max_size=4,
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(before=documents, after=documents)
def test_what_is_lost_comes_back(before: Any, after: Any) -> None:
    tree = loss(before, after, None, NOWHERE)
    if tree is None:
        assert before == after
        return
    kept = copy_json(after)
    assert restore(json.loads(json.dumps(tree)), after) == before
    assert after == kept


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(items=parts, data=st.data())
def test_items_with_keys_get_theirs_in_any_order_and_company(items: list[Any], data: st.DataObject) -> None:
    left = [{key: part[key] for key in ("name", "size") if key in part} for part in items]
    tree = loss({"parts": items}, {"parts": left}, PARTS, NOWHERE)
    changed = data.draw(st.permutations(left))
    gone = data.draw(st.integers(0, len(changed)))
    now = [*changed[gone:], {"name": "new"}]
    came = restore(tree or {}, {"parts": now})["parts"]
    by_name = {part["name"]: part for part in items}
    assert came == [by_name.get(part["name"], part) for part in now]


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(tree=values, after=documents)
def test_a_tree_that_makes_no_sense_does_no_harm(tree: Any, after: Any) -> None:
    wrong = {"f": {"x": tree, "y": {"i": tree, "k": tree}, "z": {"w": tree}}, "i": tree}
    assert isinstance(restore(wrong, after), dict)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(document=documents, place=st.sampled_from(["x", "x.y", "x[].y", "x.*.y", "x[][]", "x.y.z", "x.*[].z"]))
def test_a_draft_leaves_its_source_alone_and_puts_back_what_it_took(document: Any, place: str) -> None:
    before = copy_json(document)
    steps = parse_place(place)
    draft = Draft(document)
    taken = draft.pop(steps)
    for indexes, value in taken:
        assert draft.put(steps, indexes, value)
    assert document == before
    assert draft.root == before


def test_missing_is_not_null() -> None:
    assert loss({"a": None}, {}, None, NOWHERE) == {"f": {"a": {"v": None}}}
    assert restore({"f": {"a": {"v": None}}}, {}) == {"a": None}
    assert loss(MISSING, None, None, NOWHERE) == {"w": None}

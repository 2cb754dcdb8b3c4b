"""Quick ways give what plain ones give, and work grows with what is there, not with its square."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.patch import compare as comparing
from setpoint.patch.compare import compare
from setpoint.patch.fieldset import FieldSet
from setpoint.patch.managed_fields import Managed, Owner
from setpoint.schema import Schema

ITEM = Schema(type="object", properties={"name": Schema(type="string"), "value": Schema(type="integer")})
KEYED = Schema(type="array", items=ITEM, list_type="map", list_map_keys=("name",))
SET = Schema(type="array", items=Schema(), list_type="set")
SCHEMA = Schema(type="object", properties={"keyed": KEYED, "set": SET})
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "keyed": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"value": st.integers(0, 2)}), max_size=5
        ),
        "set": st.lists(st.sampled_from([0, 1, True, False, "a", 1.0]), max_size=5),
    },
)


@given(OBJECTS, OBJECTS)
def test_lists_are_compared_item_by_item_as_in_groups(old: Any, new: Any) -> None:
    quick = compare(SCHEMA, old, new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_by_element", lambda schema, value: None)
        plain = compare(SCHEMA, old, new)
    assert (quick.removed, quick.modified, quick.added) == (plain.removed, plain.modified, plain.added)


@given(st.lists(st.sets(st.sampled_from([("f:a",), ("f:a", "f:b"), ("f:c", "f:d", "f:e"), ("f:c",)])), max_size=5))
def test_the_union_of_many_is_that_of_two_and_two(paths: list[set[tuple[str, ...]]]) -> None:
    sets = [FieldSet.of(*some) for some in paths]
    expected = FieldSet()
    for one in sets:
        expected = expected | one
    assert FieldSet.union(sets) == expected
    assert [set(one) for one in sets] == paths


def test_many_managers_become_one_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = [
        Owner(
            f"m{n:04}", "Update", "v1", time=f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z", fields=FieldSet.of((f"f:{n}",))
        )
        for n in range(1000)
    ]
    merged: list[int] = []
    union = FieldSet.union
    monkeypatch.setattr(FieldSet, "union", lambda sets: merged.append(len(sets)) or union(sets))
    managed = Managed({owner.identity: owner for owner in owners})
    managed.cap()
    assert merged == [991]
    ancient = managed.owners["ancient-changes", "Update", "v1", ""]
    assert len(managed.owners) == 10
    assert len(ancient.fields) == 991
    assert ancient.time == owners[990].time

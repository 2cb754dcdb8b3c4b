from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from setpoint.apiserver.objects.go_form import zero_of
from setpoint.apiserver.resources.registry import Registry
from setpoint.apiserver.strategies.builtin import add_builtin
from setpoint.patch import apply, initial_managed_fields
from setpoint.patch.apply import Endpoint
from setpoint.patch.fieldset import EMPTY, FieldSet
from setpoint.patch.managed_fields import Managed
from setpoint.patch.typed import TypedError
from setpoint.schema import ANYTHING, Schema

from .worlds import THING, thing, things

NOW = "2024-01-01T00:00:00Z"
ITEMS = st.lists(st.fixed_dictionaries({}, optional={"name": st.sampled_from("ab"), "image": st.none() | st.just("x")}))
STRANGE = st.builds(
    thing,
    st.fixed_dictionaries(
        {},
        optional={
            "containers": ITEMS | st.none(),  # with equal keys, and without keys
            "selector": st.none() | st.just({}),
            "args": st.lists(st.none(), max_size=2) | st.none(),
            "strategy": st.none() | st.just({}) | st.just({"surge": 0}),
            "free": st.just({"x": {"y": [{}], "z": None}, "": {}}),
            "replicas": st.just(0),
            "surprise": st.just({"a": {"b": [1]}}),
        },
    ),
    st.fixed_dictionaries({}, optional={"uid": st.just("u"), "finalizers": st.lists(st.sampled_from(["a", "b", 1]))}),
)
ZEROS = st.sampled_from(
    [
        {},
        {"metadata": {}},
        {"metadata": {}, "spec": {}},
        {"spec": None, "status": {}},
        {"spec": {"containers": None, "args": None, "strategy": {}, "selector": None, "replicas": 0}},
        {"spec": {"strategy": {"surge": 0, "type": ""}, "selector": {}, "free": {"x": {}}}},
        {"spec": {"strategy": {"surge": 0}, "replicas": 1, "paused": 0}, "metadata": None},
    ]
)
IGNORED = st.sampled_from(
    [
        EMPTY,
        FieldSet.of(("f:status",)),
        FieldSet.of(("f:spec",), ("f:metadata",)),
        FieldSet.of(("f:metadata", "f:labels"), ("f:spec", "f:containers"), ("f:spec", "f:strategy", "f:type")),
        FieldSet.of(("f:spec", "f:strategy", "f:surge"), ("f:spec", "f:containers", 'k:{"name":"a"}', "f:image")),
    ]
)


def both(schema: Schema, new: Any, zero: Any, ignored: FieldSet = EMPTY) -> tuple[Any, Any]:
    """The managedFields of a new object, as a creation writes them and as a change from ``zero`` does."""
    options: dict[str, Any] = {"api_version": "t/v1", "now": NOW, "ignored": ignored}
    answers: list[Any] = []
    for write in (
        lambda: initial_managed_fields.create(schema, new, "m", zero=zero, **options),
        lambda: apply.update(Endpoint(schema, "t/v1", ignored=ignored), zero, new, Managed({}), "m", now=NOW),
    ):
        try:
            answers.append(json.dumps(write()))  # the order counts
        except TypedError:
            answers.append(TypedError)
    return answers[0], answers[1]


@settings(deadline=None, max_examples=100)
@given(things | STRANGE, ZEROS, IGNORED, st.sampled_from([THING, ANYTHING]))
@example(thing({"strategy": {"surge": 0}}), {"spec": {"strategy": {"surge": 0}}}, EMPTY, THING)
@example(
    thing({"paused": False, "containers": [{"name": "a"}]}), {"spec": {"paused": 0, "containers": []}}, EMPTY, THING
)
@example(thing({"containers": [{"name": "a"}, {"name": "a", "image": "x"}, {"name": "b"}]}), {}, EMPTY, THING)
@example(thing({"containers": [{"name": "a"}, {"image": "x"}]}), {}, EMPTY, THING)
def test_a_creator_owns_what_a_change_from_nothing_would_give(
    new: dict[str, Any], zero: dict[str, Any], ignored: FieldSet, schema: Schema
) -> None:
    before = copy.deepcopy((new, zero))
    one, other = both(schema, new, zero, ignored)
    assert one == other
    assert (new, zero) == before


def test_a_creator_owns_nothing_that_objects_of_its_built_in_kind_have_anyway() -> None:
    registry = Registry()
    add_builtin(registry)
    kinds = 0
    for served in registry:
        zero = {"metadata": {}, **served.strategy.zero, **zero_of(served)}
        plain = {"apiVersion": served.resource.api_version, "kind": served.resource.kind, "metadata": {"name": "x"}}
        assert both(served.schema, {**zero, **plain}, zero) == ("[]", "[]")
        for new in ({**plain, "spec": {}, "status": {}}, {**plain, "spec": {"a": {"b": 1}}, "data": {"a": "b"}}):
            one, other = both(served.schema, new, zero)
            assert one == other
        kinds += 1
    assert kinds > 50

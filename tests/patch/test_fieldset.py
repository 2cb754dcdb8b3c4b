from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.patch.fieldset import EMPTY, FieldSet, Path, field, index, key, path_text, value

elements = st.sampled_from(
    [field("a"), field("b"), key({"name": "x"}), key({"name": "y", "n": 1}), value("s"), value(1), index(0)]
)
paths = st.lists(elements, min_size=1, max_size=3).map(tuple)
sets = st.sets(paths, max_size=12)


def below(path: Path, others: set[Path]) -> bool:
    return any(path[: len(other)] == other for other in others)


@settings(deadline=None, max_examples=60)
@given(sets, sets)
def test_the_algebra_is_that_of_sets_of_paths(left: set[Path], right: set[Path]) -> None:
    a, b = FieldSet.of(*left), FieldSet.of(*right)
    assert set(a | b) == left | right
    assert set(a & b) == left & right
    assert set(a - b) == left - right
    assert set(a.without(b)) == {path for path in left if not below(path, right)}
    assert (set(a), set(b)) == (left, right)
    assert (a == b) == (left == right)
    assert len(a) == len(left)
    assert bool(a) == bool(left)
    assert all(path in a for path in left)
    assert all((path in a) == (path in left) for path in right)


@settings(deadline=None, max_examples=60)
@given(sets)
def test_the_json_form_holds_every_path(members: set[Path]) -> None:
    fields = FieldSet.of(*members)
    assert set(FieldSet.from_fields_v1(json.loads(json.dumps(fields.to_fields_v1())))) == members


@settings(deadline=None, max_examples=60)
@given(sets)
def test_paths_come_in_one_order(members: set[Path]) -> None:
    assert list(FieldSet.of(*sorted(members))) == list(FieldSet.of(*sorted(members, reverse=True)))


def test_the_json_form_is_that_of_the_server() -> None:
    fields = FieldSet.of(
        (field("spec"), field("containers"), key({"name": "c"})),
        (field("spec"), field("containers"), key({"name": "c"}), field("image")),
        (field("spec"), field("ports"), key({"protocol": "TCP", "containerPort": 80})),
        (field("metadata"), field("finalizers"), value("x/y")),
        (field("metadata"), field("labels")),
        (field("metadata"), field("labels"), field("app.kubernetes.io/name")),
    )
    assert fields.to_fields_v1() == {
        "f:metadata": {"f:finalizers": {'v:"x/y"': {}}, "f:labels": {".": {}, "f:app.kubernetes.io/name": {}}},
        "f:spec": {
            "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}},
            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {}},
        },
    }


def test_keys_are_one_however_they_are_written() -> None:
    loose = FieldSet.from_fields_v1({'k:{"b": "x<y", "a" : 1}': {}})
    assert loose == FieldSet.of((key({"a": 1, "b": "x<y"}),))
    assert next(iter(loose)) == ('k:{"a":1,"b":"x\\u003cy"}',)


def test_paths_print_as_in_conflicts() -> None:
    path = (field("spec"), key({"name": "c", "port": 80}), value("v"), value(1), index(3), field("x"))
    assert path_text(path) == '.spec[name="c",port=80][="v"][=1][3].x'


@pytest.mark.parametrize("bad", [{"x": {}}, {"q:1": {}}, {"k:[1]": {}}, {"v:{": {}}, {"i:x": {}}, {"f:a": 1}])
def test_malformed_fields_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="managed fields"):
        FieldSet.from_fields_v1(bad)


def test_the_empty_path_is_never_tracked() -> None:
    assert not FieldSet.of(())
    assert not EMPTY

"""The events that count, and the objects that they are for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import setpoint as sp
from setpoint.cache import Head
from setpoint.controller import CacheReader
from setpoint.controller import predicates as p
from setpoint.controller.run import delivery
from setpoint.meta import ObjectKey, OwnerReference, SelectorError, resource_of
from setpoint.models.apps_v1 import Deployment, ReplicaSet
from setpoint.models.core_v1 import ConfigMap, Node, Pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def head(**fields: Any) -> Head:
    return Head(**{"name": "a", "namespace": "default", "uid": "u", "resource_version": "1", **fields})


def reference(
    kind: str = "ReplicaSet", name: str = "owner", *, api: str = "apps/v1", controller: bool | None = True
) -> Any:
    return OwnerReference(api_version=api, kind=kind, name=name, uid=f"uid-{name}", controller=controller)


@pytest.mark.parametrize(
    ("predicate", "before", "after"),
    [
        (p.generation_changed, {"generation": 1}, {"generation": 2}),
        (p.resource_version_changed, {"resource_version": "1"}, {"resource_version": "2"}),
        (p.labels_changed, {"labels": {"a": "b"}}, {"labels": {"a": "c"}}),
        (p.labels_changed, {"labels": {"a": "b"}}, {"labels": {}}),
        (p.annotations_changed, {}, {"annotations": {"a": "b"}}),
        (p.finalizers_changed, {"finalizers": ["a/b"]}, {}),
        (p.deletion_started, {}, {"deletion_timestamp": NOW}),
    ],
    ids=lambda value: value.name if isinstance(value, p.Predicate) else "",
)
def test_update_predicates_let_changes_of_their_field_through_and_nothing_else(
    predicate: p.Predicate, before: dict[str, Any], after: dict[str, Any]
) -> None:
    old, new = head(**before), head(**after)
    assert predicate(old, new)
    assert not predicate(old, old)
    assert not predicate(new, new)
    assert predicate(None, new), "what appears is always let through"
    assert predicate(old, None), "what goes is always let through"
    assert not (~predicate)(old, new)


def test_combinations() -> None:
    old, new = head(generation=1, labels={"a": "1"}), head(generation=2, labels={"a": "1"})
    assert (p.generation_changed | p.labels_changed)(old, new)
    assert not (p.generation_changed & p.labels_changed)(old, new)
    assert (p.generation_changed & ~p.labels_changed)(old, new)
    assert p.all_of()(old, new)
    assert not p.any_of()(old, new)
    assert (p.generation_changed | p.labels_changed).name == "(generation_changed | labels_changed)"
    assert (~p.generation_changed).name == "~generation_changed"
    assert p.name_of(lambda old, new: True) == "<lambda>"


def test_plain_functions_combine_with_predicates() -> None:
    def always(old: Head | None, new: Head | None) -> bool:
        return True

    assert (p.generation_changed | always)(head(), head())


def test_types_of_events() -> None:
    only_deletes = p.of_types(create=False, update=False)
    assert not only_deletes(None, head())
    assert not only_deletes(head(), head())
    assert only_deletes(head(), None)


def test_an_object_that_stops_matching_is_seen_a_last_time() -> None:
    selected = p.matches("app=web")
    web, other = head(labels={"app": "web"}), head(labels={"app": "db"})
    assert selected(web, other)
    assert selected(other, web)
    assert not selected(other, other)
    assert selected(web, None)
    with pytest.raises(SelectorError):
        p.matches("a==b==c")


def test_names_namespaces_and_deletion() -> None:
    assert p.in_namespaces("default", "x")(None, head())
    assert not p.in_namespaces("x")(None, head())
    assert p.named("a")(None, head())
    assert not p.named("a", "other")(None, head())
    assert p.is_deleting(None, head(deletion_timestamp=NOW))
    assert not p.is_deleting(None, head())
    assert p.objects_where(lambda result: result.generation == 7)(head(generation=7), None)


def keys(handler: delivery.Handler, old: Head | None, new: Head | None) -> list[str]:
    return list(handler(old, new))


def test_an_object_is_its_own_key_also_when_it_goes() -> None:
    assert keys(delivery.itself, None, head()) == ["default/a"]
    assert keys(delivery.itself, head(), None) == ["default/a"]
    assert keys(delivery.itself, None, None) == []


def test_only_the_managing_controller_is_told_unless_every_owner_is_asked_for() -> None:
    dependent = head(owner_references=[reference(name="one"), reference(name="two", controller=None)])
    only = delivery.owner(resource_of(ReplicaSet))
    every = delivery.owner(resource_of(ReplicaSet), any_owner=True)
    assert keys(only, None, dependent) == ["default/one"]
    assert keys(every, None, dependent) == ["default/one", "default/two"]
    assert keys(only, dependent, None) == ["default/one"]


def test_owners_match_by_group_and_kind_whatever_the_version() -> None:
    handler = delivery.owner(resource_of(ReplicaSet))
    assert keys(handler, None, head(owner_references=[reference(api="apps/v1beta2")])) == ["default/owner"]
    assert keys(handler, None, head(owner_references=[reference(api="v1")])) == []
    assert keys(handler, None, head(owner_references=[reference(api="other.apps/v1")])) == []
    assert keys(handler, None, head(owner_references=[reference(kind="Deployment")])) == []
    core = delivery.owner(resource_of(Pod))
    assert keys(core, None, head(owner_references=[reference(kind="Pod", api="v1")])) == ["default/owner"]
    assert keys(core, None, head(owner_references=[reference(kind="Pod", api="x/v1")])) == []


def test_cluster_scoped_owners_have_no_namespace() -> None:
    handler = delivery.owner(resource_of(Node))
    assert keys(handler, None, head(owner_references=[reference(kind="Node", api="v1")])) == ["owner"]


def test_both_owners_are_told_when_an_object_moves_and_each_once() -> None:
    handler = delivery.owner(resource_of(Deployment))
    one = head(owner_references=[reference("Deployment", "one")])
    two = head(owner_references=[reference("Deployment", "two")])
    assert keys(handler, one, two) == ["default/one", "default/two"]
    assert keys(handler, one, one) == ["default/one"]
    assert keys(handler, one, head()) == ["default/one"]
    assert keys(handler, head(), head()) == []


def test_mapping_functions_see_both_heads_and_each_key_counts_once() -> None:
    seen: list[str] = []

    def users_of(current_head: Head) -> list[str | ObjectKey]:
        seen.append(current_head.resource_version)
        return ["default/x", ObjectKey(f"default/{current_head.labels.get('user', 'x')}")]

    none: Any = None
    handler: Any = delivery.mapped(users_of, CacheReader({}, none, "test", none, ""), "a test", resource_of(Pod))
    assert keys(handler, head(labels={"user": "y"}), head(resource_version="2")) == ["default/x", "default/y"]
    assert seen == ["1", "2"]
    assert all(isinstance(key, ObjectKey) for key in handler(None, head()))


async def decide_later(old: Any, new: Any) -> bool:
    return False


LATER: Any = decide_later


@pytest.mark.parametrize(
    "declare",
    [
        lambda tests: sp.Controller(ConfigMap, LATER, predicates=tests),
        lambda tests: sp.Controller(Node, LATER).owns(ConfigMap, predicates=tests),
        lambda tests: sp.Controller(Node, LATER).watches(ConfigMap, lambda head: None, predicates=tests),
    ],
)
def test_a_predicate_that_can_not_decide_is_refused_where_it_is_declared(declare: Any) -> None:
    with pytest.raises(TypeError, match=r"a predicate is a plain function .*, not <function decide_later"):
        declare([LATER])
    with pytest.raises(TypeError, match=r"a predicate is a plain function .*, not <function decide_later"):
        declare([p.Predicate(LATER)])
    with pytest.raises(TypeError, match=r"a predicate is a plain function .*, not 'Ready'"):
        declare(["Ready"])
    with pytest.raises(TypeError, match=r"predicates is a list of functions: write predicates=\[generation_changed\]"):
        declare(p.generation_changed)

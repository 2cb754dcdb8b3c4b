"""Owner references, the status draft, finalizer patches: the parts that are pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.controller import OwnerError, set_controller_reference, set_owner_reference
from setpoint.controller.controller import checked_name, finalizer_name
from setpoint.controller.run.reconciler import patch_to_add, patch_to_remove
from setpoint.controller.writes.ownership import is_owned_by, remove_owner_reference
from setpoint.controller.writes.status_draft import RECONCILED, StatusDraft
from setpoint.crd import ConditionedStatus as CustomStatus
from setpoint.crd import CustomResource
from setpoint.meta import Condition, Model, Object, decode, is_condition_true
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap, Namespace, Node, Pod
from setpoint.patch import json_patch, merge_patch

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
MUCH_LATER = NOW + timedelta(hours=2)


class WidgetSpec(Model):
    size: int = 1


class WidgetStatus(CustomStatus):
    ready: int = 0


class Widget(CustomResource, group="test.example.com", version="v1"):
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


def stored(obj: Any, uid: str = "uid-1") -> Any:
    obj.metadata.uid = uid
    return obj


def widget(**document: Any) -> Widget:
    metadata = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "5", "generation": 3}
    return decode(
        Widget,
        msgspec.json.encode({"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": metadata, **document}),
    )


# -- owners ------------------------------------------------------------------------------------------------------------


def test_a_controller_reference_blocks_and_controls_and_is_set_once() -> None:
    owner, pod = stored(Deployment.named("web", "default")), Pod.named("web-0", "default")
    assert set_controller_reference(owner, pod)
    assert not set_controller_reference(owner, pod)
    (reference,) = pod.metadata.owner_references
    assert (reference.controller, reference.block_owner_deletion, reference.uid) == (True, True, "uid-1")
    assert is_owned_by(pod, owner, controller=True)
    assert remove_owner_reference(owner, pod)
    assert not remove_owner_reference(owner, pod)


def test_an_object_has_one_controller() -> None:
    pod = Pod.named("web-0", "default")
    set_controller_reference(stored(Deployment.named("one", "default"), "1"), pod)
    with pytest.raises(OwnerError, match="controlled by Deployment one already"):
        set_controller_reference(stored(Deployment.named("two", "default"), "2"), pod)
    with pytest.raises(OwnerError, match="controlled by Deployment one already"):
        set_controller_reference(stored(Deployment.named("one", "default"), "of a later object"), pod)
    assert set_owner_reference(stored(Deployment.named("two", "default"), "2"), pod)
    assert [reference.controller for reference in pod.metadata.owner_references] == [True, None]


def test_the_same_owner_in_another_version_is_replaced() -> None:
    owner, pod = stored(Deployment.named("web", "default")), Pod.named("web-0", "default")
    set_controller_reference(owner, pod)
    pod.metadata.owner_references[0].api_version = "apps/v1beta1"
    assert set_controller_reference(owner, pod)
    assert [reference.api_version for reference in pod.metadata.owner_references] == ["apps/v1"]


@pytest.mark.parametrize(
    ("owner", "dependent", "problem"),
    [
        (
            Deployment.named("web", "one"),
            Pod.named("web-0", "two"),
            "must be in one namespace. Write it with controlled=False",
        ),
        (Deployment.named("web", "one"), Node.named("node"), "can't own the cluster-scoped Node"),
    ],
)
def test_owners_that_the_garbage_collector_would_not_find_are_refused(
    owner: Object, dependent: Object, problem: str
) -> None:
    with pytest.raises(OwnerError, match=problem):
        set_controller_reference(stored(owner), dependent)
    assert dependent.metadata.owner_references == []


def test_a_cluster_scoped_owner_may_own_anything_and_an_owner_needs_a_uid() -> None:
    assert set_controller_reference(stored(Namespace.named("x")), ConfigMap.named("c", "default"))
    assert set_controller_reference(stored(Namespace.named("x")), Node.named("n"))
    with pytest.raises(ValueError, match="no uid"):
        set_controller_reference(Namespace.named("x"), Node.named("m"))


# -- status ------------------------------------------------------------------------------------------------------------


def patch_of(obj: Widget, change: Any, *, observed: bool = True, owned: bool = True) -> dict[str, Any] | None:
    draft = StatusDraft(obj, owned=owned)
    change(obj)
    return draft.patch(observed=observed, now=lambda: LATER)


def test_nothing_changed_is_nothing_written() -> None:
    assert patch_of(widget(status={"ready": 2, "observedGeneration": 3}), lambda obj: None) is None


def test_the_observed_generation_is_written_also_when_nothing_else_changed() -> None:
    assert patch_of(widget(status={"ready": 2, "observedGeneration": 2}), lambda obj: None) == {"observedGeneration": 3}


def test_a_failed_reconcile_has_not_observed_the_generation() -> None:
    obj = widget(status={"ready": 2, "observedGeneration": 2})
    assert patch_of(obj, lambda obj: setattr(obj.status, "ready", 4), observed=False) == {"ready": 4}


def test_a_status_that_belongs_to_others_gets_no_observed_generation() -> None:
    obj = widget(status={"ready": 2, "observedGeneration": 2})
    assert patch_of(obj, lambda obj: None, owned=False) is None


def test_what_the_class_does_not_know_survives() -> None:
    obj = widget(status={"ready": 2, "observedGeneration": 3, "future": {"x": 1}})
    patch = patch_of(obj, lambda obj: setattr(obj.status, "ready", 5))
    assert patch == {"ready": 5}


def test_a_status_says_zero_where_it_is_zero() -> None:
    assert patch_of(widget(), lambda obj: None) == {"observedGeneration": 3, "ready": 0}
    down = patch_of(widget(status={"ready": 2, "observedGeneration": 3}), lambda obj: setattr(obj.status, "ready", 0))
    assert down == {"ready": 0}, "and it is not left out, which kubectl would show as nothing"
    said = widget(status={"ready": 0, "observedGeneration": 2})
    assert patch_of(said, lambda obj: None) == {"observedGeneration": 3}


def test_transition_times_move_exactly_when_the_status_does() -> None:
    since = "2025-06-01T00:00:00Z"
    document = {
        "observedGeneration": 3,
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": since},
            {"type": "Synced", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": since},
            {"type": "Idle", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": since},
        ],
    }
    obj = widget(status=document)

    def change(obj: Widget) -> None:
        obj.status.conditions[0] = Condition(type="Ready", status="False", reason="Down")
        obj.status.conditions[1] = Condition(type="Synced", status="True", reason="Better")
        obj.status.conditions.append(Condition(type="New", status="Unknown", reason="Asking"))

    patch = patch_of(obj, change)
    assert patch is not None
    by_type = {item["type"]: item for item in patch["conditions"]}
    assert by_type["Ready"]["lastTransitionTime"] == "2026-01-01T01:00:00Z"
    assert by_type["Synced"]["lastTransitionTime"] == since
    assert by_type["Idle"] == document["conditions"][2], "what was not touched stays as it is"  # type: ignore[index]
    assert by_type["New"]["lastTransitionTime"] == "2026-01-01T01:00:00Z"
    assert [by_type[name].get("observedGeneration") for name in ("Ready", "Synced", "New")] == [3, 3, 3]


def test_a_failure_is_reported_in_a_condition_and_taken_back_by_the_next_success() -> None:
    obj = widget(status={"observedGeneration": 3})
    draft = StatusDraft(obj, owned=True)
    draft.report(reason="ValueError", message="ValueError: no such image", final=False, now=LATER)
    assert not is_condition_true(obj.status.conditions, RECONCILED)
    patch = draft.patch(observed=False, now=lambda: LATER)
    assert patch is not None
    condition, state = patch["conditions"]
    assert (condition["reason"], condition["message"]) == ("ValueError", "ValueError: no such image")
    assert (state["type"], state["status"], state["message"]) == ("Reconciling", "True", condition["message"])
    assert (condition["observedGeneration"], state["observedGeneration"]) == (3, 3)
    healed = widget(status={"observedGeneration": 3, **patch})
    draft = StatusDraft(healed, owned=True)
    draft.succeeded()
    assert draft.patch(observed=True, now=lambda: LATER) == {"conditions": None}, "as if it had never failed"


def states(obj: Widget) -> list[tuple[str, str]]:
    return [(condition.type, condition.reason) for condition in obj.status.conditions if condition.type != RECONCILED]


def test_a_failure_without_a_further_attempt_is_stalled_and_one_with_it_is_reconciling() -> None:
    draft = StatusDraft(widget(), owned=True)
    draft.report(reason="ValueError", message="once", final=False, now=LATER)
    patch = draft.patch(observed=False, now=lambda: LATER)
    again = widget(status=patch)
    draft = StatusDraft(again, owned=True)
    draft.report(reason="ValueError", message="twice", final=False, now=MUCH_LATER)
    assert states(again) == [("Reconciling", "ReconcileFailed")]
    repeated = draft.patch(observed=False, now=lambda: MUCH_LATER)
    assert {condition["lastTransitionTime"] for condition in repeated["conditions"]} == {"2026-01-01T01:00:00Z"}
    assert {condition["message"] for condition in repeated["conditions"]} == {"twice"}
    draft.report(reason="TerminalError", message="never", final=True, now=LATER)
    assert states(again) == [("Stalled", "ReconcileFailed")]
    draft.succeeded()
    assert again.status.conditions == []


def test_the_conditions_of_kstatus_that_a_program_sets_itself_stay() -> None:
    own = {"type": "Reconciling", "status": "False", "reason": "Mine", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    obj = widget(status={"conditions": [{**own, "message": ""}]})
    draft = StatusDraft(obj, owned=True)
    draft.report(reason="ValueError", message="once", final=False, now=LATER)
    assert states(obj) == [("Reconciling", "Mine")]
    draft.succeeded()
    assert states(obj) == [("Reconciling", "Mine")]


def test_a_controller_that_is_not_named_after_its_kind_leaves_the_conditions_of_kstatus_to_others() -> None:
    obj = widget()
    draft = StatusDraft(obj, owned=True, failure="backup.grp.example.com/Reconciled")
    draft.report(reason="ValueError", message="once", final=True, now=LATER)
    assert [condition.type for condition in obj.status.conditions] == ["backup.grp.example.com/Reconciled"]


def test_a_status_that_never_failed_gets_no_condition() -> None:
    obj = widget(status={"observedGeneration": 3})
    draft = StatusDraft(obj, owned=True)
    draft.succeeded()
    assert draft.patch(observed=True, now=lambda: LATER) is None


# -- finalizers --------------------------------------------------------------------------------------------------------

NAME = "test.example.com/cleanup"
others = st.lists(st.sampled_from(["a.io/x", "b.io/y", "c.io/z"]), unique=True)


@given(others)
def test_adding_and_removing_leaves_others_finalizers_alone(present: list[str]) -> None:
    document: dict[str, Any] = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "5"}}
    if present:
        document["metadata"]["finalizers"] = present
    obj = decode(Widget, msgspec.json.encode(document))
    changed = json_patch.apply(document, patch_to_add(obj, NAME))
    assert changed["metadata"]["finalizers"] == [*present, NAME]
    with_it = decode(Widget, msgspec.json.encode(changed))
    assert patch_to_add(with_it, NAME) == []
    back = json_patch.apply(changed, patch_to_remove(with_it, NAME))
    assert back["metadata"]["finalizers"] == present
    assert patch_to_remove(obj, NAME) == []


def test_a_finalizer_that_is_there_twice_is_removed_twice() -> None:
    document = {"metadata": {"name": "a", "uid": "u", "finalizers": [NAME, "a.io/x", NAME]}}
    obj = decode(Widget, msgspec.json.encode(document))
    assert json_patch.apply(document, patch_to_remove(obj, NAME))["metadata"]["finalizers"] == ["a.io/x"]


def test_finalizers_have_a_domain() -> None:
    assert finalizer_name(Widget.resource, "widget") == "test.example.com/widget"
    with pytest.raises(ValueError, match="your own domain"):
        finalizer_name(Pod.resource, "pod")
    with pytest.raises(ValueError, match="must have a domain"):
        checked_name("cleanup")


def test_merge_patches_of_a_status_apply_to_what_was_read() -> None:
    before = {"ready": 1, "conditions": [], "future": {"x": 1}}
    obj = widget(status=before)
    patch = patch_of(obj, lambda obj: setattr(obj.status, "ready", 9))
    assert merge_patch.apply(before, patch)["future"] == {"x": 1}

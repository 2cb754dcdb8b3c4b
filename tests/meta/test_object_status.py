"""The standing of any object, whatever its status contains: custom resources may have statuses of every form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.meta.condition_messages import message
from setpoint.meta.object_status import differences, progress, ready, standing

WORDS = st.sampled_from([
    "Job", "Pod", "Service", "ResourceQuota", "LoadBalancer", "Failed", "Pending", "Ready", "PodScheduled",
    "Progressing", "ReplicaFailure", "CrashLoopBackOff", "True", "False",
    "0/2 nodes are available: 1 Insufficient cpu.",
])  # fmt: skip
NAMES = st.sampled_from([
    "active", "completions", "conditions", "containerStatuses", "containers", "desiredNumberScheduled", "exitCode",
    "failed", "fieldsV1", "finalizers", "hard", "ingress", "initContainerStatuses", "lastState", "lastTransitionTime",
    "loadBalancer", "managedFields", "message", "name", "nodeSelector", "numberReady", "observedGeneration", "phase",
    "readyReplicas", "reason", "replicas", "requests", "resources", "state", "status", "succeeded", "suspend",
    "terminated", "time", "type", "used", "waiting",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=6),
)
METADATA = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("deletionTimestamp", "generation", "finalizers", "managedFields"), JSON)
)
LISTS = st.lists(st.dictionaries(NAMES, JSON, max_size=6), max_size=3)
STATUSES = JSON | st.dictionaries(NAMES, JSON | LISTS, max_size=8)


@given(
    st.fixed_dictionaries(
        {"kind": WORDS, "apiVersion": st.sampled_from(["v1", "batch/v1", "apps/v1", "example.com/v1"])},
        optional={"metadata": METADATA, "spec": STATUSES, "status": STATUSES},
    )
)
def test_every_object_has_a_standing(obj: dict[str, Any]) -> None:
    assert isinstance(standing(obj).text, str)
    assert isinstance(ready(obj), str)
    assert isinstance(progress(obj), str)
    assert all(isinstance(difference.differs, bool) for difference in differences(obj))


@pytest.mark.parametrize(
    "status",
    [
        {"phase": {}},
        {"phase": []},
        {"conditions": [{"type": [], "status": "True"}]},
        {"containerStatuses": [{"state": {"waiting": {"reason": {"is": "a mapping"}}}}]},
    ],
)
def test_a_status_of_another_form_has_a_standing(status: dict[str, Any]) -> None:
    assert standing({"kind": "Oddity", "apiVersion": "example.com/v1", "status": status}).state in (
        "current", "in progress",
    )  # fmt: skip


def test_a_message_with_a_number_of_thousands_of_digits_is_told() -> None:
    many = "9" * 5000
    assert message(f"0/{many} nodes are available: 1 Too many pods.").startswith(
        f"of {many} nodes, 1 already has its maximum"
    )

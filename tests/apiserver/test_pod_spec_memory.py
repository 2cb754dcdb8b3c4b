"""Pods with a spec that was checked before get the answers of the first check."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.strategies.pod_spec import pod_spec_errors


def spec(**fields: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "busybox",
        "imagePullPolicy": "Always",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", **fields}


def test_a_wrong_spec_is_refused_each_time_with_the_path_of_its_owner() -> None:
    for path in ("spec", "template.spec", "spec"):
        current_pod_spec_errors = pod_spec_errors(spec(restartPolicy="Sometimes"), path)
        assert [error.field for error in current_pod_spec_errors] == [f"{path}.restartPolicy"]


def test_a_spec_changed_in_place_after_its_check_is_checked_again() -> None:
    new_spec = spec()
    assert pod_spec_errors(new_spec, "spec", pod="a") == []
    new_spec["containers"][0]["image"] = ""
    assert pod_spec_errors(new_spec, "spec", pod="a") != []


def test_values_that_python_takes_as_equal_are_checked_apart() -> None:
    assert pod_spec_errors(spec(activeDeadlineSeconds=1), "spec", pod="a") == []
    assert pod_spec_errors(spec(activeDeadlineSeconds=0), "spec", pod="a") != []


def test_a_spec_that_a_template_may_have_is_checked_again_for_a_pod() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP"}]
    on_node = spec(hostNetwork=True)
    on_node["containers"][0]["ports"] = ports
    assert pod_spec_errors(on_node, "template.spec") == []
    assert [error.field for error in pod_spec_errors(on_node, "spec", pod="a")] == [
        "spec.containers[0].ports[0].hostPort"
    ]


def test_the_name_of_a_claim_made_for_one_pod_says_nothing_about_the_next_pod() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [
        {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
        {"name": "old", "persistentVolumeClaim": {"claimName": "b-data"}},
    ]
    assert pod_spec_errors(spec(volumes=volumes), "spec", pod="a") == []
    assert pod_spec_errors(spec(volumes=volumes), "spec", pod="b") != []

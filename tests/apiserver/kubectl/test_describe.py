from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from .conftest import Kubectl, config_map, deployment, mykind, pod

pytestmark = pytest.mark.wall_clock

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/worker": ""}},
    "spec": {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]},
}


def event(kind: str, name: str, uid: str, api_version: str = "v1", namespace: str = "default") -> dict[str, Any]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": namespace},
        "involvedObject": {"kind": kind, "name": name, "namespace": namespace, "uid": uid, "apiVersion": api_version},
        "reason": "Noticed",
        "message": "it was seen",
        "type": "Normal",
        "source": {"component": "tester"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 3,
    }


def fields_of(description: str) -> dict[str, str]:
    """The texts after the labels at the left margin."""
    lines = (line.partition(":") for line in description.splitlines() if line[:1].strip())
    return {label: rest.strip() for label, _, rest in lines}


async def test_a_pod_is_described_with_its_events(kubectl: Kubectl) -> None:
    new_pod = pod("web")
    new_pod["spec"] |= {"nodeName": "n1", "restartPolicy": "Never"}
    new_pod["metadata"]["labels"] = {"app": "web"}
    await kubectl("create", "-f", "-", stdin=new_pod)
    status = {"status": {"phase": "Running", "podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]}}
    await kubectl("patch", "pod", "web", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    uid = (await kubectl.get("pod", "web"))["metadata"]["uid"]
    await kubectl("create", "-f", "-", stdin=event("Pod", "web", uid))
    described = await kubectl("describe", "pod", "web")
    fields = fields_of(described.out)
    assert (fields["Name"], fields["Namespace"], fields["Labels"]) == ("web", "default", "app=web")
    assert (fields["Status"], fields["IP"], fields["Node"]) == ("Running", "10.0.0.7", "n1/")
    assert "    Image:        busybox" in described.lines
    assert described.lines[-1].split()[:2] == ["Normal", "Noticed"]
    assert "(x3 over" in described.lines[-1]
    assert described.lines[-1].endswith("tester  it was seen")
    events = await kubectl("get", "events")
    assert events.rows[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert events.rows[1][1:] == ["Normal", "Noticed", "pod/web", "it was seen"]
    listed = await kubectl("events", "--for=pod/web")
    assert listed.rows[1][-1] == "it was seen"


async def test_a_deployment_is_described(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=deployment("web"))
    described = await kubectl("describe", "deployment", "web")
    fields = fields_of(described.out)
    assert fields["Selector"] == "app=web"
    assert fields["Replicas"] == "2 desired | 0 updated | 0 total | 0 available | 0 unavailable"
    assert fields["StrategyType"] == "RollingUpdate"
    assert fields["RollingUpdateStrategy"] == "25% max unavailable, 25% max surge"
    assert fields["Events"] == "<none>"


async def test_nodes_and_namespaces_are_described(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=NODE)
    node = fields_of((await kubectl("describe", "node", "n1")).out)
    assert (node["Name"], node["Roles"]) == ("n1", "worker")
    assert node["Taints"] == "dedicated=x:NoSchedule"
    assert node["Unschedulable"] == "false"
    assert (await kubectl("cordon", "n1")).out == "node/n1 cordoned"
    assert (await kubectl("get", "nodes")).rows[1][:3] == ["n1", "Unknown,SchedulingDisabled", "worker"]
    namespace = fields_of((await kubectl("describe", "namespace", "default")).out)
    assert (namespace["Name"], namespace["Status"]) == ("default", "Active")
    assert "No resource quota." in (await kubectl("describe", "namespace", "default")).lines


async def test_custom_resources_and_configuration_are_described(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=[mykind("m", numpods=3), config_map("a", x="1")])
    uid = (await custom.get("mk", "m"))["metadata"]["uid"]
    await custom("create", "-f", "-", stdin=event("Mykind", "m", uid, "grp.example.com/v1alpha1"))
    described = await custom("describe", "mk", "m")
    fields = fields_of(described.out)
    assert (fields["API Version"], fields["Kind"]) == ("grp.example.com/v1alpha1", "Mykind")
    assert "  Numpods:  3" in described.lines
    assert described.lines[-1].endswith("tester  it was seen")
    assert "x:" in (await custom("describe", "cm", "a")).lines

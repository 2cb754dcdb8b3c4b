"""kubectl with a control plane beside the server: workloads that run, dependents that are collected."""

from __future__ import annotations

from typing import Any

from .conftest import SECONDS, Kubectl, config_map, deployment


def owned(name: str, owner: dict[str, Any], **reference: Any) -> dict[str, Any]:
    new_config_map = config_map(name)
    metadata = owner["metadata"]
    identity = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    new_config_map["metadata"]["ownerReferences"] = [{**identity, "uid": metadata["uid"], **reference}]
    return new_config_map


async def gone(kubectl: Kubectl, *objects: str) -> None:
    await kubectl("wait", "--for=delete", *objects, f"--timeout={SECONDS}s")


async def test_a_deployment_rolls_out_scales_and_goes_with_all_its_pods(cluster: Kubectl) -> None:
    await cluster("create", "-f", "-", stdin=deployment("web", replicas=2))
    rollout = await cluster("rollout", "status", "deployment/web", f"--timeout={SECONDS}s")
    assert rollout.lines[-1] == 'deployment "web" successfully rolled out'
    assert (await cluster("get", "deployment", "web")).rows[1][:4] == ["web", "2/2", "2", "2"]
    pods = (await cluster("get", "pods", "-l", "app=web", "--no-headers")).rows
    assert [row[1:4] for row in pods] == [["1/1", "Running", "0"]] * 2
    await cluster("scale", "deployment/web", "--replicas=1")
    await cluster("wait", "--for=jsonpath={.status.replicas}=1", "deployment/web", f"--timeout={SECONDS}s")
    await cluster("delete", "deployment", "web")
    await gone(cluster, "pods", "--all")
    assert (await cluster("get", "replicasets,pods")).err == "No resources found in default namespace."


async def test_dependents_go_after_their_owner_before_it_or_not_at_all(cluster: Kubectl) -> None:
    for policy in ("background", "foreground", "orphan"):
        await cluster("create", "configmap", "owner")
        owner = await cluster.get("configmap", "owner")
        await cluster("create", "-f", "-", stdin=owned("child", owner, blockOwnerDeletion=True))
        await cluster("delete", "configmap", "owner", f"--cascade={policy}", f"--timeout={SECONDS}s")
        if policy == "orphan":
            assert "ownerReferences" not in (await cluster.get("configmap", "child"))["metadata"]
        elif policy == "foreground":
            refused = await cluster("get", "configmap", "child", fails=True)
            assert refused.err == 'Error from server (NotFound): configmaps "child" not found'
        else:
            await gone(cluster, "configmap/child")


async def test_a_namespace_takes_what_is_in_it(cluster: Kubectl) -> None:
    await cluster("create", "namespace", "team")
    await cluster("create", "-n", "team", "-f", "-", stdin=[config_map("a"), deployment("web", replicas=1)])
    assert (await cluster("delete", "namespace", "team", f"--timeout={SECONDS}s")).out == 'namespace "team" deleted'
    refused = await cluster("get", "namespace", "team", fails=True)
    assert refused.err == 'Error from server (NotFound): namespaces "team" not found'


async def test_nodes_are_ready_and_can_be_drained(cluster: Kubectl) -> None:
    await cluster("wait", "--for=condition=Ready", "nodes", "--all", f"--timeout={SECONDS}s")
    ((name, status, *_),) = (await cluster("get", "nodes", "--no-headers")).rows
    assert status == "Ready"
    await cluster("run", "web", "--image=nginx")
    await cluster("wait", "--for=condition=Ready", "pod/web", f"--timeout={SECONDS}s")
    drained = await cluster("drain", name, "--force", f"--timeout={SECONDS}s")
    assert drained.lines == [
        f"node/{name} cordoned",
        "evicting pod default/web",
        "pod/web evicted",
        f"node/{name} drained",
    ]
    assert (await cluster("get", "pods")).err == "No resources found in default namespace."
    assert (await cluster("get", "nodes", "--no-headers")).rows[0][1] == "Ready,SchedulingDisabled"
    assert (await cluster("taint", "node", name, "a=b:NoSchedule")).out == f"node/{name} tainted"

"""kubectl with the controllers of the control plane: rollouts and their history, autoscaling, exposing, quotas."""

from __future__ import annotations

from .conftest import Kubectl


async def test_rollouts_are_followed_explained_and_undone(cluster: Kubectl) -> None:
    await cluster("create", "deployment", "web", "--image=web:1", "--replicas=2")
    followed = await cluster("rollout", "status", "deployment/web", "--timeout=20s")
    assert followed.lines[-1] == 'deployment "web" successfully rolled out'
    await cluster("annotate", "deployment/web", "kubernetes.io/change-cause=the first")
    await cluster("set", "image", "deployment/web", "web=web:2")
    await cluster("annotate", "deployment/web", "kubernetes.io/change-cause=the second", "--overwrite")
    await cluster("rollout", "status", "deployment/web", "--timeout=20s")
    history = await cluster("rollout", "history", "deployment/web")
    assert [row for row in history.rows if row and row[0].isdigit()] == [["1", "the first"], ["2", "the second"]]
    await cluster("rollout", "undo", "deployment/web")
    await cluster("rollout", "status", "deployment/web", "--timeout=20s")
    result = await cluster.get("deployment", "web")
    assert result["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"
    assert result["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
    described = await cluster("describe", "deployment/web")
    assert "ScalingReplicaSet" in described.out
    assert "NewReplicaSetAvailable" in described.out


async def test_a_deployment_is_exposed_and_scaled_by_hand_and_by_metrics(cluster: Kubectl) -> None:
    await cluster("create", "deployment", "web", "--image=web:1", "--port=80")
    await cluster("expose", "deployment/web", "--port=80")
    await cluster("wait", "--for=jsonpath={.subsets[0].addresses[0].ip}", "endpoints/web", "--timeout=20s")
    await cluster("scale", "deployment/web", "--replicas=1")
    await cluster("autoscale", "deployment/web", "--min=3", "--max=5", "--cpu=50%")
    await cluster("wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/web", "--timeout=20s")
    (heading, row) = (await cluster("get", "hpa", "web")).rows
    assert heading[:2] == ["NAME", "REFERENCE"]
    assert row[:2] == ["web", "Deployment/web"]
    described = await cluster("describe", "hpa", "web")
    assert "New size: 3; reason: Current number of replicas below Spec.MinReplicas" in described.out


async def test_a_quota_is_shown_and_enforced(cluster: Kubectl) -> None:
    await cluster("create", "quota", "most", "--hard=pods=1")
    await cluster("wait", "--for=jsonpath={.status.hard.pods}=1", "quota/most", "--timeout=20s")
    await cluster("run", "one", "--image=web:1")
    refused = await cluster("run", "two", "--image=web:1", fails=True)
    assert refused.err == (
        'Error from server (Forbidden): pods "two" is forbidden: exceeded quota: most, requested: pods=1, '
        "used: pods=1, limited: pods=1"
    )
    assert ["pods", "1", "1"] in [row[:3] for row in (await cluster("describe", "quota", "most")).rows]

"""kubectl with Jobs, CronJobs, paused rollouts and ``top``, as a person uses them in a cluster with hollow nodes."""

from __future__ import annotations

import os

import pytest
from tests.cluster.test_csr_signing import asked

from setpoint.meta import to_wire

from .conftest import Kubectl, deployment

METRICS = "metrics.hollow.setpoint.io"


async def test_jobs_and_cron_jobs_are_made_awaited_and_described(cluster: Kubectl) -> None:
    await cluster("create", "cronjob", "tick", "--image=busybox", "--schedule=0 0 1 1 *", "--", "date")
    await cluster("create", "job", "once", "--from=cronjob/tick")
    await cluster("wait", "--for=condition=Complete", "job/once", "--timeout=20s")
    (_, row) = (await cluster("get", "job")).rows
    assert row[:3] == ["once", "Complete", "1/1"]
    assert (await cluster("logs", "job/once")).out.startswith("hollow: nothing is executed in container tick of pod")
    described = (await cluster("describe", "job/once")).out
    assert "0 Active (0 Ready) / 1 Succeeded / 0 Failed" in described
    assert ["Normal", "Completed", "job-controller", "Job completed"] in _events(described)
    of_pod = _events((await cluster("describe", "pod", "-l", "job-name=once")).out)
    assert [row[1] for row in of_pod] == ["Scheduled", "Pulled", "Created", "Started"]
    assert ["Normal", "Started", "hollow-kubelet", "Container started"] in of_pod


def _events(described: str) -> list[list[str]]:
    """The events that describe prints, without their ages."""
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in described.splitlines()]
    return [[row[0], row[1], *row[3:]] for row in rows if len(row) == 5 and row[0] in ("Normal", "Warning")]


async def test_a_rollout_that_is_paused_waits_and_a_restart_replaces_all_pods(cluster: Kubectl) -> None:
    await cluster("apply", "-f", "-", stdin=deployment("web"))
    await cluster("rollout", "status", "deployment/web", "--timeout=20s")
    await cluster("rollout", "pause", "deployment/web")
    await cluster("set", "image", "deployment/web", "main=nginx:2")
    waiting = await cluster("rollout", "status", "deployment/web", "--timeout=500ms", fails=True)
    assert "0 out of 2 new replicas have been updated" in waiting.out
    refused = await cluster("rollout", "restart", "deployment/web", fails=True)
    assert "can't restart paused deployment" in refused.err
    await cluster("rollout", "resume", "deployment/web")
    await cluster("rollout", "status", "deployment/web", "--timeout=20s")
    before = {item["metadata"]["uid"] for item in (await cluster.get("pods"))["items"]}
    await cluster("rollout", "restart", "deployment/web")
    await cluster("rollout", "status", "deployment/web", "--timeout=20s")
    pods = [item for item in (await cluster.get("pods"))["items"] if "deletionTimestamp" not in item["metadata"]]
    assert len(pods) == 2
    assert not before & {pod["metadata"]["uid"] for pod in pods}
    described = await cluster("describe", "deployment/web")
    assert {row[2] for row in _events(described.out)} == {"deployment-controller"}


async def test_top_shows_what_annotations_say_and_an_idle_program_otherwise(cluster: Kubectl) -> None:
    busy = deployment("busy", replicas=1)
    template = busy["spec"]["template"]
    template["metadata"]["annotations"] = {f"{METRICS}/cpu": "1500m", f"sidecar.{METRICS}/memory": "2Gi"}
    template["spec"]["containers"].append({"name": "sidecar", "image": "proxy:1"})
    await cluster("apply", "-f", "-", stdin=[busy, deployment("idle", replicas=1)])
    await cluster("wait", "--for=condition=Available", "deployment/busy", "deployment/idle", "--timeout=20s")
    rows = (await cluster("top", "pods", "--containers", "--sort-by=memory", "--no-headers")).rows
    assert [row[1:] for row in rows] == [
        ["sidecar", "750m", "2048Mi"],
        ["main", "750m", "16Mi"],
        ["main", "1m", "16Mi"],
    ]
    assert (await cluster("top", "pods", "-l", "app=busy", "--no-headers")).rows[0][1:] == ["1500m", "2064Mi"]
    assert (await cluster("top", "nodes", "--no-headers")).rows == [["hollow-0", "1501m", "4%", "2080Mi", "0%"]]
    assert (await cluster("get", "pods.metrics.k8s.io", "-l", "app=busy", "--no-headers")).rows[0][1:] == [
        "1500m", "2064Mi", "15s"
    ]  # fmt: skip
    missing = await cluster("get", "--raw", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/gone", fails=True)
    assert 'pods.metrics.k8s.io "gone" not found' in missing.err


@pytest.mark.skipif("CLOCK_AHEAD" in os.environ, reason="kubectl writes when it approved, and its clock is not ahead")
async def test_a_certificate_that_is_approved_is_issued(cluster: Kubectl) -> None:
    await cluster("create", "-f", "-", stdin=to_wire(asked()) | {"apiVersion": "certificates.k8s.io/v1"})
    await cluster("certificate", "approve", "mary")
    await cluster("wait", "--for=jsonpath={.status.certificate}", "csr/mary", "--timeout=20s")
    (_, row) = (await cluster("get", "csr")).rows
    assert row[-1] == "Approved,Issued"

"""The tests of factory.py."""

from __future__ import annotations

import asyncio
import io

from factory import report

import setpoint as sp
from setpoint.client import InProcessTransport
from setpoint.models.core_v1 import Container, Pod, PodSpec, Service, ServicePort, ServiceSpec
from setpoint.models.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject

USER = "system:serviceaccount:default:controllers"


def reader(*resources: str) -> list[sp.Object]:
    """The role of a user who may list and watch these resources, and nothing else."""
    role = ClusterRole.named("reader")
    role.rules = [PolicyRule(api_groups=[""], resources=[*resources], verbs=["list", "watch"])]
    whose = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="reader")
    bound = ClusterRoleBinding.named("reader", role_ref=whose)
    bound.subjects = [Subject(api_group="rbac.authorization.k8s.io", kind="User", name=USER)]
    return [role, bound]


@sp.testing.virtual_time
async def test_the_report_follows_what_the_caches_are_told() -> None:
    out = io.StringIO()

    def last() -> list[str]:
        return out.getvalue().removesuffix("\n\n").rpartition("\n\n")[2].splitlines()

    async with sp.testing.cluster(objects=reader("nodes", "pods", "services")) as cluster:
        client = cluster.client.over(InProcessTransport(cluster.server.handle, user=USER))
        reporting = asyncio.create_task(report(client, out))
        await asyncio.sleep(1)
        assert last() == ["hollow-0: -"]
        spec = ServiceSpec(selector={"app": "web", "tier": "front"}, ports=[ServicePort(port=80)])
        await cluster.apply(Service.named("web", "default", spec=spec))
        await asyncio.sleep(1)
        assert last() == ["hollow-0: -", "service default/web: no running pod is app=web,tier=front"]
        pod = Pod.named("web-0", "default", spec=PodSpec(containers=[Container(name="main", image="nginx")]))
        pod.metadata.labels = {"app": "web", "tier": "front"}
        pod_ = await cluster.apply(pod)
        await asyncio.sleep(1)
        assert last() == ["hollow-0: default/web-0"]
        reports = out.getvalue()
        await asyncio.sleep(600)  # resyncs tell all objects again, and change nothing
        assert out.getvalue() == reports
        await cluster.delete(pod_)
        await asyncio.sleep(60)
        assert last() == ["hollow-0: -", "service default/web: no running pod is app=web,tier=front"]
        reporting.cancel()
        await asyncio.wait([reporting])
        assert reporting.cancelled()

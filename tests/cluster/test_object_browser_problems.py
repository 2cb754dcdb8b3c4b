"""One row for one problem, links on the objects that a reason names, and the states that are more than a status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from setpoint.client import Client
from setpoint.cluster.object_browser.json_endpoints import ClusterPages
from setpoint.meta import Object, from_wire
from setpoint.models.admissionregistration_v1 import ValidatingWebhookConfiguration
from setpoint.models.apps_v1 import Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec
from setpoint.models.batch_v1 import CronJob
from setpoint.models.core_v1 import ConfigMap, Pod, ResourceQuota
from setpoint.testing import virtual_time

from .test_object_browser import asked, looked_at, owned_by
from .test_object_browser_causes import change, claim, mounting, report, row
from .workloads import selector, template

CRASHES = {"name": "main", "image": "web:1", "imageID": "", "ready": False, "restartCount": 1,
           "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}  # fmt: skip


async def rollout(client: Client, name: str, condition: dict[str, str]) -> tuple[Deployment, ReplicaSet]:
    """A Deployment and its ReplicaSet that can't create its pods, for the reason in the condition of both."""
    wanted = {"replicas": 1, "selector": selector(name), "template": template(app=name)}
    top = await client.create(Deployment.named(name, "default", spec=DeploymentSpec(**wanted)))
    below = ReplicaSet.named(f"{name}-1", "default", spec=ReplicaSetSpec(**wanted))
    below.metadata.owner_references = owned_by(top, "Deployment")
    below = await client.create(below)
    for item in (top, below):
        await change(client, item, {"status": {"replicas": 0, "conditions": [condition]}}, subresource="status")
    return top, below


def failure(message: str) -> dict[str, str]:
    return {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}


async def problems(pages: ClusterPages, *, find: str = "") -> list[tuple[str, str, list[str]]]:
    listed = (await asked(pages, "named", find=find))["objects"]
    return [
        (item["state"], item["key"], [one["key"] for one in item["others"]])
        for item in listed
        if item["state"] != "current"
    ]


@virtual_time
async def test_a_chain_of_owners_is_one_problem_with_the_state_of_the_worst_object() -> None:
    async with looked_at() as (client, pages):
        top = await client.create(
            Deployment.named(
                "web",
                "default",
                spec=DeploymentSpec(replicas=1, selector=selector("web"), template=template(app="web")),
            )
        )
        pod = Pod.named("web-1", "default", spec=template().spec)
        pod.metadata.owner_references = owned_by(top, "Deployment")
        new_pod = await client.create(pod)
        assert await problems(pages) == [("in progress", "default/web", ["default/web-1"])]
        await change(client, new_pod, {"status": {"containerStatuses": [CRASHES]}}, subresource="status")
        assert await problems(pages) == [("failed", "default/web", ["default/web-1"])]
        assert (await asked(pages, "named"))["counts"]["failed"] == 1, "rows are counted"
        assert await problems(pages, find="web-1") == [("failed", "default/web-1", [])], "a search finds the pod"
        (listed,) = (await asked(pages, "named", kind="pods"))["objects"]
        assert (listed["state"], listed["key"], listed["others"]) == ("failed", "default/web-1", [])
        answer = await asked(pages, "stored", kind="deployments.apps", key="default/web")
        assert answer["state"] == "failed"


@virtual_time
async def test_several_pods_that_wait_for_a_claim_are_one_problem_of_the_claim() -> None:
    async with looked_at() as (client, pages):
        new_claim = await claim(client)
        await change(client, new_claim, {"status": {"phase": "Pending"}}, subresource="status")
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes fit"}
        for name in ("a", "b"):
            pod = await client.create(Pod.named(name, "default", spec=mounting("data")))
            await change(client, pod, {"status": {"phase": "Pending", "conditions": [condition]}}, subresource="status")
            others = ["default/a", "default/b"]
            wanted = (
                ("stuck", "default/a", ["default/data"]) if name == "a" else ("in progress", "default/data", others)
            )
            assert await problems(pages) == [wanted]
        await report(client, new_claim, "ProvisioningFailed", "no class", later=5)
        assert await problems(pages) == [("stuck", "default/data", ["default/a", "default/b"])]


@virtual_time
async def test_an_object_without_progress_for_ten_minutes_is_stuck() -> None:
    moments = [datetime(2026, 1, 2, tzinfo=UTC)]
    async with looked_at(now=lambda: moments[-1]) as (client, pages):
        spec = DeploymentSpec(replicas=1, selector=selector("old"), template=template(app="old"))
        await client.create(Deployment.named("old", "default", spec=spec))
        for later, state in ((599, "in progress"), (601, "stuck")):
            moments.append(moments[0] + timedelta(seconds=later))
            assert [problem[0] for problem in await problems(pages)] == [state]


@virtual_time
async def test_a_suspended_object_is_paused_and_does_not_need_attention() -> None:
    async with looked_at() as (client, pages):
        job = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]}}}
        spec = {"schedule": "0 3 * * *", "suspend": True, "jobTemplate": {"spec": job}}
        cron_job = await client.create(
            from_wire(CronJob, {"metadata": {"name": "nightly", "namespace": "default"}, "spec": spec})
        )
        pod = Pod.named("left", "default", spec=template().spec)
        pod.metadata.owner_references = owned_by(cron_job, "CronJob")
        left = await client.create(pod)
        await change(client, left, {"status": {"phase": "Failed"}}, subresource="status")
        assert await problems(pages) == [("failed", "default/left", []), ("paused", "default/nightly", [])]
        by_name = {item["name"]: item["attention"] for item in await asked(pages, "kinds")}
        assert by_name["cronjobs.batch"] == 0


async def said(pages: ClusterPages, key: str) -> list[tuple[str, str, str]]:
    """The pieces of the reason of a ReplicaSet that are links."""
    parts = (await row(pages, key, "replicasets.apps"))["parts"]
    return [(part["text"], part["resource"], part["key"]) for part in parts if part["resource"]]


@virtual_time
async def test_what_a_reason_names_is_a_link_to_the_object_or_to_the_list_of_its_kind() -> None:
    async with looked_at() as (client, pages):
        quota: Object = from_wire(ResourceQuota, {"metadata": {"name": "team", "namespace": "default"}, "spec": {}})
        await client.create(quota)
        await client.create(ConfigMap.named("settings", "default"))
        hook = {"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://127.0.0.1:1/"}}  # fmt: skip
        await client.create(
            from_wire(ValidatingWebhookConfiguration, {"metadata": {"name": "judge"}, "webhooks": [hook]})
        )
        webhooks = "validatingwebhookconfigurations.admissionregistration.k8s.io"
        for number, (message, links) in enumerate((
            ("exceeded quota: team, requested: cpu=1, used: cpu=2, limited: cpu=2",
             [("ResourceQuota team", "resourcequotas", "default/team")]),
            ("no PriorityClass with name high was found",
             [("PriorityClass high", "priorityclasses.scheduling.k8s.io", "high")]),
            ('failed calling webhook "a.example.com": failed to call webhook: Post "https://judge.court.svc:443/": '
             'service "judge" not found',
             [('webhook "a.example.com"', webhooks, "judge"), ("Service court/judge", "services", "court/judge")]),
            ('failed calling webhook "gone.example.com": failed to call webhook: it is away', []),
            ('configmap "settings" and secrets "key" not found', [
                ("ConfigMap settings", "configmaps", "default/settings"), ("Secret key", "secrets", "default/key")]),
            ("Job has failed, Pod was lost, Nothing x, nothings \"y\"", []),
        )):  # fmt: skip
            await rollout(client, f"web-{number}", failure(message))
            assert await said(pages, f"default/web-{number}-1") == links


async def held_up(pages: ClusterPages, kind: str, key: str) -> list[tuple[str, str, str]]:
    answer = await asked(pages, "stored", kind=kind, key=key)
    return [(item["kind"], item["key"], item["state"]) for item in answer["holdsUp"]]


@virtual_time
async def test_a_cause_names_the_objects_that_it_holds_up_whether_it_exists_or_not() -> None:
    async with looked_at() as (client, pages):
        quota: Object = from_wire(ResourceQuota, {"metadata": {"name": "team", "namespace": "default"}, "spec": {}})
        await client.create(quota)
        await rollout(client, "big", failure("exceeded quota: team, requested: cpu=1, used: cpu=2, limited: cpu=2"))
        away = 'failed calling webhook "a.b.c": failed to call webhook: Post "https://judge.court.svc:443/": '
        await rollout(client, "asked", failure(away + 'service "judge" not found'))
        state = (await row(pages, "default/big", "deployments.apps"))["state"]
        assert await held_up(pages, "resourcequotas", "default/team") == [("Deployment", "default/big", state)]
        assert await held_up(pages, "resourcequotas", "default/other") == []
        assert await held_up(pages, "services", "court/judge") == [("Deployment", "default/asked", state)]
        answer = await asked(pages, "stored", kind="services", key="court/judge")
        assert answer["text"] == "Service court/judge does not exist, and there is no Namespace court"
        assert [part["text"] for part in answer["parts"]] == [answer["text"]], "it does not link to itself"
        volume = await claim(client)
        await change(client, volume, {"status": {"phase": "Pending"}}, subresource="status")
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes fit"}
        pod = await client.create(Pod.named("a", "default", spec=mounting("data")))
        await change(client, pod, {"status": {"phase": "Pending", "conditions": [condition]}}, subresource="status")
        assert await held_up(pages, "persistentvolumeclaims", "default/data") == [("Pod", "default/a", "stuck")]

"""An operator is removed in an order in which nothing waits for something that is gone, and nothing of others goes."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.deploy import shop

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cli.program import program
from setpoint.client import Client, InProcessTransport
from setpoint.deploy.document_groups import parts
from setpoint.deploy.installation import Installation
from setpoint.deploy.uninstallation import ObjectsRemain, Uninstallation
from setpoint.deploy.workload import grace_seconds
from setpoint.meta import from_wire
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod, Secret
from setpoint.models.rbac_v1 import ClusterRole
from setpoint.testing import virtual_time


async def install(client: Client, operator: Installation) -> Counter[str]:
    """Creates the operator's objects, and the Secret that a running one makes. Returns their number by kind."""
    created: Counter[str] = Counter()
    for group, documents in parts(operator).items():
        for document in documents if group not in ("monitoring", "webhooks") else ():
            kind = await client.kind(document["kind"])
            await client.create(from_wire(kind, document))
            created[document["kind"]] += 1
    await client.create(Secret.named(operator.secret, operator.namespace))
    return created


async def names_of(client: Client, kind: type[sp.Object], marked: str = "shop") -> list[str]:
    return [obj.name for obj in await client.list(kind) if marked in obj.name]


@virtual_time
async def test_everything_that_was_installed_goes_and_a_second_removal_finds_nothing() -> None:
    operator = shop.operator()
    lines: list[str] = []
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("of-a-user", "default"))
        await install(client, operator)
        await client.create(MutatingWebhookConfiguration.named(operator.configuration))
        removal = Uninstallation(client, operator, 60, lines.append)
        await removal.run()
        for kind in (Deployment, ClusterRole, Secret, MutatingWebhookConfiguration, CustomResourceDefinition):
            assert await names_of(client, kind) == [], kind
        assert await names_of(client, Namespace) == [operator.namespace], "users may have other things in it"
        assert await names_of(client, ConfigMap, "of-a-user") == ["of-a-user"]
        assert lines[-1] == "customresourcedefinition.apiextensions.k8s.io shops.shop.example.com: deleted"
        before = len(lines)
        await removal.run()
        assert lines[before:] == ["webhooks: no longer registered"]


@virtual_time
async def test_what_the_running_operator_would_make_again_goes_after_its_pods() -> None:
    operator = shop.operator()
    async with sp.testing.cluster() as cluster:
        client = cluster.client
        await install(client, operator)
        await cluster.settle()
        pods = await client.list(Pod, namespace=operator.namespace)
        assert len(pods) == operator.replicas
        pods[0].metadata.finalizers.append("example.com/slow")  # as one whose process takes its time
        slow = await client.update(pods[0])
        removal = asyncio.create_task(Uninstallation(client, operator, 60, lambda line: None).run())
        await cluster.settle()
        assert [pod.name for pod in await client.list(Pod, namespace=operator.namespace)] == [slow.name]
        assert await names_of(client, Secret) == [operator.secret]
        assert await names_of(client, ClusterRole), "it releases its Lease by its role"
        patch = {"metadata": {"finalizers": None}}
        await client.patch(Pod, slow.name, patch, namespace=operator.namespace)
        await removal
        assert await names_of(client, Secret) == []


@virtual_time
async def test_pods_that_do_not_end_do_not_block_the_removal() -> None:
    operator = shop.operator()
    lines: list[str] = []
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await install(client, operator)
        (deployment,) = parts(operator)["manager"]
        stuck = from_wire(Pod, {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]})
        stuck.metadata.name, stuck.metadata.namespace = "stuck", operator.namespace
        await client.create(stuck)
        await Uninstallation(client, operator, 60, lines.append).run()
        assert f"pods that have not ended after {grace_seconds()} s: stuck" in lines
        assert await names_of(client, CustomResourceDefinition) == []


@virtual_time
async def test_a_program_with_a_conversion_and_no_admission_is_removed() -> None:
    served = [webhook for webhook in shop.operator().served if not isinstance(webhook, sp.Admission)]
    operator = shop.operator(served=served, configuration="")
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await install(client, operator)
        await Uninstallation(client, operator, 60, lambda line: None).run()
        assert await names_of(client, CustomResourceDefinition) == []


class Issuer(sp.CustomResource, group="cert-manager.io", version="v1"):
    spec: dict[str, Any]


class Certificate(sp.CustomResource, group="cert-manager.io", version="v1"):
    spec: dict[str, Any]


@virtual_time
async def test_the_certificate_of_cert_manager_goes_though_the_command_does_not_know_who_issues() -> None:
    async with sp.testing.cluster(crds=[Issuer, Certificate]) as cluster:
        await install(cluster.client, shop.operator(certificates="cert-manager"))
        assert await names_of(cluster.client, Certificate)
        await Uninstallation(cluster.client, shop.operator(), 60, lambda line: None).run()
        for kind in (Certificate, Issuer):
            assert await names_of(cluster.client, kind) == []


class Site(sp.CustomResource, group="site.example.com", version="v1"):
    pass


def site_controller(*, hangs: bool) -> sp.Controller[Site]:
    async def reconcile(site: Site, ctx: sp.Context) -> None:
        await ctx.keep(ConfigMap, [ConfigMap.named(site.name)])

    async def clean_up(site: Site, ctx: sp.Context) -> None:
        if hangs:
            raise OSError("the other system is away")

    controller = sp.Controller(Site, reconcile).owns(ConfigMap)
    controller.finalize(clean_up)
    return controller


@pytest.mark.parametrize("hangs", [False, True])
@virtual_time
async def test_the_program_runs_until_its_finalizers_are_gone(hangs: bool) -> None:
    controller = site_controller(hangs=hangs)
    operator = Installation(program="site.site.example.com", image="none", controllers=[controller], kinds=[Site])
    lines: list[str] = []
    async with sp.testing.cluster(controller) as cluster:
        for number in range(7):
            await cluster.create(Site.named(f"site-{number}"))
        await cluster.settle()
        removal = Uninstallation(cluster.client, operator, 60, lines.append)
        if not hangs:
            await removal.run()
            assert lines[0] == "sites.site.example.com: objects deleted: 7"
            assert await names_of(cluster.client, ConfigMap, "site") == []
            return
        with pytest.raises(ObjectsRemain) as problem:
            await removal.run()
        first, second, *_, more, advice = str(problem.value).splitlines()
        assert first == "objects of sites.site.example.com that are still there after 60 s: 7"
        assert second.startswith("  default/site-0 waits for site.example.com/")
        assert more == "  and 2 more"
        assert "has to run" in advice
        assert await names_of(cluster.client, CustomResourceDefinition, "sites") == ["sites.site.example.com"]
        assert lines == [], "nothing else was removed"


@virtual_time
async def test_where_one_namespace_is_watched_the_objects_of_others_and_the_definition_stay() -> None:
    controller = site_controller(hangs=False)
    operator = Installation(
        program="site.site.example.com", image="none", controllers=[controller], kinds=[Site], watch_namespace="default"
    )
    async with sp.testing.cluster(controller) as cluster:
        await cluster.create(Namespace.named("other"))
        await cluster.create(Site.named("here", "default"))
        await cluster.create(Site.named("there", "other"))
        await cluster.settle()
        await Uninstallation(cluster.client, operator, 60, lambda line: None).run()
        assert [site.name for site in await cluster.client.list(Site)] == ["there"]


def test_without_a_yes_the_command_only_says_what_it_would_delete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    async def none_left(self: Uninstallation) -> list[Any]:
        return []

    monkeypatch.setattr(Uninstallation, "objects", none_left)
    monkeypatch.setattr(Uninstallation, "run", lambda self: calls.append(self))
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: s, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: s, user: u}}]\n"
    )
    app = program("shop", sp.Operator([shop.controller], [shop.admission]))
    with pytest.raises(SystemExit) as end:
        app(["uninstall", "--kubeconfig", str(kubeconfig)])
    assert end.value.code == 1
    assert "nothing was deleted: confirm the deletion with --yes" in capsys.readouterr().out
    assert calls == []

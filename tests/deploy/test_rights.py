"""The operator under its own roles: it does all its work, and is refused nothing."""

from __future__ import annotations

from typing import Any

import mykind
import mykinds
import pytest
import yaml
from tests.apiserver.harness import Api
from tests.deploy.test_documents import path_of

import setpoint as sp
from setpoint.apiserver import Access, AccessRecord, ApiServer, MemoryStorage, Rbac
from setpoint.cli.manifests import operator_of
from setpoint.client import Client, Forbidden, InProcessTransport
from setpoint.cluster import ControlPlane
from setpoint.deploy.installation import Installation
from setpoint.deploy.olm import olm
from setpoint.deploy.plain_yaml import plain
from setpoint.deploy.uninstall_hook import uninstall_hook
from setpoint.manager import LeaderElection, Manager, Sharding
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod
from setpoint.testing import advance, virtual_time

SPACE = "operators"


async def installed(api: Api, operator: Installation) -> None:
    """Applies everything but webhooks, which nothing serves here."""
    for document in yaml.safe_load_all(plain(operator)):
        if document["kind"].endswith("WebhookConfiguration"):
            continue
        if document["kind"] == "Deployment":
            document["spec"]["replicas"] = 0  # this test is the replica
        (await api.apply(path_of(document), document, fieldValidation="Strict")).ok()


def operator(**more: Any) -> Installation:
    return operator_of([mykind.controller], [], image="mykind:1", given_name=None, namespace=SPACE, **more)


@pytest.mark.parametrize(
    "more",
    [{}, {"watch_namespace": "default"}, {"shards": True}, {"shards": True, "shards_by": "namespace"}],
    ids=["everywhere", "one namespace", "shards", "shards of namespaces"],
)
@virtual_time
async def test_an_operator_does_its_work_and_is_refused_nothing(more: dict[str, Any]) -> None:
    new_operator = operator(**more)
    storage, record = MemoryStorage(), AccessRecord()
    account = f"system:serviceaccount:{SPACE}:{new_operator.name}"
    async with ApiServer(storage=storage, access=Access(authorizer=Rbac(storage), access_record=record)) as server:
        admin = Client(InProcessTransport(server.handle))
        async with admin, ControlPlane(admin):
            await installed(Api(server), new_operator)
            transport = InProcessTransport(server.handle, user=account)
            async with Client(transport, namespace=SPACE) as client:
                settings = {"name": new_operator.program, "identity": "me", "namespace": SPACE}
                manager = Manager(
                    client,
                    controllers=[mykind.controller],
                    leader_election=None if new_operator.shards else LeaderElection(**settings),
                    sharding=Sharding(**settings, by=new_operator.shards_by) if new_operator.shards else None,
                    namespace=new_operator.watch_namespace,
                )
                async with manager:
                    spec = mykind.MykindSpec(numpods=2)
                    await admin.create(mykind.Mykind.named("sample", "default", spec=spec))
                    await advance(60)
                    pods = await admin.list(Pod, namespace="default")
                    await admin.delete(pods[0])
                    await advance(60)
                    assert len(await admin.list(Pod, namespace="default")) == 2
                    result = await admin.get(mykind.Mykind, "sample", namespace="default")
                    assert result.status.ready == 2
                    await admin.delete(result)
                    await advance(60)
                    assert not [*await admin.list(Pod, namespace="default")]
                assert any(request.user.name == account and request.verb == "patch" for request in record.attributes)
                assert [(request.verb, request.combined) for request, _ in record.refused] == []
                with pytest.raises(Forbidden, match='cannot list resource "configmaps"'):
                    await client.list(ConfigMap, namespace="default")


def test_one_controller_without_a_namespace_makes_the_rights_those_of_all_namespaces() -> None:
    controllers = [*in_namespaces("blue"), mykind.controller]
    wide = operator_of(controllers, [], image="mykind:1", given_name=None, namespace=SPACE)
    assert wide.namespaces == ()
    kinds = [document["kind"] for document in yaml.safe_load_all(plain(wide))]
    assert kinds.count("Role") == 1  # that of the Leases


def in_namespaces(*names: str) -> list[sp.Controller[mykind.Mykind]]:
    return [
        sp.Controller(mykind.Mykind, mykind.reconcile, name=f"mykind-{name}", namespace=name).owns(Pod)
        for name in names
    ]


def test_a_bundle_has_the_rights_of_controllers_with_namespaces_in_a_cluster_role_and_an_uninstaller_everywhere() -> (
    None
):
    operator = operator_of(
        in_namespaces("blue", "green"), [], image="mykind:1.0.0", given_name="mykind", namespace=SPACE
    )
    bundle = yaml.safe_load(olm(operator)["manifests/mykind.clusterserviceversion.yaml"].text)
    (wide,) = bundle["spec"]["install"]["spec"]["clusterPermissions"]
    assert ["pods"] in [rule["resources"] for rule in wide["rules"]]
    documents = uninstall_hook(operator, [])
    assert {document["metadata"].get("namespace", SPACE) for document in documents} == {SPACE}


@virtual_time
async def test_controllers_of_some_namespaces_work_with_rights_in_these_only() -> None:
    controllers = in_namespaces("blue", "green")
    operator = operator_of(controllers, [], image="mykind:1", given_name="mykind", namespace=SPACE)
    storage, record = MemoryStorage(), AccessRecord()
    account = f"system:serviceaccount:{SPACE}:{operator.name}"
    async with ApiServer(storage=storage, access=Access(authorizer=Rbac(storage), access_record=record)) as server:
        admin = Client(InProcessTransport(server.handle))
        async with admin, ControlPlane(admin):
            for name in ("blue", "green", "red"):
                await admin.create(Namespace.named(name))
            await installed(Api(server), operator)
            async with Client(InProcessTransport(server.handle, user=account), namespace=SPACE) as client:
                async with Manager(client, controllers=controllers):
                    for name in ("blue", "green", "red"):
                        await admin.create(mykind.Mykind.named("sample", name, spec=mykind.MykindSpec(numpods=1)))
                    await advance(60)
                    assert {pod.namespace for pod in await admin.list(Pod)} == {"blue", "green"}
                    for name in ("blue", "green"):
                        assert (await admin.get(mykind.Mykind, "sample", namespace=name)).status.ready == 1
                assert [(request.verb, request.combined) for request, _ in record.refused] == []
                with pytest.raises(Forbidden, match=r'cannot list resource "pods" .* in the namespace "red"'):
                    await client.list(Pod, namespace="red")


@virtual_time
async def test_a_kind_that_is_read_in_one_namespace_is_granted_there_only() -> None:
    read: list[str] = []

    async def reconcile(_: mykind.Mykind, ctx: sp.Context) -> None:
        read.extend(settings.name for settings in await ctx.list(ConfigMap, namespace="blue"))

    controller = sp.Controller(mykind.Mykind, reconcile).reads(ConfigMap, namespace="blue")
    operator = operator_of([controller], [], image="mykind:1.0.0", given_name="mykind", namespace=SPACE)
    storage, record = MemoryStorage(), AccessRecord()
    account = f"system:serviceaccount:{SPACE}:{operator.name}"
    async with ApiServer(storage=storage, access=Access(authorizer=Rbac(storage), access_record=record)) as server:
        admin = Client(InProcessTransport(server.handle))
        async with admin, ControlPlane(admin):
            for name in ("blue", "red"):
                await admin.create(Namespace.named(name))
            await admin.create(ConfigMap.named("settings", "blue"))
            await installed(Api(server), operator)
            async with Client(InProcessTransport(server.handle, user=account), namespace=SPACE) as client:
                async with Manager(client, controllers=[controller]):
                    await admin.create(mykind.Mykind.named("sample", "red", spec=mykind.MykindSpec(numpods=1)))
                    await advance(60)
                    assert "settings" in read
                assert [(request.verb, request.combined) for request, _ in record.refused] == []
                with pytest.raises(Forbidden, match=r'cannot list resource "configmaps" .* in the namespace "red"'):
                    await client.list(ConfigMap, namespace="red")
    bundle = yaml.safe_load(olm(operator)["manifests/mykind.clusterserviceversion.yaml"].text)
    (wide,) = bundle["spec"]["install"]["spec"]["clusterPermissions"]
    assert ["configmaps"] in [rule["resources"] for rule in wide["rules"]]


@virtual_time
async def test_users_may_do_with_the_kinds_what_their_roles_say() -> None:
    """Kubernetes adds the roles to its own; here they are bound as they are."""
    new_operator = operator()
    storage = MemoryStorage()
    async with ApiServer(storage=storage, access=Access(authorizer=Rbac(storage))) as server:
        api = Api(server)
        await installed(api, new_operator)
        for level in ("edit", "view"):
            binding = {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": level},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": f"{new_operator.cluster_name}-mykinds-{level}",
                },
                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": level}],
            }
            (await api.apply(path_of(binding), binding)).ok()
        editor = Client(InProcessTransport(server.handle, user="edit"))
        viewer = Client(InProcessTransport(server.handle, user="view"))
        async with editor, viewer:
            await editor.create(mykind.Mykind.named("sample", "default", spec=mykind.MykindSpec()))
            result = await viewer.get(mykind.Mykind, "sample", namespace="default")
            with pytest.raises(Forbidden, match="cannot delete"):
                await viewer.delete(result)
            path = "/apis/grp.example.com/v1alpha1/namespaces/default/mykinds/sample/status"
            answer = await api.send("PATCH", path, {}, impersonate_user="edit")
            answer.failed(403, "Forbidden", "mykinds/status")
            await editor.delete(result)


def test_the_operator_with_webhooks_may_write_its_own_certificates_only() -> None:
    result = operator_of(
        [mykinds.controller],
        [mykinds.admission],
        image="mykind:1",
        given_name=None,
        namespace=SPACE,
        certificates="own",
    )
    named = [
        (resource, tuple(rule["resourceNames"]), rule["verbs"])
        for document in yaml.safe_load_all(plain(result))
        if document["kind"] in ("Role", "ClusterRole")
        for rule in document["rules"]
        if "resourceNames" in rule
        for resource in rule["resources"]
    ]
    assert sorted(named) == [
        ("configmaps", ("setpoint-paused",), ["get", "list", "watch"]),
        ("customresourcedefinitions", ("mykinds.grp.example.com",), ["get", "patch"]),
        ("mutatingwebhookconfigurations", ("grp.example.com",), ["get", "patch"]),
        ("secrets", ("mykind-webhook-tls",), ["get", "patch"]),
        ("validatingwebhookconfigurations", ("grp.example.com",), ["get", "patch"]),
    ]
    assert isinstance(mykinds.admission, sp.Admission)

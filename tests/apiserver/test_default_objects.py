"""The objects that every cluster has: as a kube-apiserver makes them, and good for what they are there for."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
from tests.apiserver.harness import CRDS, PODS, Api, crd, crd_version, pod, serving

from setpoint.apiserver import AccountTokens, MemoryStorage, Peer, Rbac, Request
from setpoint.apiserver.identity.keys import PemKeys, make_key
from setpoint.apiserver.storage import Storage
from setpoint.testing import virtual_time

RBAC = "/apis/rbac.authorization.k8s.io/v1"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


def all_of(api: Api, storage: Storage) -> list[tuple[str, dict[str, Any]]]:
    """Everything that is stored, with its path."""
    results = []
    for served in api.server.registry:
        if served.stored_as is not served:
            continue
        for record in storage.scan(served.collection):
            obj = msgspec.json.decode(record.value)
            namespace = record.namespace if served.resource.namespaced else ""
            results.append((served.resource.path(name=record.name, namespace=namespace), obj))
    return results


async def test_every_default_object_is_in_the_form_that_the_server_gives_objects() -> None:
    storage = MemoryStorage()
    async with serving(storage, default_objects=True) as api:
        api.server.listens_at("192.0.2.7", 6443)
        before = storage.revision
        objects = all_of(api, storage)
        for path, obj in objects:
            (await api.send("PUT", path, obj, content_type="application/json")).ok()
            assert storage.revision == before, f"{path} was stored in another form"
        counted = Counter(obj["kind"] for _, obj in objects)
    assert counted == {
        "APIService": 22,
        "ClusterRole": 73,
        "ClusterRoleBinding": 54,
        "ConfigMap": 1,
        "EndpointSlice": 1,
        "Endpoints": 1,
        "FlowSchema": 11,
        "IPAddress": 1,
        "Lease": 1,
        "Namespace": 4,
        "PriorityClass": 2,
        "PriorityLevelConfiguration": 8,
        "Role": 7,
        "RoleBinding": 7,
        "Service": 1,
        "ServiceCIDR": 1,
    }


async def test_a_server_that_starts_again_makes_only_what_is_missing() -> None:
    storage = MemoryStorage()
    async with serving(storage, default_objects=True) as api:
        api.server.listens_at("192.0.2.7", 6443)
        uid = (await api.get(SERVICE)).ok()["metadata"]["uid"]
        (await api.delete(f"{RBAC}/clusterroles/view")).ok()
        before = storage.revision
    async with serving(storage, default_objects=True) as api:
        api.server.listens_at("192.0.2.7", 7443)
        (await api.get(f"{RBAC}/clusterroles/view")).ok()
        service = (await api.get(SERVICE)).ok()
        assert (service["metadata"]["uid"], service["spec"]["ports"][0]["targetPort"]) == (uid, 7443)
        changed = {path for path, obj in all_of(api, storage) if int(obj["metadata"]["resourceVersion"]) > before}
        (lease,) = (await api.get(LEASES)).ok()["items"]
        changed.remove(f"{LEASES}/{lease['metadata']['name']}")
    assert changed == {
        f"{RBAC}/clusterroles/view",
        SERVICE,
        SLICE,
        "/api/v1/namespaces/default/endpoints/kubernetes",
    }


@pytest.mark.parametrize(
    ("host", "address"), [("192.0.2.7", "192.0.2.7"), ("localhost", "127.0.0.1"), ("::1", "127.0.0.1")]
)
async def test_pods_find_the_server_under_the_first_address_of_services(host: str, address: str) -> None:
    async with serving(default_objects=True) as api:
        api.server.listens_at(host, 6443)
        result = (await api.get(SLICE)).ok()
        assert [endpoint["addresses"] for endpoint in result["endpoints"]] == [[address]]
        spec = {"ports": [{"port": 80}], "clusterIP": "10.96.0.1"}
        taken = await api.post("/api/v1/namespaces/default/services", {"metadata": {"name": "x"}, "spec": spec})
        taken.failed(422, "Invalid", "10.96.0.1")


@virtual_time
async def test_the_server_renews_the_lease_of_its_life() -> None:
    storage = MemoryStorage()
    loop = asyncio.get_running_loop()
    started = datetime(2026, 1, 31, 12, tzinfo=UTC)
    holders = []
    for _ in range(2):
        now = partial(lambda since: started + timedelta(seconds=loop.time() - since), loop.time())
        async with serving(storage, default_objects=True, now=now) as api:
            (lease,) = (await api.get(LEASES)).ok()["items"]
            name = lease["metadata"]["name"]
            assert len(name) == len("apiserver-") + 26
            assert lease["metadata"]["labels"]["apiserver.kubernetes.io/identity"] == "kube-apiserver"
            assert lease["spec"]["leaseDurationSeconds"] == 3600
            assert lease["spec"]["renewTime"] == "2026-01-31T12:00:00.000000Z"
            assert lease["spec"]["holderIdentity"].startswith(f"{name}_")
            holders.append(lease["spec"]["holderIdentity"])
            await asyncio.sleep(10.5)
            renewed = (await api.get(f"{LEASES}/{name}")).ok()
            assert renewed["spec"] == {**lease["spec"], "renewTime": "2026-01-31T12:00:10.000000Z"}
            (await api.delete(f"{LEASES}/{name}")).ok()
            await asyncio.sleep(10)
            (await api.get(f"{LEASES}/{name}")).ok()
        assert storage.scan("leases.coordination.k8s.io") == []
    assert len(set(holders)) == 2


async def test_versions_of_custom_resources_have_api_services() -> None:
    storage = MemoryStorage()
    name = "v1.grp.example.com"
    both = [crd_version("v1"), crd_version("v2", storage=False)]
    async with serving(storage, default_objects=True) as api:
        new_crd = (await api.post(CRDS, crd(versions=both))).ok()
        service = (await api.get(f"{SERVICES}/{name}")).ok()
        assert service["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
        assert service["spec"] == {
            "group": "grp.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        }
        (condition,) = service["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
        (await api.send("PUT", f"{SERVICES}/{name}", service, content_type="application/json")).ok()
        unchanged = (await api.get(f"{SERVICES}/{name}")).ok()
        assert unchanged == service, "it is stored in the form that the server gives such objects"
        (await api.get(f"{SERVICES}/v2.grp.example.com")).ok()
        crd_path = f"{CRDS}/{new_crd['metadata']['name']}"
        changed = (await api.get(crd_path)).ok()
        changed["spec"]["versions"][1]["served"] = False
        (await api.put(crd_path, changed)).ok()
        (await api.get(f"{SERVICES}/v2.grp.example.com")).failed(404, "NotFound")
    record = storage.get("apiservices.apiregistration.k8s.io", "", name)
    assert record is not None
    storage.delete("apiservices.apiregistration.k8s.io", "", name, lambda _: b"{}", expected=record.revision)
    async with serving(storage, default_objects=True) as api:
        (await api.get(f"{SERVICES}/{name}")).ok()
        (await api.delete(crd_path)).ok()
        (await api.get(f"{SERVICES}/{name}")).failed(404, "NotFound")


async def test_api_services_that_others_made_are_left_alone() -> None:
    own = {"group": "grp.example.com", "version": "v1", "groupPriorityMinimum": 5, "versionPriority": 7}
    async with serving(default_objects=True) as api:
        (await api.post(SERVICES, {"metadata": {"name": "v1.grp.example.com"}, "spec": own})).ok()
        new_crd = (await api.post(CRDS, crd())).ok()
        (await api.delete(f"{CRDS}/{new_crd['metadata']['name']}")).ok()
        assert (await api.get(f"{SERVICES}/v1.grp.example.com")).ok()["spec"] == own


FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"


async def flow_of(api: Api, user: str, path: str, *groups: str) -> tuple[str, str]:
    """The names of the flow schema and the priority level in the headers of an answer."""
    headers = {"impersonate-user": user, **({"impersonate-group": "\n".join(groups)} if groups else {})}
    request = Request("GET", path, (), headers, peer=Peer("192.0.2.1"))
    response = await api.server.handle(request)
    names = {}
    for plural, header in (("flowschemas", "flowschema"), ("prioritylevelconfigurations", "prioritylevel")):
        items = (await api.get(f"{FLOW}/{plural}")).ok()["items"]
        by_uid = {item["metadata"]["uid"]: item["metadata"]["name"] for item in items}
        names[plural] = by_uid[response.headers[f"x-kubernetes-pf-{header}-uid"]]
    return names["flowschemas"], names["prioritylevelconfigurations"]


async def test_every_answer_says_which_flow_it_belongs_to() -> None:
    async with serving(default_objects=True) as api:
        masters = await flow_of(api, "x", PODS, "system:masters")
        assert masters == ("exempt", "exempt")
        assert await flow_of(api, "jane", PODS) == ("global-default", "global-default")
        assert await flow_of(api, "jane", "/healthz") == ("probes", "exempt")
        assert await flow_of(api, "jane", "/nothing/there") == ("global-default", "global-default")
        robot = "system:serviceaccount:default:robot"
        assert await flow_of(api, robot, f"{PODS}/none") == ("service-accounts", "workload-low")
        lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a"
        assert await flow_of(api, "system:kube-scheduler", lease) == ("system-leader-election", "leader-election")
        rules = [
            {
                "subjects": [{"kind": "User", "user": {"name": "jane"}}],
                "resourceRules": [
                    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
                ],
            }
        ]
        spec = {"matchingPrecedence": 9, "priorityLevelConfiguration": {"name": "workload-low"}, "rules": rules}
        (await api.post(f"{FLOW}/flowschemas", {"metadata": {"name": "janes"}, "spec": spec})).ok()
        assert await flow_of(api, "jane", PODS) == ("janes", "workload-low")
        assert await flow_of(api, "joe", PODS) == ("global-default", "global-default")


async def test_public_keys_of_tokens_are_where_their_issuer_says() -> None:
    keys = PemKeys(make_key())
    async with serving(account_tokens=AccountTokens(keys)) as api:
        api.server.listens_at("::1", 6443)
        message = (await api.get("/.well-known/openid-configuration")).ok()
        assert message["issuer"] == "https://kubernetes.default.svc.cluster.local"
        assert message["jwks_uri"] == "https://[::1]:6443/openid/v1/jwks"
        assert message["id_token_signing_alg_values_supported"] == ["ES256"]
        answer = await api.get("/openid/v1/jwks")
        assert answer.headers["content-type"] == "application/jwk-set+json"
        assert answer.ok() == {"keys": keys.jwks}
    async with serving() as api:  # a secret has no public part
        assert (await api.get("/openid/v1/jwks")).status == 404


async def test_health_is_told_check_by_check() -> None:
    async with serving() as api:
        for path in (
            "/livez/ping",
            "/healthz/etcd",
            "/readyz/etcd-readiness",
            "/readyz/poststarthook/rbac/bootstrap-roles",
        ):
            assert (await api.get(path)).body == b"ok", path
        assert (await api.get("/livez/shutdown")).status == 404
        document = (await api.get("/readyz", verbose="", exclude="etcd")).body.decode()
        assert "[+]etcd excluded: ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n[+]poststarthook/" in document
        assert document.endswith("[+]shutdown ok\nreadyz check passed\n")
        api.server.drain()
        answer = await api.get("/readyz")
        assert (answer.status, b"[-]shutdown failed: reason withheld" in answer.body) == (500, True)
        assert (await api.get("/livez")).status == 200


async def test_default_roles_let_users_do_what_they_are_named_after() -> None:
    storage = MemoryStorage()
    async with serving(storage, default_objects=True, authorizer=Rbac(storage)) as api:
        (await api.post(PODS, pod())).ok()
        for name in ("view", "edit"):
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
            subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}
            binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
            (await api.post(f"{RBAC}/namespaces/default/rolebindings", binding)).ok()

        async def status(user: str, method: str, path: str, body: Any = None) -> int:
            return (await api.send(method, path, body, impersonate_user=user)).status

        assert await status("view", "GET", PODS) == 200
        assert await status("view", "DELETE", f"{PODS}/web") == 403
        assert await status("view", "GET", "/api/v1/namespaces/default/secrets") == 403
        assert await status("edit", "GET", "/api/v1/namespaces/default/secrets") == 200
        assert await status("edit", "DELETE", f"{PODS}/web") == 200
        for path in ("/version", "/healthz", "/readyz"):
            assert await status("system:anonymous", "GET", path) == 200
        assert await status("system:anonymous", "GET", "/apis") == 403
        for path in ("/api", "/apis", "/apis/apps/v1", "/openapi/v3"):
            assert await status("anybody", "GET", path) == 200

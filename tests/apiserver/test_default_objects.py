"""The objects that every cluster has: as a kube-apiserver makes them, and good for what they are there for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from tests.apiserver.harness import PODS, Api, pod, serving

from setpoint.apiserver import MemoryStorage, Rbac
from setpoint.apiserver.storage import Storage

RBAC = "/apis/rbac.authorization.k8s.io/v1"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


def all_of(api: Api, storage: Storage) -> list[tuple[str, dict[str, Any]]]:
    """Everything that is stored, with its path."""
    found = []
    for served in api.server.registry:
        if served.stored_as is not served:
            continue
        for record in storage.scan(served.collection):
            obj = msgspec.json.decode(record.value)
            namespace = record.namespace if served.resource.namespaced else ""
            found.append((served.resource.path(name=record.name, namespace=namespace), obj))
    return found


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
        found = (await api.get(SLICE)).ok()
        assert [endpoint["addresses"] for endpoint in found["endpoints"]] == [[address]]
        spec = {"ports": [{"port": 80}], "clusterIP": "10.96.0.1"}
        taken = await api.post("/api/v1/namespaces/default/services", {"metadata": {"name": "x"}, "spec": spec})
        taken.failed(422, "Invalid", "10.96.0.1")


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

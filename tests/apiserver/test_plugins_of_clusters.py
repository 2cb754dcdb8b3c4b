"""Admission plugins that are of use where a whole cluster is: ServiceAccount and TaintNodesByCondition."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import PODS, Api, pod, serving

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
NODES = "/api/v1/nodes"
PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving(plugins_off=()) as api:
        (await api.post(ACCOUNTS, {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "s"}]})).ok()
        (await api.post(ACCOUNTS, {"metadata": {"name": "quiet"}, "automountServiceAccountToken": False})).ok()
        yield api


def mounts(obj: dict[str, Any]) -> list[str]:
    containers = [*obj["spec"].get("initContainers", []), *obj["spec"]["containers"]]
    return [mount["name"] for one in containers for mount in one.get("volumeMounts", []) if mount["mountPath"] == PLACE]


async def test_pods_get_a_volume_with_their_accounts_token(api: Api) -> None:
    containers = [
        {"name": "a", "image": "i"},
        {"name": "b", "image": "i", "volumeMounts": [{"name": "v", "mountPath": PLACE}]},
    ]
    volumes = [{"name": "v", "emptyDir": {}}]
    init = [{"name": "c", "image": "i"}]
    new_pod = (
        await api.post(PODS, pod(spec={"containers": containers, "volumes": volumes, "initContainers": init}))
    ).ok()
    volume = new_pod["spec"]["volumes"][1]
    assert re.fullmatch(r"kube-api-access-[a-z0-9]{5}", volume["name"])
    assert mounts(new_pod) == [volume["name"], volume["name"], "v"], "what is mounted there already stays"
    assert volume["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }
    assert new_pod["spec"]["imagePullSecrets"] == [{"name": "s"}]


@pytest.mark.parametrize(
    "spec",
    [
        {"automountServiceAccountToken": False},
        {"serviceAccountName": "quiet"},
        {"serviceAccountName": "nobody"},
    ],
)
async def test_no_token_is_mounted_where_none_is_wanted_or_there(api: Api, spec: dict[str, Any]) -> None:
    new_pod = (await api.post(PODS, pod(spec=spec))).ok()
    assert not mounts(new_pod)
    assert not new_pod["spec"].get("volumes")


async def test_a_pod_may_want_what_its_account_does_not(api: Api) -> None:
    new_pod = (
        await api.post(PODS, pod(spec={"serviceAccountName": "quiet", "automountServiceAccountToken": True}))
    ).ok()
    assert len(mounts(new_pod)) == 1


async def test_new_nodes_are_not_ready(api: Api) -> None:
    assert (await api.post(NODES, {"metadata": {"name": "a"}})).ok()["spec"]["taints"] == [NOT_READY]
    tainted = {"metadata": {"name": "b"}, "spec": {"taints": [{**NOT_READY, "value": "x"}]}}
    assert len((await api.post(NODES, tainted)).ok()["spec"]["taints"]) == 1


async def test_plugins_are_switched_off_by_their_names() -> None:
    async with serving(plugins_off=("ServiceAccount", "TaintNodesByCondition", "DefaultTolerationSeconds")) as api:
        (await api.post(ACCOUNTS, {"metadata": {"name": "default"}})).ok()
        new_pod = (await api.post(PODS, pod())).ok()
        assert not mounts(new_pod)
        assert "tolerations" not in new_pod["spec"]
        assert "taints" not in (await api.post(NODES, {"metadata": {"name": "a"}})).ok().get("spec", {})

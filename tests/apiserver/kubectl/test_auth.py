"""kubectl auth, and users with roles, against a server that authenticates over TLS."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from setpoint.apiserver import ApiServer
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.server_security import Security
from setpoint.webhook.certificate_authority import issue, make_authority

from .conftest import Kubectl

pytestmark = pytest.mark.wall_clock

ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}
"""


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Kubectl]:
    # A certificate of the server's own begins now; kubectl's clock may be behind (see `tests/ahead`).
    lifetime = timedelta(days=1000)
    begin = datetime.now(UTC) - lifetime / 2
    result = issue(make_authority("test", now=begin, lifetime=lifetime), ["127.0.0.1"], now=begin, lifetime=lifetime)
    (certificate := tmp_path / "tls.crt").write_bytes(result.certificate)
    (key := tmp_path / "tls.key").write_bytes(result.key)
    security = Security(auth=True, tls_cert_file=certificate, tls_private_key_file=key)
    async with EmbeddedCluster(control_plane=False, security=security) as cluster:
        kubeconfig = tmp_path / "kubeconfig"
        cluster.write_kubeconfig(kubeconfig)
        environment = {
            "HOME": str(tmp_path),
            "KUBECONFIG": str(kubeconfig),
            "KUBECACHEDIR": str(tmp_path / "cache"),
            "PATH": os.environ["PATH"],
            "NO_PROXY": "127.0.0.1",
        }
        yield Kubectl(tmp_path, cluster.url, ApiServer(), environment)


async def test_kubectl_auth_answers_by_roles(guarded: Kubectl) -> None:
    output = (await guarded("auth", "whoami")).out
    assert "kubernetes-admin" in output
    assert "[system:masters system:authenticated]" in output
    role = guarded.home / "role.yaml"
    role.write_text(ROLE)
    assert "reader reconciled" in (await guarded("auth", "reconcile", "-f", str(role))).out
    await guarded("create", "rolebinding", "readers", "--role=reader", "--user=jane")
    assert (await guarded("auth", "can-i", "list", "pods", "--as=jane")).out == "yes"
    assert (await guarded("auth", "can-i", "list", "pods", "-A", "--as=jane", fails=True)).out == "no"
    listed = (await guarded("auth", "can-i", "--list", "--as=jane")).out
    assert any(line.split() == ["pods/log", "[]", "[]", "[get", "list]"] for line in listed.splitlines()), listed
    refused = (await guarded("delete", "pod", "x", "--as=jane", fails=True)).err
    assert (
        'pods "x" is forbidden: User "jane" cannot delete resource "pods" in API group "" in the namespace' in refused
    )


async def test_a_token_of_kubectl_is_the_service_accounts(guarded: Kubectl) -> None:
    await guarded("create", "serviceaccount", "robot")
    token = (await guarded("create", "token", "robot")).out
    output = (await guarded("auth", "whoami", "--token", token)).out
    assert "system:serviceaccount:default:robot" in output
    refused = (await guarded("get", "pods", "--token", token, fails=True)).err
    assert 'User "system:serviceaccount:default:robot" cannot list resource "pods"' in refused

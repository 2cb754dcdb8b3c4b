"""PodSecurity: labels of namespaces say which pods are refused, warned of and noted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.harness import DEPLOYMENTS, MERGE, PODS, Api, serving

from setpoint.apiserver import Access, ApiServer, Peer, Request
from setpoint.apiserver.audit.log import AuditLog
from setpoint.apiserver.audit.policy import AuditPolicy
from setpoint.apiserver.plugins.pod_standards import violations

LABEL = "pod-security.kubernetes.io/"
GOOD: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
RESTRICTED = (
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
    '"Localhost")'
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


async def label(api: Api, **labels: str) -> Any:
    named = {f"{LABEL}{name.replace('_', '-')}": value for name, value in labels.items()}
    return await api.patch("/api/v1/namespaces/default", {"metadata": {"labels": named}}, MERGE)


def pod(name: str = "p", security: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "c", "image": "i"}
    if security is not None:
        container["securityContext"] = security
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def test_a_pod_that_breaks_the_enforced_level_is_refused_with_all_that_is_wrong(api: Api) -> None:
    (await label(api, enforce="restricted")).ok()
    refused = await api.post(PODS, pod())
    status = refused.failed(403, "Forbidden")
    assert status["message"] == f'pods "p" is forbidden: violates PodSecurity "restricted:latest": {RESTRICTED}'
    (await api.post(PODS, pod(security=GOOD))).ok()


async def test_a_namespace_without_labels_allows_everything(api: Api) -> None:
    new_pod = await api.post(PODS, pod(security={"privileged": True}, hostPID=True))
    new_pod.ok()
    assert new_pod.warnings == ""


async def test_warnings_of_pods_and_of_templates_follow_the_enforced_level_unless_said(api: Api) -> None:
    (await label(api, enforce="baseline", warn="restricted", warn_version="v1.24")).ok()
    new_pod = await api.post(PODS, pod())
    new_pod.ok()
    assert "would violate PodSecurity" in new_pod.warnings
    assert "restricted:v1.24" in new_pod.warnings
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**pod()["spec"], "hostPID": True}}
    body = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    deployed = await api.post(DEPLOYMENTS, body)
    deployed.ok()
    assert "host namespaces (hostPID=true)" in deployed.warnings


async def test_an_update_that_changes_no_image_is_not_judged(api: Api) -> None:
    (await api.post(PODS, pod())).ok()
    (await label(api, enforce="restricted")).ok()
    (await api.patch(f"{PODS}/p", {"metadata": {"labels": {"x": "y"}}}, MERGE)).ok()
    changed = await api.patch(f"{PODS}/p", {"spec": {"containers": [{"name": "c", "image": "j"}]}}, MERGE)
    changed.failed(403, "Forbidden", "violates PodSecurity")


async def test_a_stricter_level_tells_of_the_pods_that_are_there(api: Api) -> None:
    for name in ("b", "a"):
        (await api.post(PODS, pod(name))).ok()
    labelled = await label(api, enforce="restricted")
    labelled.ok()
    assert 'existing pods in namespace \\"default\\" violate the new PodSecurity enforce level' in labelled.warnings
    assert "a (and 1 other pod): allowPrivilegeEscalation != false, unrestricted capabilities" in labelled.warnings


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            {"enforce": "strict"},
            f'metadata.labels[{LABEL}enforce]: Invalid value: "strict": must be one of privileged, ',
        ),
        ({"audit_version": "1.2"}, 'Invalid value: "1.2": must be "latest" or "v1.x"'),
    ],
)
async def test_labels_that_make_no_sense_are_refused(api: Api, labels: dict[str, str], words: str) -> None:
    (await label(api, **labels)).failed(422, "Invalid", words)


async def test_the_plugin_can_be_off() -> None:
    async with ApiServer(plugins_off=("PodSecurity",)) as server:
        api = Api(server)
        (await label(api, enforce="restricted")).ok()
        (await api.post(PODS, pod())).ok()


async def test_what_would_be_refused_is_noted_in_the_audit_log(tmp_path: Path) -> None:
    lines: list[bytes] = []
    file = tmp_path / "policy.yaml"
    file.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    async with ApiServer(access=Access(audit=AuditLog(AuditPolicy.read(file), lines.append))) as server:
        await label(Api(server), enforce="baseline", audit="restricted")
        for body, code in ((pod(), 201), (pod("q", hostPID=True), 403)):
            headers = {"content-type": "application/json"}
            request = Request("POST", PODS, (), headers, json.dumps(body).encode(), peer=Peer())
            assert (await server.handle(request)).status == code
    noted = [json.loads(line)["annotations"] for line in lines if b"ResponseComplete" in line]
    assert noted[0][f"{LABEL}enforce-policy"] == "baseline:latest"
    assert noted[0][f"{LABEL}audit-violations"] == f'would violate PodSecurity "restricted:latest": {RESTRICTED}'
    assert "host namespaces" in noted[1][f"{LABEL}audit-violations"]


@pytest.mark.parametrize(
    ("security", "spec", "level", "version", "reasons"),
    [
        ({"privileged": True}, {}, "baseline", 37, ["privileged"]),
        ({"capabilities": {"add": ["NET_ADMIN"]}}, {}, "baseline", 37, ["non-default capabilities"]),
        ({"procMount": "Unmasked"}, {"hostUsers": False}, "baseline", 35, []),
        ({"procMount": "Unmasked"}, {"hostUsers": False}, "baseline", 34, ["procMount"]),
        ({**GOOD, "procMount": "Unmasked"}, {"hostUsers": False}, "restricted", 37, ["procMount"]),
        ({"seLinuxOptions": {"type": "container_engine_t"}}, {}, "baseline", 30, ["seLinuxOptions"]),
        ({"seLinuxOptions": {"type": "container_engine_t"}}, {}, "baseline", 31, []),
        ({"appArmorProfile": {"type": "Unconfined"}}, {}, "baseline", 37, ["forbidden AppArmor profile"]),
        ({"windowsOptions": {"hostProcess": True}}, {}, "baseline", 37, ["hostProcess"]),
        ({}, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, "baseline", 31, ["forbidden sysctls"]),
        ({}, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, "baseline", 32, []),
        (GOOD, {"volumes": [{"name": "v", "nfs": {}}]}, "restricted", 37, ["restricted volume types"]),
        (GOOD, {"volumes": [{"name": "v", "hostPath": {}}]}, "restricted", 37, ["restricted volume types"]),
        (GOOD, {"volumes": [{"name": "v", "hostPath": {}}]}, "baseline", 37, ["hostPath volumes"]),
        ({**GOOD, "runAsUser": 0}, {}, "restricted", 37, ["runAsUser=0"]),
        ({**GOOD, "runAsUser": 0}, {}, "restricted", 22, []),
        ({"runAsNonRoot": True}, {"os": {"name": "windows"}}, "restricted", 37, []),
        ({"privileged": True}, {}, "privileged", 37, []),
    ],
)
def test_each_version_of_a_level_has_its_checks(
    security: dict[str, Any], spec: dict[str, Any], level: str, version: int, reasons: list[str]
) -> None:
    current_violations = violations(level, version, {}, pod(security=security, **spec)["spec"])
    assert [reason for reason, _ in current_violations] == reasons

"""Warnings about accepted objects, word by word as a kube-apiserver 1.37.1 answered them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.apiserver.harness import pod, serving
from tests.client.certificates import make

NAMESPACE = "/api/v1/namespaces/default"
LABEL = "which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
CONTAINER = {"name": "c", "image": "x"}


def texts(header: str) -> list[str]:
    return [part.replace('\\"', '"') for part in header.removeprefix('299 - "').removesuffix('"').split('", 299 - "')]


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        (
            {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
            'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
        ),
        (
            {"imagePullSecrets": [{"name": "a"}, {"name": "a"}]},
            'spec.imagePullSecrets[1].name: duplicate name "a"',
        ),
        ({"imagePullSecrets": [{}]}, 'spec.imagePullSecrets[0].name: invalid empty name ""'),
        (
            {"containers": [{**CONTAINER, "env": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}]},
            'spec.containers[0].env[1]: hides previous definition of "a", which may be dropped when using apply',
        ),
        (
            {"containers": [{**CONTAINER, "resources": {"limits": {"memory": "100m"}}}]},
            'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
        ),
        (
            {"containers": [{**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 80, "hostPort": 1}]}]},
            "spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]",
        ),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"key": "a", "path": "p"}] * 2}}]},
            'volume "v" (ConfigMap "m"): overlapping paths: "p" with "p"',
        ),
        (
            {"volumes": [{"name": "g", "gitRepo": {"repository": "x"}}]},
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
        ),
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}},
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null "
            "labelSelector results in matching no pod",
        ),
    ],
)
async def test_a_pod_is_warned_of_what_has_no_effect_or_is_hidden(spec: dict[str, Any], warning: str) -> None:
    async with serving() as api:
        answer = await api.post(f"{NAMESPACE}/pods", pod("p", spec=spec))
        assert answer.status == 201
        assert warning in texts(answer.warnings)


@pytest.mark.parametrize(
    ("path", "obj", "warnings"),
    [
        ("endpoints", {}, ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]),
        (
            "services",
            {"spec": {"ports": [{"port": 1}], "externalIPs": ["1.2.3.4"]}},
            ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            "services",
            {"spec": {"clusterIP": "None", "sessionAffinity": "ClientIP", "externalName": "a.b"}},
            [
                "spec.SessionAffinity is ignored for headless services",
                'spec.externalName is ignored when spec.type is not "ExternalName"',
            ],
        ),
        ("pods", {"metadata": {"name": "a.b"}, "spec": {"containers": [CONTAINER]}}, [f"the Pod's hostname, {LABEL}"]),
        (
            "secrets",
            {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "x", "tls.key": "y"}},
            ["tls: failed to find any PEM data in certificate input"],
        ),
        (
            "serviceaccounts",
            {"metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "x"}}},
            [
                "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate "
                "namespaces to isolate access to mounted secrets"
            ],
        ),
        (
            "persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5"}}}},
            ['spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'],
        ),
    ],
)
async def test_other_kinds_have_warnings_of_their_own(path: str, obj: dict[str, Any], warnings: list[str]) -> None:
    async with serving() as api:
        answer = await api.post(f"{NAMESPACE}/{path}", {"metadata": {"name": "a"}, **obj})
        assert answer.status == 201, answer.body
        given = texts(answer.warnings)
        assert len(given) == len(warnings)
        assert all(text.endswith(end) for text, end in zip(given, warnings, strict=True)), given


async def test_templates_are_warned_of_only_when_they_change() -> None:
    collection = "/apis/apps/v1/namespaces/default/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [CONTAINER], "nodeSelector": {"beta.kubernetes.io/arch": "x"}},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    warning = (
        'spec.template.spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch"'
    )
    async with serving() as api:
        created = await api.post(collection, {"metadata": {"name": "a.b"}, "spec": spec})
        assert texts(created.warnings) == [
            f"metadata.name: this is used in Pod names and hostnames, {LABEL}",
            f"{warning} instead",
        ]
        assert not (await api.patch(f"{collection}/a.b", {"metadata": {"labels": {"x": "y"}}})).warnings
        assert texts((await api.patch(f"{collection}/a.b", {"spec": {"replicas": 2}})).warnings) == [
            f"{warning} instead"
        ]


async def test_reading_a_deprecated_kind_is_warned_of_too() -> None:
    async with serving() as api:
        answer = await api.get(f"{NAMESPACE}/endpoints")
        assert texts(answer.warnings) == ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]


@pytest.mark.parametrize(
    ("key", "warning"),
    [
        ("own", ""),
        ("other", "tls: private key does not match public key"),
        ("certificate", "tls: found a certificate rather than a key in the PEM for the private key"),
    ],
)
async def test_a_certificate_that_is_no_pair_with_its_key_is_warned_of(key: str, warning: str) -> None:
    pair = make("a.example.com")
    given = {"own": pair.key_pem, "other": make("b.example.com").key_pem, "certificate": pair.cert_pem}[key]
    data = {"tls.crt": base64.b64encode(pair.cert_pem).decode(), "tls.key": base64.b64encode(given).decode()}
    async with serving() as api:
        secret = {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": data}
        answer = await api.post(f"{NAMESPACE}/secrets", secret)
        assert answer.status == 201
        assert texts(answer.warnings) == [warning]

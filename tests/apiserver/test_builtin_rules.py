"""Built-in kinds: what a real server of 1.37 refuses or sets by default, recorded by hand from its answers."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from tests.apiserver.harness import Api, serving

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VOLUMES = "/api/v1/persistentvolumes"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
ROOMY = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
POD = {"containers": [{"name": "c", "image": "i"}]}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def hook(config: dict[str, Any]) -> dict[str, Any]:
    return {
        "webhooks": [
            {"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"], "clientConfig": config}
        ]
    }


def claim(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"devices": {"requests": [{"name": "r", **request}], **more}}}


def devices(*given: dict[str, Any]) -> dict[str, Any]:
    pool = {"name": "p", "resourceSliceCount": 1}
    return {"spec": {"driver": "a.b", "nodeName": "a", "pool": pool, "devices": list(given)}}


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        pytest.param(
            "/api/v1/namespaces/default/secrets",
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "/abs"}},
            'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character',
            id="credentials of a registry are JSON",
        ),
        pytest.param(
            VOLUMES,
            {"spec": {**ROOMY, "local": {"path": "/x"}}},
            "spec.nodeAffinity: Required value: Local volume requires node affinity",
            id="a local volume is on a node",
        ),
        pytest.param(
            VOLUMES,
            {"spec": {**ROOMY, "nfs": {"path": "/x", "server": "a"}, "flexVolume": {}}},
            "spec.flexVolume.driver: Required value",
            id="each source is checked",
        ),
        pytest.param(
            "/api/v1/namespaces/default/pods",
            {"spec": {**POD, "ephemeralContainers": [{"name": "x", "image": "i"}]}},
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
            id="ephemeral containers come later",
        ),
        pytest.param(
            "/api/v1/namespaces/default/pods",
            {"spec": {**POD, "initContainers": [{"name": "x", "image": "i", "lifecycle": {}}]}},
            "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers",
            id="an empty lifecycle is one",
        ),
        pytest.param(
            "/api/v1/namespaces/default/limitranges",
            {"spec": {"limits": [{"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"},
                                  "maxLimitRequestRatio": {"cpu": "3"}}]}},
            "ratio 3 is greater than max/min = 2.000000",
            id="a ratio that no pod can have",
        ),
        pytest.param(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {"spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                      "behavior": {"scaleDown": {"policies": []}}}},
            "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy",
            id="a list of no policies is not a missing one",
        ),
        pytest.param(
            HOOKS,
            hook({"url": "https://a%c3%a9%25%41b/x"}),
            'parse "https://a%c3%a9%25%41b/x": invalid URL escape "%41"',
            id="an ASCII character of a host that is escaped",
        ),
        pytest.param(
            HOOKS,
            hook({"url": "https://[::%31%25eth%30]/x"}),
            'parse "https://[::%31%25eth%30]/x": invalid URL escape "%31"',
            id="an ASCII character of an address that is escaped",
        ),
        pytest.param(HOOKS, hook({"url": "10%"}), 'parse "10%": invalid URL escape "%"', id="an URL's escapes"),
        pytest.param(HOOKS, hook({"url": "1:2"}), "first path segment in URL cannot contain colon", id="a colon"),
        pytest.param(HOOKS, hook({"url": "https://a:b/"}), 'invalid port ":b" after host', id="an URL's port"),
        pytest.param(HOOKS, hook({"url": "https://[::1"}), "missing ']' in host", id="an URL's bracket"),
        pytest.param(
            HOOKS,
            hook({"url": "https://[foo]/x"}),
            'parse "https://[foo]/x": invalid host: ParseAddr("foo"): unable to parse IP',
            id="a name in brackets",
        ),
        pytest.param(HOOKS, hook({"url": "https://[1.2.3.4]/"}), "invalid IP-literal", id="IPv4 in brackets"),
        pytest.param(HOOKS, hook({"url": "https://a[::1]/"}), "invalid IP-literal", id="brackets after a name"),
        pytest.param(HOOKS, hook({"url": "https://[::1]x/"}), 'invalid port "x" after host', id="no colon"),
        pytest.param(HOOKS, hook({"url": "https://a b@c/"}), "net/url: invalid userinfo", id="an URL's user"),
        pytest.param(HOOKS, hook({"url": "https:///x"}), 'Invalid value: "": host must be specified', id="no host"),
        pytest.param(HOOKS, hook({"url": "https://a b/"}), 'invalid character " " in host name', id="an URL's host"),
        pytest.param(
            CLAIMS,
            claim(
                {"exactly": {"deviceClassName": "c"}},
                constraints=[{"matchAttribute": "a/b", "distinctAttribute": "../x"}],
            ),
            'spec.devices.constraints[0].distinctAttribute: Invalid value: "..": prefix: ',
            id="both attributes are checked",
        ),
        pytest.param(
            CLAIMS,
            claim({"exactly": {"deviceClassName": "c", "adminAccess": True}}),
            "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires",
            id="access of administrators in a namespace for it",
        ),
        pytest.param(
            SLICES,
            devices({"name": "a", "attributes": {"v": {"version": "1.2"}}}),
            "spec.devices[0].attributes[v].version: Invalid value",
            id="versions have three parts",
        ),
        pytest.param(
            SLICES,
            devices({"name": "a", "capacity": {"a": {"value": "1", "requestPolicy": {}}}}),
            "requestPolicy: Forbidden: allowMultipleAllocations must be true",
            id="policies are for shared devices",
        ),
        pytest.param(
            SLICES,
            devices({"name": "a", "allowMultipleAllocations": True,
                     "capacity": {"e": {"value": "9", "requestPolicy": {"default": "1", "validRange": {"min": "2"}}}}}),
            "validRange.default: Invalid value: \"1\": default is less than min: 2",
            id="the default is in the range",
        ),
        pytest.param(
            RUNTIMES,
            {"handler": "a", "scheduling": {"tolerations": [{"key": "k", "operator": "Exists"}] * 2}},
            'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"",',
            id="a runtime tolerates each taint once",
        ),
        pytest.param(
            RUNTIMES,
            {"handler": "a", "overhead": {"podFixed": {"memory": "-1"}}},
            'overhead.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
            id="the overhead of a runtime is not negative",
        ),
        pytest.param(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"},
                      "behavior": {"scaleDown": {"tolerance": "-1"}}}},
            'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0',
            id="the tolerance of an autoscaler is not negative",
        ),
        pytest.param(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "/abs"}}},
            'spec.scaleTargetRef.apiVersion: Invalid value: "/abs": apiVersion must specify API group',
            id="an empty group is not a group",
        ),
        pytest.param(
            "/api/v1/namespaces/default/resourcequotas",
            {"spec": {"hard": {"count/deployments.apps": "1.5"}}},
            'spec.hard[count/deployments.apps]: Invalid value: "1500m": must be an integer',
            id="objects are counted in whole numbers",
        ),
        pytest.param(
            "/api/v1/namespaces/default/resourcequotas",
            {"spec": {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [
                {"scopeName": "VolumeAttributesClass", "operator": "Exists"}]}}},
            'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":'
            '"VolumeAttributesClass","Operator":"Exists","Values":null}]}: unsupported scope applied to resource',
            id="a scope has to fit what is counted",
        ),
        pytest.param(
            "/api/v1/namespaces/default/podtemplates",
            {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {**POD, "overhead": {"10.0.0.300": "500m"}}}},
            'template.spec.overhead.limits[10.0.0.300]: Invalid value: "10.0.0.300": must be a standard resource type',
            id="the overhead of a pod is checked in its template",
        ),
        pytest.param(
            "/api/v1/namespaces/default/limitranges",
            {"spec": {"limits": [{"type": "a.b/c", "defaultRequest": {"10.0.0.300": "1"}}]}},
            'spec.limits[0].defaultRequest[10.0.0.300]: Invalid value: "10.0.0.300": must be a standard resource type',
            id="limits are of resources that there are",
        ),
        pytest.param(
            "/api/v1/namespaces/default/configmaps",
            {"metadata": {"name": "a", "generation": -1}},
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
            id="no generation is negative",
        ),
        pytest.param(
            "/apis/resource.k8s.io/v1/deviceclasses",
            {"spec": {"config": [{"opaque": {"driver": "a.b", "parameters": "text"}}]}},
            'spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
            id="go reads any value where any object may be",
        ),
        pytest.param(
            "/api/v1/namespaces/default/secrets",
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": []}},
            'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input',
            id="a key with a dot is found",
        ),
    ],
)  # fmt: skip
async def test_a_wrong_object_is_refused_as_upstream_refuses_it(api: Api, path: str, body: Any, words: str) -> None:
    (await api.post(path, {"metadata": {"name": "a"}, **body})).failed(422, "Invalid", words)


@pytest.mark.parametrize(
    "url",
    ["https://[::1]:443/x", "https://[fe80::1%25en0]/x", "HTTPS://a/x", "https://foo]/x", "https://ex\u2100mple/x"],
)
async def test_a_webhook_has_any_url_that_go_accepts(api: Api, url: str) -> None:
    (await api.post(HOOKS, {"metadata": {"name": "a"}, **hook({"url": url})})).ok()


@pytest.mark.parametrize(
    ("kind", "given", "added"),
    [
        ("azureDisk", {"diskName": "a", "diskURI": "https://a"},
         {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"}),
        ("rbd", {"monitors": ["a"], "image": "i"}, {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
        ("scaleIO", {"gateway": "g", "system": "s", "volumeName": "v", "secretRef": {"name": "s"}},
         {"storageMode": "ThinProvisioned", "fsType": "xfs"}),
        ("iscsi", {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0},
         {"iscsiInterface": "default"}),
    ],
)  # fmt: skip
async def test_sources_of_volumes_have_the_defaults_of_upstream(api: Api, kind: str, given: Any, added: Any) -> None:
    volume = (await api.post(VOLUMES, {"metadata": {"name": "a"}, "spec": {**ROOMY, kind: given}})).ok()
    assert volume["spec"][kind].items() >= {**given, **added}.items()
    spec = {**POD, "volumes": [{"name": "v", kind: given}]}
    pod = (await api.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "a"}, "spec": spec})).ok()
    assert pod["spec"]["volumes"][0][kind].items() >= {**given, **added}.items()


async def test_an_image_volume_is_pulled_as_its_tag_says(api: Api) -> None:
    volumes = [{"name": "f", "image": {"reference": "x"}}, {"name": "g", "image": {"reference": "x:1"}}]
    body = {"metadata": {"name": "a"}, "spec": {**POD, "volumes": volumes}}
    pod = (await api.post("/api/v1/namespaces/default/pods", body)).ok()
    assert [item["image"]["pullPolicy"] for item in pod["spec"]["volumes"]] == ["Always", "IfNotPresent"]


async def test_templates_without_a_spec_have_its_defaults(api: Api) -> None:
    result = await api.post("/api/v1/namespaces/default/podtemplates", {"metadata": {"name": "a"}})
    status = result.failed(422, "Invalid")
    assert [item["field"] for item in status["details"]["causes"]] == ["template.spec.containers"]


async def test_a_claim_does_not_ask_for_less_than_it_has(api: Api) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    new_claims = (await api.post(claims, {"metadata": {"name": "a"}, "spec": spec})).ok()
    new_claims["spec"]["resources"]["requests"] = {}
    refused = await api.put(f"{claims}/a", new_claims)
    refused.failed(422, "Invalid", "storage: Forbidden: field can not be less than status.capacity")


REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
OF_PODS = "/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests"


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def request_by(key: Any) -> x509.CertificateSigningRequest:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    return x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param(lambda pem: b"text\n" + pem, "", id="text around a block is passed over"),
        pytest.param(lambda pem: pem.replace(b"CERT", b"NEW CERT"), "PEM block type must be", id="another type"),
        pytest.param(lambda pem: pem[:-30], "PEM block type must be", id="a block without end"),
        pytest.param(lambda pem: pem.splitlines()[0] + b"\nAAEC\n" + pem.splitlines()[-1], "x509: ", id="rubbish"),
    ],
)
async def test_a_signing_request_has_a_request_by_its_own_key(api: Api, wrong: Any, words: str) -> None:
    pem = request_by(ec.generate_private_key(ec.SECP256R1())).public_bytes(Encoding.PEM)
    spec = {"request": encoded(wrong(pem)), "signerName": "example.com/x", "usages": ["client auth"]}
    answer = await api.post(REQUESTS, {"metadata": {"name": "A:b"}, "spec": spec})
    if words:
        answer.failed(422, "Invalid", "spec.request: Invalid value", words)
    else:
        assert "managedFields" not in answer.ok()["metadata"], "fields that never change belong to no manager"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (lambda: ec.generate_private_key(ec.SECP384R1()), ""),
        (lambda: ec.generate_private_key(ec.SECP224R1()), '"curve P-224": elliptic public keys must use curve P256'),
        (lambda: rsa.generate_private_key(65537, 2048), '"2048-bit modulus": RSA keys must have modulus size'),
    ],
)
async def test_a_pod_asks_for_a_certificate_with_a_key_that_is_strong_enough(api: Api, key: Any, words: str) -> None:
    spec = {
        "signerName": "example.com/x",
        "podName": "p",
        "podUID": "u",
        "serviceAccountName": "s",
        "serviceAccountUID": "v",
        "nodeName": "n",
        "nodeUID": "w",
        "stubPKCS10Request": encoded(request_by(key()).public_bytes(Encoding.DER)),
    }
    answer = await api.post(OF_PODS, {"metadata": {"name": "a"}, "spec": spec})
    if words:
        answer.failed(422, "Invalid", "spec.stubPKCS10Request: Invalid value", words)
    else:
        answer.ok()
    rubbish = {**spec, "stubPKCS10Request": encoded(b"rubbish")}
    refused = await api.post(OF_PODS, {"metadata": {"name": "b"}, "spec": rubbish})
    refused.failed(422, "Invalid", "spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR")


async def test_networks_of_one_family_are_one_at_most(api: Api) -> None:
    ranges = "/apis/networking.k8s.io/v1/servicecidrs"
    twice = ["192.0.2.0/24", "192.0.2.0/24"]
    (await api.post(ranges, {"metadata": {"name": "a"}, "spec": {"cidrs": twice[:1]}})).ok()
    refused = await api.put(f"{ranges}/a", {"metadata": {"name": "a"}, "spec": {"cidrs": twice}})
    refused.failed(422, "Invalid", "spec.cidrs: Invalid value", "may specify no more than one IP for each IP family")
    both = [twice[0], "2001:db8::/64"]
    (await api.put(f"{ranges}/a", {"metadata": {"name": "a"}, "spec": {"cidrs": both}})).ok()
    refused = await api.put(f"{ranges}/a", {"metadata": {"name": "a"}, "spec": {"cidrs": twice[:1]}})
    refused.failed(422, "Invalid", "spec.cidrs: Invalid value", "field is immutable")
    nodes = "/api/v1/nodes"
    node = {"metadata": {"name": "n"}, "spec": {"podCIDR": twice[0], "podCIDRs": twice[:1]}}
    (await api.post(nodes, node)).ok()
    refused = await api.put(f"{nodes}/n", {**node, "spec": {"podCIDR": twice[0], "podCIDRs": twice}})
    refused.failed(422, "Invalid", "node updates may not change podCIDR", "no more than one CIDR for each IP family")


@pytest.mark.parametrize(
    ("given", "stored"), [([104, 105], "aGk="), ([], ""), ([1, 256], None), ([1, "x"], None), ([True], None)]
)
async def test_bytes_may_be_a_list_of_numbers_as_go_reads_them(api: Api, given: Any, stored: str | None) -> None:
    core = "/api/v1/namespaces/default"
    secret = await api.post(f"{core}/secrets", {"metadata": {"name": "a"}, "data": {"k": given}})
    request = {"clientConfig": {"url": "https://a.test", "caBundle": given}}
    name = {"name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    hooks = await api.post(HOOKS, {"metadata": {"name": "a"}, "webhooks": [{**name, **request}]})
    if stored is None:
        secret.failed(400, "BadRequest", "json: cannot unmarshal")
        hooks.failed(400, "BadRequest", "json: cannot unmarshal")
    else:
        assert secret.ok()["data"] == {"k": stored}
        assert hooks.status in (201, 422), "only what is in the bundle may be wrong"


async def test_a_claim_that_has_a_source_is_not_given_another_namespace(api: Api) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    elsewhere = {**source, "namespace": "Bad_Name"}
    new_claims = await api.post(claims, {"metadata": {"name": "b"}, "spec": {**spec, "dataSourceRef": elsewhere}})
    assert "dataSourceRef" not in new_claims.ok()["spec"], "the feature is off"
    (await api.post(claims, {"metadata": {"name": "a"}, "spec": {**spec, "dataSourceRef": source}})).ok()
    refused = await api.patch(f"{claims}/a", {"spec": {"dataSourceRef": {"namespace": "Bad_Name"}}})
    refused.failed(
        *(422, "Invalid", 'spec.dataSourceRef.namespace: Invalid value: "Bad_Name"'),
        "may not be specified when dataSourceRef.namespace is specified",
        "spec is immutable after creation",
    )


async def test_an_event_is_not_given_an_empty_reference_later(api: Api) -> None:
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    message = {"reportingController": "a.b/c", "reportingInstance": "c", "action": "a", "reason": "r", "type": "Normal"}
    event = {"metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "note": "n", **message}
    event["regarding"] = {"namespace": "default"}
    result = (await api.post(path, event)).ok()
    refused = await api.put(f"{path}/e", {**result, "related": {"name": ""}})
    refused.failed(422, "Invalid", 'related: Invalid value: {"Kind":"","Namespace":"","Name":"","UID":"",')


async def test_a_claim_of_a_stateful_set_has_a_phase_also_if_its_status_is_empty(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": POD}
    spec = {"serviceName": "s", "selector": {"matchLabels": labels}, "template": template}
    result = (await api.post(path, {"metadata": {"name": "s"}, "spec": {**spec, "volumeClaimTemplates": [claim]}})).ok()
    again = {**claim, "status": {}}
    after = (await api.put(f"{path}/s", {**result, "spec": {**spec, "volumeClaimTemplates": [again]}})).ok()
    assert after["spec"]["volumeClaimTemplates"] == result["spec"]["volumeClaimTemplates"]


async def test_what_a_template_says_of_its_managers_may_be_anything(api: Api) -> None:
    managers = [{"manager": "x", "fieldsV1": "text"}]
    template = {"metadata": {"labels": {"a": "b"}, "managedFields": managers}, "spec": POD}
    (await api.post("/api/v1/namespaces/default/podtemplates", {"metadata": {"name": "t"}, "template": template})).ok()

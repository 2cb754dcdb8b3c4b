"""Answers of a kube-apiserver 1.37.2 to patches whose results are wrong, and to documents that are never stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MERGE,
    MYKINDS,
    PODS,
    STRATEGIC,
    config_map,
    crd,
    deployment,
    mykind,
    pod,
    serving,
)

SCALE = f"{DEPLOYMENTS}/web/scale"
NO_HEAD = "couldn't get version/kind; json parse error: json: cannot unmarshal"
HEAD = 'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string'
NUMBER = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"


def quoted(answer: Any) -> tuple[str, str]:
    """The value and the reason in the message about a patch."""
    (cause,) = answer.failed(422, "Invalid", ' "" is invalid: patch: Invalid value: ')["details"]["causes"]
    value, _, reason = cause["message"].removeprefix("Invalid value: ").rpartition('": ')
    return json.loads(f'{value}"'), reason


async def test_the_refusal_of_a_patch_quotes_its_result_as_go_writes_it() -> None:
    """A field of a struct stands where it is declared, in what a patch has changed in the order of the alphabet."""
    async with serving() as api:
        (await api.post(MAPS, config_map(data={"k": "<v>"}))).ok()
        for kind, patch in ((MERGE, {"data": {"a": 5}}), (JSON_PATCH, [{"op": "add", "path": "/data/a", "value": 5}])):
            text, reason = quoted(await api.patch(f"{MAPS}/web", patch, kind))
            assert reason == NUMBER
            start = (
                '{"apiVersion":"v1","data":{"a":5,"k":"\\u003cv\\u003e"},"kind":"ConfigMap","metadata":{"name":"web",'
            )
            assert text.startswith(start + '"namespace":"default","uid":"')
            assert list(json.loads(text)["metadata"])[3:] == ["resourceVersion", "creationTimestamp", "managedFields"]
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        text, reason = quoted(await api.patch(f"{MYKINDS}/one", {"metadata": {"labels": {"a": 5}}}))
        assert list(json.loads(text)["metadata"]) == sorted(json.loads(text)["metadata"])
        assert reason == "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ({"apiVersion": 5}, f"{NO_HEAD} number into Go struct field .apiVersion of type string"),
        ({"kind": []}, f"{NO_HEAD} array into Go struct field .kind of type string"),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": "Foo"}, 'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'),
    ],
)
async def test_a_merge_patch_can_not_make_another_kind(patch: Any, reason: str) -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        assert quoted(await api.patch(f"{MAPS}/web", patch))[1] == reason
        kept = (await api.patch(f"{MAPS}/web", {**patch, "data": {"a": "b"}}, STRATEGIC)).ok()
        assert (kept["apiVersion"], kept["kind"], kept["data"]) == ("v1", "ConfigMap", {"a": "b"})


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (
            {"kind": "Bar", "apiVersion": "x/v1"},
            'Bar.x "one" is invalid: [kind: Invalid value: "Bar": must be Mykind, api',
        ),
        ({"apiVersion": "x/v1"}, 'apiVersion: Invalid value: "x/v1": must be grp.example.com/v1'),
        ({"kind": None}, 'Object \'Kind\' is missing in \'{"apiVersion":"grp.example.com/v1","metadata":{'),
        ({"metadata": 5}, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
    ],
)
async def test_a_patch_can_not_make_another_kind_of_a_custom_object(patch: Any, words: str) -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        (await api.patch(f"{MYKINDS}/one", patch)).failed(422, "Invalid", words)


@pytest.mark.parametrize("kind", [MERGE, JSON_PATCH, STRATEGIC])
async def test_a_patch_that_is_not_json_is_refused_in_the_same_words_whatever_its_type(kind: str) -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        for body in (b"", b"{", b'{"a":1}x'):
            status = (await api.patch(f"{MAPS}/web", body, kind)).failed(400, "BadRequest", "invalid JSON patch")
            assert status["message"] == "invalid JSON patch"


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ([1], "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map["),
        (None, "invalid object type: /, Kind="),
        ({"metadata": 5}, "patch object (/; /v1, Kind=ConfigMap): .metadata: expected map, got &{5}"),
        ({"metadata": {"name": 5}}, ".metadata.name: expected string, got &value.valueUnstructured{Value:5}"),
        ({"immutable": "no"}, ".immutable: expected boolean, got &{no}"),
        ({"bogus": 1}, "failed to create typed patch object (/; /v1, Kind=ConfigMap): .bogus: field not declared"),
    ],
)
async def test_a_wrong_configuration_is_refused_with_the_name_that_it_has(configuration: Any, words: str) -> None:
    if isinstance(configuration, dict):
        configuration |= {"apiVersion": "v1", "kind": "ConfigMap"}
    async with serving() as api:
        (await api.apply(f"{MAPS}/web", configuration)).failed(400, "BadRequest", words)


async def test_an_amount_that_is_an_object_can_not_be_applied() -> None:
    async with serving() as api:
        limits = {"limits": [{"type": "Pod", "max": {"cpu": {}}}]}
        configuration = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": limits}
        answer = await api.apply("/api/v1/namespaces/default/limitranges/l", configuration)
        answer.failed(400, "BadRequest", ".spec.limits[0].max.cpu: expected any scalar, got &{map[]}")


async def test_a_scale_is_decoded_as_every_other_kind() -> None:
    async with serving() as api:
        (await api.post(DEPLOYMENTS, deployment(replicas=1))).ok()
        wrong = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"
        scale = {"metadata": {"name": "web"}, "spec": {"replicas": "x"}}
        answer = await api.put(SCALE, scale)
        answer.failed(400, "BadRequest", f'Scale in version "v1" cannot be handled as a Scale: {wrong}')
        text, reason = quoted(await api.patch(SCALE, {"spec": {"replicas": "x"}}))
        assert (json.loads(text)["spec"], reason) == ({"replicas": "x"}, wrong)
        assert quoted(await api.patch(SCALE, {"spec": {"replicas": "x"}}, STRATEGIC)) == (
            "map[spec:map[replicas:x]]",
            "unrecognized type: int32",
        )
        answer = await api.patch(SCALE, {"spec": {"replicas": 3_000_000_000}}, STRATEGIC)
        answer.failed(422, "Invalid", "spec.replicas: Invalid value: -1294967296: must be greater than or equal to 0")
        assert (await api.patch(SCALE, {"spec": {"replicas": 4.0}}, STRATEGIC)).ok()["spec"] == {"replicas": 4}
        words = "deployments/scale.apps", "UID in precondition: z, UID in object meta: "
        (await api.patch(SCALE, {"metadata": {"uid": "z"}})).failed(409, "Conflict", *words)
        (await api.put(SCALE, {"metadata": {"name": "web", "uid": "z"}})).failed(
            409, "Conflict", "Key: /registry/deploy"
        )


async def test_the_replicas_of_a_custom_object_are_named_by_their_path() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        scale = f"{MYKINDS}/one/scale"
        answer = await api.put(scale, {"metadata": {"name": "one"}, "spec": {"replicas": -1}})
        answer.failed(422, "Invalid", ".spec.numpods: Invalid value: -1: should be a non-negative integer")
        (await api.patch(f"{MYKINDS}/one", {"spec": {"numpods": None}}, dryRun="All")).ok()
        answer = await api.patch(f"{MYKINDS}/one/status", {"status": {"ready": 2**31}})
        answer.failed(422, "Invalid", ".status.ready: Invalid value: 2147483648: should be less than or equal to 2147")
        answer = await api.patch(f"{MYKINDS}/one", {"spec": {"numpods": True}})
        words = ".spec.numpods accessor error: true is of the type bool, expected int64"
        answer.failed(422, "Invalid", f".spec.numpods: Invalid value: 0: {words}")
        (await api.patch(scale, {}, STRATEGIC)).failed(415, "UnsupportedMediaType", "accepted media types include")
        (await api.delete(scale)).failed(405, "MethodNotAllowed", "delete is not supported on resources of kind")
        (await api.get(f"{MYKINDS}/one/odd")).failed(404, "NotFound", '"one" not found')


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"gracePeriodSeconds": "x"},
            "cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of",
        ),
        ({"gracePeriodSeconds": 1.5}, "number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64"),
        ({"dryRun": [5]}, "json: cannot unmarshal number into Go struct field DeleteOptions.dryRun of type string"),
        ({"preconditions": {"uid": 5}}, "Go struct field Preconditions.preconditions.uid of type types.UID"),
        (
            {"kind": "Foo"},
            'no kind "Foo" is registered for version "meta.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        ({"apiVersion": 5}, f"{NO_HEAD} number into Go struct field .apiVersion of type string"),
        ([1], f"{NO_HEAD} array into {HEAD}"),
    ],
)
async def test_options_of_a_deletion_are_decoded_as_every_other_kind(options: Any, words: str) -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        for path in (MAPS, f"{MAPS}/web"):
            (await api.delete(path, options)).failed(400, "BadRequest", words)
        (await api.get(f"{MAPS}/web")).ok()


async def test_a_binding_is_decoded_as_every_other_kind() -> None:
    async with serving() as api:
        (await api.post(PODS, pod())).ok()
        target = {"name": "n"}
        answer = await api.post(f"{PODS}/web/binding", {"metadata": {"name": "web"}, "target": 5})
        words = "json: cannot unmarshal number into Go struct field Binding.target of type v1.ObjectReference"
        answer.failed(400, "BadRequest", f'Binding in version "v1" cannot be handled as a Binding: {words}')
        binding = {"metadata": {"name": "web"}, "target": target, "odd": 1}
        answer = await api.post(f"{PODS}/web/binding", binding, fieldValidation="Strict")
        answer.failed(400, "BadRequest", 'strict decoding error: unknown field "odd"')
        bindings = "/api/v1/namespaces/default/bindings"
        (await api.post(bindings, {"target": target})).failed(400, "BadRequest", "Name parameter required.")
        assert (await api.post(bindings, {"metadata": {"name": "web", "uid": "z"}, "target": target})).status == 201
        (condition,) = (await api.get(f"{PODS}/web")).ok()["status"]["conditions"]
        assert condition["lastProbeTime"] is None


async def test_a_struct_that_another_embeds_is_named_in_a_field_s_path() -> None:
    async with serving() as api:
        probe: dict[str, Any] = {"httpGet": {"port": {}}}
        obj = pod(spec={"containers": [{"name": "c", "image": "i", "livenessProbe": probe}]})
        answer = await api.post(PODS, obj)
        answer.failed(
            400, "BadRequest", "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32"
        )


async def test_what_upstream_s_router_refuses_is_said_in_its_words() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        status = (await api.patch(f"{MAPS}/web", {}, "text/plain")).failed(415, "UnsupportedMediaType", "415: Unsupp")
        assert status["details"] == {}
        (await api.delete("/api/v1/namespaces")).failed(
            405, "MethodNotAllowed", "the server does not allow this method"
        )


async def test_an_apply_is_checked_before_its_object_is_looked_for() -> None:
    async with serving() as server:
        status = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "status": {"x": 1}}
        path = "/api/v1/namespaces/default/services/x/status"
        (await server.patch(path, status, APPLY, fieldManager="m")).failed(
            400, "BadRequest", ".status.x: field not decl"
        )


async def test_a_configuration_that_is_not_yaml_is_refused_in_upstream_s_words() -> None:
    async with serving() as api:
        status = (await api.patch(f"{MAPS}/web", b"{a: b", APPLY, fieldManager="m")).failed(400, "BadRequest")
        assert status["message"].startswith("error encoding patch: yaml: ")


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (["pods/*", "*/x", "*/*"], ["resources: Invalid value: "]),
        (["pods/*", "pods/log"], ["resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present"]),
        (["pods/log", "pods/*"], []),
        (["*", "pods"], ["if '*' is present, must not specify other resources without subresources"]),
    ],
)
async def test_a_wildcard_of_a_webhook_s_rule_excludes_what_stands_after_it(
    resources: list[str], words: list[str]
) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": resources, "operations": ["CREATE"]}
    hook: dict[str, Any] = {"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule]}
    hook["clientConfig"] = {"url": "https://x.test"}
    async with serving() as api:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        answer = await api.post(path, {"metadata": {"name": "x"}, "webhooks": [hook]})
        if words:
            assert len(answer.failed(422, "Invalid", *words)["details"]["causes"]) == 1
        else:
            answer.ok()

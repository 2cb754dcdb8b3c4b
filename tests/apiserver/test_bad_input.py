"""Bad input gets a Status with code, reason and the field's path, and nothing is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
    Api,
    config_map,
    crd,
    crd_version,
    deployment,
    mykind,
    pod,
    serving,
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        before = api.revision
        yield api
        assert api.revision == before, "something was stored"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            b'{"metadata": {"name": "a"} "b"}',
            "invalid character '\"' after object key:value pair or array element (line 1, column 28)",
        ),
        (b'{"metadata":\n  {"name" "a"}}', "(line 2, column 11)"),
        (b"", "<empty>"),
        (b"[]", "json: cannot unmarshal array into Go value of type struct"),
        (b"{", "couldn't get version/kind; json parse error: unexpected end of JSON input ({)"),
        (b"", "unexpected end of JSON input (<empty>)"),
        (b'{"kind":7}', "cannot unmarshal number into Go struct field .kind of type string"),
        (b"nonsense", "6e6f6e73656e7365"),
        (b"\xff\xfe", "json parse error"),
        (b'{"a":' * 100_000, "exceeded max depth"),
    ],
)
async def test_malformed_json_says_where(api: Api, body: bytes, words: str) -> None:
    status = (await api.send("POST", MAPS, body)).failed(400, "BadRequest", words)
    assert "the object provided is unrecognized (must be of type ConfigMap)" in status["message"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"metadata: {name: a\n", "yaml: line"),
        (b"a: &a [1]\nb: *c\n", "yaml: line 2"),
        (b"a: b\n  c: d\n", "yaml: line 2"),
    ],
)
async def test_malformed_yaml_says_where(api: Api, body: bytes, words: str) -> None:
    (await api.send("POST", MAPS, body, content_type="application/yaml")).failed(400, "BadRequest", words)


async def test_yaml_that_explodes_is_refused(api: Api) -> None:
    body = b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        body += f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n".encode()
    (await api.send("POST", MAPS, body, content_type="application/yaml")).failed(
        400, "BadRequest", "excessive aliasing"
    )


@pytest.mark.parametrize(
    ("path", "obj", "words"),
    [
        (
            DEPLOYMENTS,
            deployment(replicas="three"),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (DEPLOYMENTS, deployment(replicas=99999999999), "int32"),
        (DEPLOYMENTS, deployment(replicas=1.5), "spec.replicas"),
        (PODS, pod(spec={"containers": {}}), "PodSpec.spec.containers of type []v1.Container"),
        (
            PODS,
            pod(spec={"containers": [{"name": "a", "image": 1}]}),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
        ),
        (
            MAPS,
            config_map(data={"a": 1}),
            "cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (MAPS, config_map(metadata={"labels": {"a": True}}), "ObjectMeta.metadata.labels of type string"),
        (MAPS, config_map(metadata={"creationTimestamp": "yesterday"}), 'parsing time "yesterday"'),
        (MAPS, config_map(binaryData={"a": "***"}), "illegal base64 data"),
        (MAPS, {"metadata": "web"}, "metadata"),
    ],
)
async def test_wrong_types_name_the_field(api: Api, path: str, obj: Any, words: str) -> None:
    (await api.post(path, obj)).failed(400, "BadRequest", "cannot be handled as a", words)


async def test_wrong_types_in_custom_resources_name_the_field() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        before = api.revision
        status = (await api.post(MYKINDS, mykind(spec={"numpods": "three"}))).failed(
            422, "Invalid", "spec.numpods: Invalid value", "must be of type integer"
        )
        assert status["details"]["causes"][0]["field"] == "spec.numpods"
        assert status["details"]["kind"] == "Mykind"
        (await api.post(MYKINDS, mykind(spec={"numpods": -1}))).failed(422, "Invalid", "greater than or equal to 0")
        (await api.post(MYKINDS, mykind(spec={"color": "blue"}))).failed(
            422, "Invalid", 'spec.color: Unsupported value: "blue": supported values: "red", "green"'
        )
        (await api.post(MYKINDS, mykind(metadata={"name": "x", "labels": {"a": 1}}))).failed(400, "BadRequest")
        assert api.revision == before


UNKNOWN = pod(spec={"containers": [{"name": "a", "image": "b", "imag": "c"}], "nodeNam": "n"})


async def test_unknown_fields_are_refused_when_strict(api: Api) -> None:
    (await api.post(PODS, UNKNOWN, fieldValidation="Strict")).failed(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field '
        '"spec.containers[0].imag", unknown field "spec.nodeNam"',
    )


async def test_fields_given_twice_are_refused_when_strict(api: Api) -> None:
    body = b'{"metadata":{"name":"a","name":"b"},"data":{"x":"1","x":"2"}}'
    (await api.send("POST", MAPS, body, query={"fieldValidation": "Strict"})).failed(
        400, "BadRequest", 'strict decoding error: duplicate field "metadata.name", duplicate field "data.x"'
    )


async def test_keys_given_twice_in_yaml_are_named_with_their_lines() -> None:
    async with serving() as api:
        yaml = "application/yaml"
        body = b"metadata: {name: a}\ndata:\n  k: a\n  k: b\n  l: c\n  l: d\nnope: 1\n"
        strict = await api.send("POST", MAPS, body, content_type=yaml, query={"fieldValidation": "Strict"})
        lines = '\n  line 4: key "k" already set in map\n  line 6: key "l" already set in map'
        strict.failed(400, "BadRequest", f'strict decoding error: yaml: unmarshal errors:{lines}, unknown field "nope"')
        warned = await api.send("POST", MAPS, body, content_type=yaml)
        assert 'line 4: key \\"k\\" already set in map' in warned.warnings
        assert warned.ok()["data"] == {"k": "b", "l": "d"}
        applied = await api.send(
            "PATCH",
            f"{MAPS}/b",
            b"apiVersion: v1\nkind: ConfigMap\ndata: {k: a, k: b}\n",
            content_type="application/apply-patch+yaml",
            query={"fieldManager": "m", "fieldValidation": "Strict"},
        )
        applied.failed(
            400, "BadRequest", "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:"
        )


async def test_unknown_fields_are_dropped_with_a_warning_or_without() -> None:
    async with serving() as api:
        warned = await api.post(PODS, UNKNOWN, fieldValidation="Warn")
        assert warned.warnings == (
            '299 - "unknown field \\"spec.containers[0].imag\\"", 299 - "unknown field \\"spec.nodeNam\\""'
        )
        assert "nodeNam" not in warned.ok()["spec"]
        ignored = await api.post(PODS, UNKNOWN | {"metadata": {"name": "other"}}, fieldValidation="Ignore")
        assert ignored.warnings == ""
        assert "nodeNam" not in ignored.ok()["spec"]
        by_default = await api.post(PODS, UNKNOWN | {"metadata": {"name": "third"}})
        assert "unknown field" in by_default.warnings


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
async def test_unknown_fields_in_patches_are_treated_alike(kind: str) -> None:
    async with serving() as api:
        (await api.post(DEPLOYMENTS, deployment())).ok()
        before = api.revision
        change = {"spec": {"replica": 3}}
        (await api.patch(f"{DEPLOYMENTS}/web", change, kind, fieldValidation="Strict")).failed(
            422, "Invalid", 'unknown field "spec.replica"'
        )
        assert api.revision == before
        warned = await api.patch(f"{DEPLOYMENTS}/web", change, kind)
        assert 'unknown field \\"spec.replica\\"' in warned.warnings


@pytest.mark.parametrize(
    ("path", "name", "words"),
    [
        (PODS, "Web", "a lowercase RFC 1123 subdomain must consist of"),
        (PODS, "web_1", "a lowercase RFC 1123 subdomain"),
        (PODS, "a" * 254, "must be no more than 253 characters"),
        (MAPS, "..", "a lowercase RFC 1123 subdomain"),
        (MAPS, "a/b", "a lowercase RFC 1123 subdomain"),
        ("/api/v1/namespaces", "a.b", "must not contain dots"),
        ("/api/v1/namespaces", "a_b", "a lowercase RFC 1123 label must consist of"),
        ("/api/v1/namespaces", "x" * 64, "must be no more than 63 characters"),
    ],
)
async def test_names_that_are_no_dns_names_are_refused(api: Api, path: str, name: str, words: str) -> None:
    kind = {"pods": pod, "configmaps": config_map}.get(path.rpartition("/")[2])
    obj = kind(name) if kind else {"metadata": {"name": name}}
    status = (await api.post(path, obj)).failed(422, "Invalid", "metadata.name: Invalid value", words)
    assert status["details"]["causes"][0]["field"] == "metadata.name"
    assert status["details"]["causes"][0]["reason"] == "FieldValueInvalid"


async def test_a_name_is_needed(api: Api) -> None:
    (await api.post(MAPS, config_map(""))).failed(
        422, "Invalid", "metadata.name: Required value: name or generateName is required"
    )


async def test_a_body_over_three_mebibytes_is_413(api: Api) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"a":"' + b"x" * (3 << 20) + b'"}}'
    for method, path, kind in (
        ("POST", MAPS, "application/json"),
        ("PUT", f"{MAPS}/a", "application/json"),
        ("PATCH", f"{MAPS}/a", MERGE),
        ("PATCH", f"{MAPS}/a", APPLY),
        ("DELETE", f"{MAPS}/a", "application/json"),
    ):
        answer = await api.send(method, path, body, query={"fieldManager": "x"}, content_type=kind)
        answer.failed(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")


@pytest.mark.parametrize(
    ("version", "field", "words"),
    [
        ({"schema": {}}, "spec.versions[0].schema.openAPIV3Schema", "Required value"),
        (
            {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}},
            "spec.validation.openAPIV3Schema.properties[spec].type",
            "must not be empty for specified object fields",
        ),
        (
            {"schema": {"openAPIV3Schema": {"type": "array", "items": {"type": "string"}}}},
            "spec.validation.openAPIV3Schema.type",
            "",
        ),
    ],
)
async def test_a_crd_without_structural_schema_is_refused(
    api: Api, version: dict[str, Any], field: str, words: str
) -> None:
    status = (await api.post(CRDS, crd(versions=[crd_version() | version]))).failed(422, "Invalid", words)
    assert field in {cause["field"] for cause in status["details"]["causes"]}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"group": "nodots"}, "spec.group"),
        ({"names": {"plural": "others", "kind": "Mykind"}}, "metadata.name"),
        ({"names": {"plural": "mykinds", "kind": "My Kind"}}, "spec.names.kind"),
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"versions": [crd_version(storage=False)]}, "spec.versions"),
        ({"versions": [crd_version(), crd_version()]}, "spec.versions"),
        ({"versions": [crd_version(), crd_version("v2")]}, "spec.versions"),
        ({"conversion": {"strategy": "Webhook"}}, "spec.conversion.webhookClientConfig"),
    ],
)
async def test_a_crd_that_contradicts_itself_is_refused(api: Api, changes: dict[str, Any], field: str) -> None:
    status = (await api.post(CRDS, crd(**changes))).failed(422, "Invalid")
    assert field in {cause["field"] for cause in status["details"]["causes"]}


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a b": "c"}}, "metadata.labels"),
        ({"labels": {"a": "c d"}}, "metadata.labels"),
        ({"labels": {"a/b/c": "d"}}, "metadata.labels"),
        ({"annotations": {"a b": "c"}}, "metadata.annotations"),
        ({"annotations": {"a": "x" * 300_000}}, "metadata.annotations"),
        ({"finalizers": ["nodomain"]}, "metadata.finalizers[0]"),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, "metadata.finalizers"),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "x"}]},
            "metadata.ownerReferences[0].name",
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "x"}]},
            "metadata.ownerReferences[0]",
        ),
        (
            {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in "ab"
                ]
            },
            "metadata.ownerReferences",
        ),
    ],
)
async def test_metadata_is_checked(api: Api, metadata: dict[str, Any], field: str) -> None:
    status = (await api.post(MAPS, config_map(metadata=metadata))).failed(422, "Invalid")
    assert field in {cause["field"] for cause in status["details"]["causes"]}


@pytest.mark.parametrize(
    ("path", "obj", "words"),
    [
        (
            MAPS,
            config_map() | {"apiVersion": "v2"},
            'no kind "ConfigMap" is registered for version "v2"',
        ),
        (MAPS, config_map() | {"kind": "Pod"}, 'Pod in version "v1" cannot be handled as a ConfigMap'),
        (
            MAPS,
            config_map(metadata={"namespace": "other"}),
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
async def test_what_the_body_says_must_fit_the_url(api: Api, path: str, obj: Any, words: str) -> None:
    (await api.post(path, obj)).failed(400, "BadRequest", words)


async def test_the_name_in_the_body_must_fit_the_url(api: Api) -> None:
    (await api.put(f"{MAPS}/other", config_map())).failed(
        400, "BadRequest", "the name of the object (web) does not match the name on the URL (other)"
    )


async def test_a_new_object_has_no_resource_version(api: Api) -> None:
    (await api.post(MAPS, config_map(metadata={"resourceVersion": "5"}))).failed(
        400, "BadRequest", "resourceVersion should not be set on objects to be created"
    )


@pytest.mark.parametrize("kind", ["text/plain", "application/vnd.kubernetes.cbor"])
async def test_other_content_types_are_415(api: Api, kind: str) -> None:
    (await api.send("POST", MAPS, config_map(), content_type=kind)).failed(
        415, "UnsupportedMediaType", "the body of the request was in an unknown format"
    )
    (await api.send("PATCH", f"{MAPS}/a", {}, content_type=kind)).failed(415, "UnsupportedMediaType", "415: Uns")


async def test_other_accepted_types_are_406(api: Api) -> None:
    answer = await api.send("GET", MAPS, accept="application/xml")
    answer.failed(406, "NotAcceptable", "Available representations: application/json")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v2/pods", 404),
        ("GET", "/version/ping", 404),
        ("POST", "/version/ping", 404),
        ("GET", "/api/v1/namespaces/default/things", 404),
        ("GET", f"{PODS}/web/nothing", 404),
        ("GET", "/api/v1/pods/web", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("POST", f"{PODS}/web", 405),
        ("PUT", PODS, 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("POST", "/version", 405),
        ("DELETE", f"{DEPLOYMENTS}/web/scale", 405),
    ],
)
async def test_paths_and_methods_that_are_not_served(api: Api, method: str, path: str, code: int) -> None:
    answer = await api.send(method, path, {} if method in ("POST", "PUT") else None)
    answer.failed(code, {404: "NotFound", 405: "MethodNotAllowed"}[code])


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/apis/none.example.com", "/apis/none.example.com/v1/things"),
        *("//ping", "/healthz/none", "/metrics/ping"),
    ],
)
async def test_where_not_even_a_group_is_the_answer_is_no_status(api: Api, path: str) -> None:
    answer = await api.send("GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ({"labelSelector": "a=="}, 200, ""),
        ({"labelSelector": "a in (b"}, 400, "unable to parse requirement"),
        (
            {"fieldSelector": "spec.nodeName"},
            400,
            "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'",
        ),
        ({"fieldSelector": "spec.foo=x"}, 400, "field label not supported: spec.foo"),
        ({"fieldSelector": "spec.host=n1"}, 200, ""),
        ({"limit": "many"}, 400, 'strconv.ParseInt: parsing "many": invalid syntax'),
        ({"continue": "x"}, 400, "invalid continue token"),
        ({"resourceVersion": "x"}, 400, "invalid resource version"),
        (
            {"resourceVersionMatch": "Exact"},
            422,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        ({"resourceVersion": "1", "resourceVersionMatch": "Nearly"}, 422, "Unsupported value"),
        ({"sendInitialEvents": "true"}, 422, "sendInitialEvents is forbidden for list"),
        ({"watch": "1", "sendInitialEvents": "true"}, 422, "requires setting resourceVersionMatch to NotOlderThan"),
    ],
)
async def test_query_parameters_are_checked(api: Api, query: dict[str, str], code: int, words: str) -> None:
    answer = await api.get(PODS, **query)
    if code == 200:
        assert answer.ok()
    else:
        answer.failed(code, {400: "BadRequest", 422: "Invalid"}[code], words)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"dryRun": "Some"}, "dryRun: Unsupported value"),
        ({"fieldValidation": "Loose"}, "fieldValidation: Unsupported value"),
        ({"fieldManager": "x" * 129}, "fieldManager: Too long"),
        ({"fieldManager": "a\nb"}, "fieldManager: Invalid value"),
    ],
)
async def test_write_options_are_checked(api: Api, query: dict[str, str], words: str) -> None:
    (await api.post(MAPS, config_map(), **query)).failed(422, "Invalid", words)


@pytest.mark.parametrize(
    ("kind", "body", "code", "reason"),
    [
        (MERGE, b"{", 400, "BadRequest"),
        (MERGE, b"[]", 400, "BadRequest"),
        (JSON_PATCH, b"{}", 400, "BadRequest"),
        (JSON_PATCH, b'[{"op":"remove","path":"/data/nothing"}]', 422, "Invalid"),
        (JSON_PATCH, b'[{"op":"test","path":"/data/a","value":"z"}]', 422, "Invalid"),
        (JSON_PATCH, b'[{"op":"replace","path":"/data","value":5}]', 422, "Invalid"),
        (STRATEGIC, b'{"data":{"$patch":"sideways"}}', 400, "BadRequest"),
        (MERGE, b'{"metadata":{"resourceVersion":"1"}}', 409, "Conflict"),
        (MERGE, b'{"metadata":{"name":"other"}}', 400, "BadRequest"),
        (MERGE, b'{"metadata":{"uid":"other"}}', 422, "Invalid"),
        (MERGE, b'{"kind":"Pod"}', 422, "Invalid"),
    ],
)
async def test_bad_patches_are_refused(kind: str, body: bytes, code: int, reason: str) -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map(data={"a": "b"}))).ok()
        before = api.revision
        (await api.patch(f"{MAPS}/web", body, kind)).failed(code, reason)
        assert api.revision == before


async def test_more_than_ten_thousand_operations_are_413() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map(data={"a": "b"}))).ok()
        operations = [{"op": "test", "path": "/data/a", "value": "b"}] * 10_001
        (await api.patch(f"{MAPS}/web", operations, JSON_PATCH)).failed(413, "RequestEntityTooLarge")


async def test_custom_resources_know_no_strategic_merge() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        (await api.patch(f"{MYKINDS}/one", {}, STRATEGIC)).failed(415, "UnsupportedMediaType")


async def test_required_fields_are_named_once(api: Api) -> None:
    status = (await api.post(PODS, {"metadata": {"name": "x"}, "spec": {}})).failed(
        422, "Invalid", "spec.containers: Required value"
    )
    assert len(status["details"]["causes"]) == 1
    (await api.post(PODS, {"metadata": {"name": "x"}})).failed(422, "Invalid", "spec.containers: Required value")
    (await api.post(DEPLOYMENTS, {"metadata": {"name": "x"}, "spec": {}})).failed(
        422, "Invalid", "spec.selector: Required value", "spec.template"
    )


async def test_a_template_must_match_its_selector(api: Api) -> None:
    wrong = deployment(selector={"matchLabels": {"app": "other"}})
    (await api.post(DEPLOYMENTS, wrong)).failed(
        422, "Invalid", "spec.template.metadata.labels", "`selector` does not match template `labels`"
    )


@pytest.mark.parametrize("missing", [{}, {"spec": None}, {"spec": {"selector": None, "template": None}}])
async def test_what_is_null_is_missing(api: Api, missing: dict[str, Any]) -> None:
    for kind in ("deployments", "statefulsets", "daemonsets", "replicasets"):
        path = f"/apis/apps/v1/namespaces/default/{kind}"
        words = "`selector` does not match" if kind == "daemonsets" else "spec.selector: Required"
        (await api.post(path, {"metadata": {"name": "x"}, **missing})).failed(422, "Invalid", words)
    (await api.post(CRDS, crd() | missing if missing else {"metadata": {"name": "x"}})).failed(422, "Invalid", "spec")

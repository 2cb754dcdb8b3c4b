from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apiserver.harness import CRDS, MAPS, MYKINDS, PODS, Answer, Api, config_map, crd, mykind, pod, serving

from setpoint.apiserver.objects.go_types import EXTENSIONS, META, GoField, numbered
from setpoint.apiserver.requests import protobuf as requests
from setpoint.apiserver.requests.accept import of_statuses
from setpoint.apiserver.responses import protobuf as answers
from setpoint.meta import GroupVersionKind
from setpoint.models import BUILTIN, definition_name

PROTOBUF = "application/vnd.kubernetes.protobuf"
META_ONLY = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = ";as=Table;g=meta.k8s.io;v=v1"
KINDS = [resource.gvk for resource in BUILTIN]
SCHEMA = EXTENSIONS + "JSONSchemaProps"


# -- the codec --------------------------------------------------------------------------------------------------------


def drawn(message: str, random: Random, depth: int = 0) -> dict[str, Any]:
    """An object with some of its fields, each with a value that is not its type's zero."""
    results: dict[str, Any] = {}
    for field in numbered(message).values():
        if depth > 5 or (random.random() < 0.35 and depth):
            continue
        value = drawn_field(field, random, depth)
        if not field.name:
            results |= value
        elif value not in ({}, [], None):
            results[field.name] = value
    return results


def drawn_field(field: GoField, random: Random, depth: int) -> Any:
    def one() -> Any:
        return drawn_value(field.type, random, depth)

    if field.repeated:
        return [one() for _ in range(random.randrange(3))]
    if field.mapping:
        return {text(random): one() for _ in range(random.randrange(3))}
    return one()


def text(random: Random) -> str:
    return "".join(random.choice('aZ09-é∞😀\n"') for _ in range(random.randrange(1, 6)))


def drawn_value(kind: str, random: Random, depth: int) -> Any:
    match kind.removeprefix(META).removeprefix(EXTENSIONS).rpartition(".")[2]:
        case "string":
            return text(random)
        case "bytes":
            return "AP8="
        case "int":
            return random.choice([1, -1, 127, 128, 2**31 - 1, 2**63 - 1, -(2**63)])
        case "bool":
            return True
        case "double":
            return random.choice([0.5, -1e300])
        case "strings":
            return [text(random)]
        case "Time":
            return f"{random.randrange(1960, 2100)}-02-03T04:05:06Z"
        case "MicroTime":
            return f"{random.randrange(1960, 2100)}-02-03T04:05:06.{random.randrange(10**6):06}Z"
        case "FieldsV1" | "RawExtension" | "JSON":
            return random.choice([{"a": [1, None, {"b": "c"}]}, {"f:x": {}}])
        case "Quantity":
            return random.choice(["100m", "1Gi", "5"])
        case "IntOrString":
            return random.choice([-3, 80, "25%"])
        case "JSONSchemaPropsOrBool":
            return random.choice([True, False, drawn(SCHEMA, random, depth + 2)])
        case "JSONSchemaPropsOrArray":
            return random.choice([drawn(SCHEMA, random, depth + 2), [{"type": "string"}]])
        case "JSONSchemaPropsOrStringArray":
            return random.choice([drawn(SCHEMA, random, depth + 2), ["a", "b"]])
        case _:
            return drawn(kind, random, depth + 1)


def missing(wanted: Any, current_value: Any, path: str = "") -> list[str]:
    """The places in which ``found`` lacks a part of ``wanted``."""
    if isinstance(wanted, dict) and isinstance(current_value, dict):
        return [
            line for key, value in wanted.items() for line in missing(value, current_value.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(current_value, list) and len(wanted) == len(current_value):
        return [
            line
            for index, pair in enumerate(zip(wanted, current_value, strict=True))
            for line in missing(*pair, f"{path}[{index}]")
        ]
    empty = wanted == {} and current_value is None
    return [] if wanted == current_value or empty else [f"{path}: {wanted!r}, not {current_value!r}"]


def comes_back(kind: GroupVersionKind, random: Random) -> None:
    document = {"apiVersion": kind.api_version, "kind": kind.kind, **drawn(definition_name(kind), random)}
    sent = answers.encode(document)
    back = requests.decode(sent)
    assert not missing(document, back)
    assert answers.encode(back) == sent
    event = answers.frame(b"MODIFIED", json.dumps(document).encode())
    result = {"kind": kind.kind, "metadata": back.get("metadata", {})}
    assert requests.decode_event(event[4:]) == ("MODIFIED", result)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_built_in_kind_comes_back_as_it_was(kind: GroupVersionKind) -> None:
    for seed in range(3):
        comes_back(kind, Random(seed))


@given(st.sampled_from(KINDS), st.integers(0, 2**32))
def test_any_object_comes_back_as_it_was(kind: GroupVersionKind, seed: int) -> None:
    comes_back(kind, Random(seed))


def test_bytes_are_those_of_gos_encoder() -> None:
    """Zeros of what is not a pointer are written, maps by their keys; observed on a kube-apiserver 1.37."""
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m", "namespace": "n", "labels": {"b": "2", "a": "1"}},
        "data": {"k": "v"},
    }
    metadata = b"\x0a\x01m\x12\x00\x1a\x01n\x22\x00*\x002\x008\x00B\x00Z\x06\x0a\x01a\x12\x011Z\x06\x0a\x01b\x12\x012"
    raw = b"\x0a" + bytes([len(metadata)]) + metadata + b"\x12\x06\x0a\x01k\x12\x01v"
    head = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap"
    assert answers.encode(document) == head + b"\x12" + bytes([len(raw)]) + raw + b"\x1a\x00\x22\x00"


def test_defaults_and_enumerations_may_be_null_in_a_definition() -> None:
    schema = {"enum": [None, "a"], "default": {"a": None}, "nullable": True}
    definition = crd(versions=[{"name": "v1", "schema": {"openAPIV3Schema": schema}}])
    back = requests.decode(answers.encode(definition))
    assert back["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == schema


# -- the server -------------------------------------------------------------------------------------------------------


async def asked(api: Api, path: str, accept: str = PROTOBUF, **query: str) -> Answer:
    return await api.send("GET", path, query=query, accept=accept)


def read(answer: Answer) -> dict[str, Any]:
    assert answer.headers["content-type"] == PROTOBUF, (answer.headers, answer.body)
    return decoded(answer.body)


def decoded(body: bytes) -> dict[str, Any]:
    """As `requests.decode`, also of lists and metadata, which clients never send."""
    assert body.startswith(b"k8s\x00")
    parts = {number: value for number, _, value in requests._fields(memoryview(body)[4:])}
    names = {number: bytes(value).decode() for number, _, value in requests._fields(parts[1])}  # type: ignore[arg-type]
    message = answers._message_of(names[1], names[2])
    assert message is not None
    return {"apiVersion": names[1], "kind": names[2], **requests._message(message, parts[2], 0)}  # type: ignore[arg-type]


async def test_objects_and_lists_are_answered_in_protobuf() -> None:
    async with serving() as api:
        plain = (await api.post(PODS, pod())).ok()
        assert read(await asked(api, f"{PODS}/web"))["metadata"] == plain["metadata"]
        listed = read(await asked(api, PODS))
        assert (listed["apiVersion"], listed["kind"]) == ("v1", "PodList")
        assert listed["metadata"]["resourceVersion"] == plain["metadata"]["resourceVersion"]
        assert [item["spec"]["containers"][0]["image"] for item in listed["items"]] == ["busybox"]
        result = await api.send("POST", MAPS, config_map("made"), accept=f"{PROTOBUF}, application/json")
        assert (result.status, read(result)["metadata"]["name"]) == (201, "made")


async def test_a_definition_is_created_in_protobuf_as_gos_clients_do() -> None:
    async with serving() as api:
        body = answers.encode(crd())
        result = await api.send("POST", CRDS, body, content_type=PROTOBUF, accept=PROTOBUF)
        assert (result.status, read(result)["spec"]["names"]["kind"]) == (201, "Mykind")
        (await api.post(MYKINDS, mykind(spec={"color": "red"}))).ok()
        (await api.post(MYKINDS, mykind("two", spec={"color": "blue"}))).failed(422, "Invalid", "spec.color")


async def test_refusals_are_written_as_the_client_reads() -> None:
    async with serving() as api:
        status = read(await asked(api, f"{PODS}/nobody"))
        assert (status["kind"], status["code"], status["details"]["name"]) == ("Status", 404, "nobody")
        text = (await asked(api, f"{PODS}/nobody", "application/yaml")).body.decode()
        assert text.startswith("apiVersion: v1\ncode: 404\n")
    assert of_statuses("text/html") == of_statuses(PROTOBUF + TABLE) == "json"
    assert of_statuses("application/json;q=0.5, application/yaml") == "yaml"


async def test_custom_objects_have_no_protobuf_but_for_their_metadata() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        (await api.post(MYKINDS, mykind())).ok()
        refused = read(await asked(api, f"{MYKINDS}/one"))
        assert refused["code"] == 406
        both = await asked(api, f"{MYKINDS}/one", f"{PROTOBUF},application/json")
        assert both.ok()["kind"] == "Mykind"
        partial = read(await asked(api, f"{MYKINDS}/one", PROTOBUF + META_ONLY))
        assert (partial["kind"], partial["metadata"]["name"]) == ("PartialObjectMetadata", "one")
        partials = read(await asked(api, MYKINDS, PROTOBUF + META_ONLY.replace("Metadata;", "MetadataList;")))
        assert [item["metadata"]["name"] for item in partials["items"]] == ["one"]


async def test_tables_are_not_written_in_protobuf() -> None:
    words = "only the following media types are accepted: application/json, application/yaml, " + PROTOBUF
    async with serving() as api:
        (await asked(api, PODS, PROTOBUF + TABLE)).failed(406, "NotAcceptable", words)
        assert (await asked(api, PODS, f"{PROTOBUF}{TABLE},application/json{TABLE}")).ok()["kind"] == "Table"
        (await asked(api, PODS, "text/html")).failed(406, "NotAcceptable", "Available representations: ")
        for accept in (PROTOBUF + TABLE, f"application/json{TABLE}".replace("v1", "v2")):
            (await asked(api, PODS, accept, watch="1")).failed(406, "NotAcceptable", words)
        streams = "accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        (await asked(api, PODS, f"application/yaml{TABLE}", watch="1")).failed(406, "NotAcceptable", streams)


async def test_watches_send_frames() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map("one", data={"a": "1"}))).ok()
        answer = await asked(
            api,
            MAPS,
            watch="true",
            sendInitialEvents="true",
            resourceVersionMatch="NotOlderThan",
            allowWatchBookmarks="true",
        )
        assert answer.headers["content-type"] == f"{PROTOBUF};stream=watch"
        try:
            events = [frames(await anext(answer.body)) for _ in range(2)]
        finally:
            await answer.body.aclose()
        assert [(type_, obj["kind"]) for event in events for type_, obj in event] == [
            ("ADDED", "ConfigMap"),
            ("BOOKMARK", "ConfigMap"),
        ]
        assert events[0][0][1]["data"] == {"a": "1"}
        assert events[1][0][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    expired = {"kind": "Status", "apiVersion": "v1", "code": 410}
    assert [obj["code"] for _, obj in frames(answers.frame(b"ERROR", json.dumps(expired).encode()))] == [410]


def frames(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    results = []
    while data:
        size = int.from_bytes(data[:4], "big")
        event = {number: bytes(value) for number, _, value in requests._fields(memoryview(data)[4 : 4 + size])}  # type: ignore[arg-type]
        held = {number: bytes(value) for number, _, value in requests._fields(memoryview(event[2]))}  # type: ignore[arg-type]
        results.append((event[1].decode(), decoded(held[1])))
        data = data[4 + size :]
    return results


async def test_discovery_is_written_in_protobuf() -> None:
    async with serving() as api:
        groups = read(await asked(api, "/apis"))
        assert groups["kind"] == "APIGroupList"
        assert "apps" in {group["name"] for group in groups["groups"]}
        resources = read(await asked(api, "/apis/apps/v1"))
        assert "deployments/scale" in {resource["name"] for resource in resources["resources"]}
        assert read(await asked(api, "/api"))["versions"] == ["v1"]
        whole = await asked(api, "/apis", f"{PROTOBUF};as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io")
        assert whole.headers["content-type"] == f"{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        assert decoded(whole.body)["kind"] == "APIGroupDiscoveryList"


async def test_answers_of_json_end_with_a_newline() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        for path in (MAPS, f"{MAPS}/web", f"{MAPS}/nobody"):
            body = (await api.get(path)).body
            assert (body.endswith(b"}\n"), body.count(b"\n")) == (True, 1)
        assert json.loads(body)["code"] == 404


async def test_metadata_is_of_an_object_or_of_a_list_as_it_was_asked_for() -> None:
    one, several = ("application/json;as=PartialObjectMetadata" + end + ";g=meta.k8s.io;v=v1" for end in ("", "List"))
    async with serving() as api:
        (await api.post(MAPS, config_map())).ok()
        assert (await asked(api, MAPS, several)).ok()["kind"] == "PartialObjectMetadataList"
        words = "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
        (await asked(api, MAPS, one)).failed(406, "NotAcceptable", words)
        words = "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)"
        (await asked(api, f"{MAPS}/web", several)).failed(406, "NotAcceptable", words)


@pytest.mark.parametrize(
    ("given", "code"), [("abc", 400), ("1", 400), ("0s", 200), ("-1s", 200), ("1h30m", 200), ("", 200)]
)
async def test_a_timeout_must_be_a_duration(given: str, code: int) -> None:
    async with serving() as api:
        for path in ("/api/v1/namespaces/default", "/version"):
            answer = await api.get(path, timeout=given)
            assert answer.status == code
            if code == 400:
                answer.failed(
                    400,
                    "BadRequest",
                    f'invalid timeout specified in the request URL - time: invalid duration "{given}"',
                )


@pytest.mark.parametrize(
    ("text", "stored"),
    [("YWJj\nZGVm\r\n", "YWJjZGVm"), ("YWJj ZGVm", 4), ("YWJjZA", 4), ("a/b", 0), ("YWJj", "YWJj")],
)
async def test_base64_is_read_as_go_does(text: str, stored: str | int) -> None:
    secret = {"metadata": {"name": "s"}, "data": {"a": text}}
    async with serving() as api:
        answer = await api.post("/api/v1/namespaces/default/secrets", secret)
        if isinstance(stored, int):
            answer.failed(400, "BadRequest", f"illegal base64 data at input byte {stored}")
        else:
            assert answer.ok()["data"] == {"a": stored}

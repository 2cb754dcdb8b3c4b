"""Version 2 of OpenAPI as kubectl reads it: gnostic's messages, by the numbers of their fields."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import CRDS, Api, crd, serving

from setpoint.apiserver.requests.protobuf import _fields

ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
ANSWERED = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        yield api


def at(message: Any, *numbers: int) -> list[Any]:
    """The values that are found on the way through fields of fields."""
    values = [message]
    for wanted in numbers:
        values = [value for held in values for number, _, value in _fields(held) if number == wanted]
    return values


def named(messages: list[Any]) -> dict[str, Any]:
    return {bytes(at(item, 1)[0]).decode(): at(item, 2)[0] for item in messages}


async def test_models_and_paths_are_those_of_the_document_in_json(api: Api) -> None:
    plain = (await api.get("/openapi/v2")).ok()
    answer = await api.send("GET", "/openapi/v2", accept=ASKED)
    assert (answer.status, answer.headers["content-type"]) == (200, ANSWERED)
    document = memoryview(answer.body)
    models = named(at(document, 9, 1))
    assert models.keys() == plain["definitions"].keys()
    assert named(at(document, 8, 2)).keys() == plain["paths"].keys()

    mykind = models["com.example.grp.v1.Mykind"]
    wanted = plain["definitions"]["com.example.grp.v1.Mykind"]
    fields = named(at(mykind, 25, 1))
    assert fields.keys() == wanted["properties"].keys()
    assert bytes(at(fields["metadata"], 1)[0]).decode() == wanted["properties"]["metadata"]["$ref"]
    assert named(at(fields["spec"], 25, 1)).keys() == wanted["properties"]["spec"]["properties"].keys()
    extensions = {name: json.loads(bytes(at(value, 2)[0])) for name, value in named(at(mykind, 31)).items()}
    assert extensions == {name: value for name, value in wanted.items() if name.startswith("x-")}
    assert extensions["x-kubernetes-group-version-kind"][0]["kind"] == "Mykind"


async def test_operations_say_where_each_parameter_is(api: Api) -> None:
    plain = (await api.get("/openapi/v2")).ok()["paths"]
    answer = await api.send("GET", "/openapi/v2", accept=ANSWERED)
    numbers = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
    for path, item in named(at(memoryview(answer.body), 8, 2)).items():
        assert parameters(item, 9) == sorted(parameter["name"] for parameter in plain[path].get("parameters", ()))
        for method, operation in plain[path].items():
            if method == "parameters":
                continue
            message = at(item, numbers[method])[0]
            assert bytes(at(message, 5)[0]).decode() == operation["operationId"]
            assert parameters(message, 8) == sorted(parameter["name"] for parameter in operation.get("parameters", ()))


def parameters(message: Any, number: int) -> list[str]:
    bodies = [bytes(name).decode() for name in at(message, number, 1, 1, 2)]
    others = [bytes(name).decode() for place in (3, 4) for name in at(message, number, 1, 2, place, 4)]
    return sorted(bodies + others)


async def test_the_protobuf_document_names_the_token_that_requests_carry(api: Api) -> None:
    document = memoryview((await api.send("GET", "/openapi/v2", accept=ANSWERED)).body)
    (token,) = at(named(at(document, 13, 1))["BearerToken"], 2)
    assert [bytes(at(token, number)[0]).decode() for number in (1, 2, 3)] == ["apiKey", "authorization", "header"]
    assert named(at(document, 12, 1)).keys() == {"BearerToken"}


async def test_protobuf_carries_the_enums_that_json_carries(api: Api) -> None:
    name, field = "io.k8s.api.core.v1.Container", "imagePullPolicy"
    document = memoryview((await api.send("GET", "/openapi/v2", accept=ANSWERED)).body)
    policy = named(at(named(at(document, 9, 1))[name], 25, 1))[field]
    values = [json.loads(bytes(value)) for value in at(policy, 20, 2)]
    assert values == ["Always", "IfNotPresent", "Never"]


async def test_other_kinds_of_documents_are_refused(api: Api) -> None:
    for accept in ("text/html", "application/vnd.kubernetes.protobuf"):
        answer = await api.send("GET", "/openapi/v2", accept=accept)
        assert (answer.status, answer.body) == (406, b"")
    answer = await api.send("GET", "/openapi/v2", accept=f"text/html, {ASKED};q=0.5, application/json;q=0.1")
    assert answer.headers["content-type"] == ANSWERED

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.apiserver.objects.go_types import is_message, numbered
from setpoint.apiserver.requests.protobuf import _SCALARS, _SCHEMAS, decode
from setpoint.models import BUILTIN, definition_name


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    body = bytearray()
    while value > 0x7F:
        body.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*body, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def chunk(field: int, *parts: bytes | str) -> bytes:
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, kind: str, *parts: bytes) -> bytes:
    return b"k8s\x00" + chunk(1, chunk(1, api_version), chunk(2, kind)) + chunk(2, *parts) + chunk(3) + chunk(4)


def test_an_object_reads_as_its_json_would() -> None:
    metadata = chunk(1, chunk(1, "web"), chunk(2, ""), chunk(3, "n"), chunk(8), chunk(11, chunk(1, "a"), chunk(2, "b")))
    port = chunk(6, chunk(1, ""), number(2, 0), number(3, 80), chunk(4, "TCP"))
    requests = chunk(2, chunk(1, "cpu"), chunk(2, chunk(1, "100m")))
    container = chunk(2, chunk(1, "main"), chunk(2, "nginx"), port, chunk(8, requests))
    volume = chunk(1, chunk(1, "scratch"), chunk(2, chunk(2, chunk(1, ""))))
    spec = chunk(2, volume, container, number(4, 0), number(11, 0))
    assert decode(envelope("v1", "Pod", metadata, spec, chunk(3))) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "n", "labels": {"a": "b"}},
        "spec": {
            "volumes": [{"name": "scratch", "emptyDir": {}}],
            "containers": [
                {
                    "name": "main",
                    "image": "nginx",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "100m"}},
                }
            ],
            "terminationGracePeriodSeconds": 0,
        },
    }, "zero is kept where Go has a pointer, and fields of an embedded struct are those of the struct around it"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(number(1, 0) + number(2, 3), 3), (number(1, 0) + number(2, -1), -1), (number(1, 1) + chunk(3, "25%"), "25%")],
)
def test_numbers_or_strings_are_what_they_say(value: bytes, expected: int | str) -> None:
    budget = envelope("policy/v1", "PodDisruptionBudget", chunk(2, chunk(1, value)))
    assert decode(budget)["spec"] == {"minAvailable": expected}


def test_times_have_the_digits_of_their_type() -> None:
    moment = number(1, 1_000_000_000) + number(2, 5_000)
    lease = decode(envelope("coordination.k8s.io/v1", "Lease", chunk(1, chunk(9, moment)), chunk(2, chunk(4, moment))))
    assert lease["metadata"]["deletionTimestamp"] == "2001-09-09T01:46:40Z"
    assert lease["spec"]["renewTime"] == "2001-09-09T01:46:40.000005Z"
    no_time = number(1, -62135596800)
    assert decode(envelope("v1", "Pod", chunk(1, chunk(8, no_time)))) == {"apiVersion": "v1", "kind": "Pod"}


def test_bytes_raw_json_and_lists_that_are_messages() -> None:
    secret = decode(envelope("v1", "Secret", chunk(2, chunk(1, "k"), chunk(2, b"\x00\xff"))))
    assert secret["data"] == {"k": "AP8="}
    revision = decode(envelope("apps/v1", "ControllerRevision", chunk(2, chunk(1, '{"a":[1]}')), number(3, 7)))
    assert (revision["data"], revision["revision"]) == ({"a": [1]}, 7)
    extra = chunk(5, chunk(1, "scopes"), chunk(2, chunk(1, "a"), chunk(1, "b")))
    review = decode(envelope("authorization.k8s.io/v1", "SubjectAccessReview", chunk(2, extra)))
    assert review["spec"]["extra"] == {"scopes": ["a", "b"]}


def test_delete_options_of_any_group_are_understood() -> None:
    options = number(1, 0) + chunk(2, chunk(1, "uid")) + chunk(4, "Foreground") + chunk(5, "All")
    for version in ("v1", "apps/v1"):
        assert decode(envelope(version, "DeleteOptions", options)) == {
            "apiVersion": version,
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "uid"},
            "propagationPolicy": "Foreground",
            "dryRun": ["All"],
        }


def test_fields_that_nobody_knows_are_dropped() -> None:
    strange = number(500, 1) + chunk(501, "x") + varint(502 << 3 | 1) + bytes(8) + varint(503 << 3 | 5) + bytes(4)
    assert decode(envelope("v1", "ConfigMap", strange, chunk(2, chunk(1, "a"), chunk(2, "1"))))["data"] == {"a": "1"}


def test_packed_numbers_and_doubles() -> None:
    groups = chunk(4, varint(1), varint(300))
    pod = decode(envelope("v1", "Pod", chunk(2, chunk(14, groups))))
    assert pod["spec"]["securityContext"]["supplementalGroups"] == [1, 300]
    assert _SCALARS["double"](memoryview(struct.pack("<d", 1.5))) == 1.5


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "expected prefix"),
        (b'{"kind":"Pod"}', "expected prefix"),
        (envelope("v1", "Unicorn"), 'no kind "Unicorn" is registered for version "v1"'),
        (envelope("grp.example.com/v1", "Mykind"), 'no kind "Mykind"'),
        (envelope("a/b/c", "Pod"), 'no kind "Pod" is registered for version "a/b/c"'),
        (envelope("v1", "Pod", chunk(1, "web"))[:-8], "unexpected EOF"),
        (envelope("v1", "Pod", b"\x0a\xff"), "unexpected EOF"),
        (envelope("v1", "Pod", b"\x0f"), "illegal wire type 7"),
        (envelope("v1", "Pod", b"\xff" * 11), "integer overflow"),
        (envelope("v1", "Pod", chunk(1, chunk(1, b"\xff"))), "not UTF-8"),
        (envelope("v1", "Pod", number(1, 5)), "a number where a message"),
        (envelope("v1", "Pod", chunk(2, chunk(4, "x"))), "a message or text where a number"),
        (b"k8s\x00" + chunk(1, chunk(1, "v1"), chunk(2, "Pod")) + chunk(3, "gzip"), "content encoding 'gzip'"),
    ],
)
def test_what_is_malformed_is_refused_with_the_reason(body: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match="^.*" + problem.replace("(", r"\(")):
        decode(body)


@given(st.binary(max_size=200), st.sampled_from(["Pod", "Secret", "Event", "Service"]))
def test_no_bytes_do_worse_than_be_refused(data: bytes, kind: str) -> None:
    for body in (b"k8s\x00" + data, envelope("v1", kind, data)):
        with contextlib.suppress(ValueError):
            assert isinstance(decode(body), dict)


def test_every_built_in_kind_is_known_with_all_that_it_holds() -> None:
    waiting = [definition_name(resource.gvk) for resource in BUILTIN]
    names: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in names and name not in _SCALARS and name not in _SCHEMAS:
            names.add(name)
            assert is_message(name), name
            waiting += [field.type for field in numbered(name).values()]

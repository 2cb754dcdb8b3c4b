"""``/metrics``: what the server says of its requests, under a kube-apiserver's names."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from tests.apiserver.harness import MAPS, config_map

from setpoint.apiserver import ApiServer, Peer, Request
from setpoint.apiserver.metrics import _Latencies
from setpoint.apiserver.requests.protobuf import _fields

PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


async def ask(server: ApiServer, method: str, path: str, body: Any = None, *, query: Any = (), **headers: str) -> Any:
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = None if body is None else json.dumps(body).encode()
    return await server.handle(Request(method, path, query, sent, raw, peer=Peer()))


async def scraped(server: ApiServer) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by metric, then by verb, resource, scope and code or bound."""
    answer = await ask(server, "GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    times: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            names = ("verb", "resource", "subresource", "scope", "code", "le", "request_kind")
            key = tuple(sample.labels[name] for name in names if name in sample.labels)
            times.setdefault(sample.name, {})[key] = sample.value
    return times


async def test_each_request_from_the_network_is_counted_with_its_code_and_time() -> None:
    async with ApiServer() as server:
        await ask(server, "POST", MAPS, config_map("a"))
        await ask(server, "POST", MAPS, config_map("a"))
        await ask(server, "PATCH", f"{MAPS}/b", config_map("b"), query=(("fieldManager", "m"),),
                  content_type="application/apply-patch+yaml")  # fmt: skip
        await ask(server, "GET", MAPS)
        await ask(server, "DELETE", f"{MAPS}/a")
        watch = await ask(server, "GET", MAPS, query=(("watch", "true"),))
        result = await scraped(server)
        await watch.body.aclose()
    total = result["apiserver_request_total"]
    assert total["POST", "configmaps", "", "resource", "201"] == 1
    assert total["POST", "configmaps", "", "resource", "409"] == 1
    assert total["APPLY", "configmaps", "", "resource", "201"] == 1
    assert total["LIST", "configmaps", "", "namespace", "200"] == 1
    assert total["DELETE", "configmaps", "", "resource", "200"] == 1
    counted = result["apiserver_request_duration_seconds_count"]
    assert counted["POST", "configmaps", "", "resource"] == 2
    assert result["apiserver_longrunning_requests"]["WATCH", "configmaps"] == 1
    assert result["apiserver_current_inflight_requests"] == {("mutating",): 0, ("readOnly",): 1}


async def test_a_client_can_make_no_labels_up() -> None:
    async with ApiServer() as server:
        for number in range(50):
            await ask(server, "GET", f"/apis/x{number}/v1/y{number}")
            await ask(server, "GET", f"/nowhere/{number}")
            await ask(server, f"VERB{number}", "/version")
            await ask(server, "GET", f"{MAPS}/a/sub{number}")
        result = await scraped(server)
    assert len(result["apiserver_request_total"]) <= 5


async def test_requests_of_this_process_are_not_counted() -> None:
    async with ApiServer() as server:
        await server.handle(Request("GET", MAPS, (), {}, None))
        result = await scraped(server)
    assert "apiserver_request_total" not in result


def messages(content: bytes) -> list[bytes]:
    """The messages of a stream in which each has its length before it, as a varint."""
    parts, at = [], 0
    while at < len(content):
        size = shift = 0
        while True:
            byte = content[at]
            size, shift, at = size | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                break
        parts.append(content[at : at + size])
        at += size
    return parts


def values(message: Any, number: int) -> list[Any]:
    return [value for field, _, value in _fields(message) if field == number]


def text(message: Any, number: int) -> str:
    return bytes(values(message, number)[0]).decode()


def double(message: Any, number: int) -> float:
    return float(struct.unpack("<d", values(message, number)[0])[0])


def signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


async def test_prometheus_protobuf_has_the_numbers_of_the_text_and_native_histograms() -> None:
    async with ApiServer() as server:
        await ask(server, "POST", MAPS, config_map("a"))
        await ask(server, "POST", MAPS, config_map("b"))
        answer = await ask(server, "GET", "/metrics", accept=PROTOBUF)
        plain = await ask(server, "GET", "/metrics", accept="application/vnd.google.protobuf, text/plain;q=0.5")
    assert answer.headers["content-type"] == (
        "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; "
        "escaping=underscores"
    )
    assert plain.headers["content-type"].startswith("text/plain")
    families = {text(family, 1): family for family in messages(answer.body)}
    assert families.keys() == {
        family.name + "_total" * (family.type == "counter")
        for family in text_string_to_metric_families(plain.body.decode())
    }
    (total,) = (
        metric for metric in values(families["apiserver_request_total"], 4)
        if {(text(label, 1), text(label, 2)) for label in values(metric, 1)} >= {("verb", "POST"), ("code", "201")}
    )  # fmt: skip
    assert double(values(total, 3)[0], 1) == 2
    (metric,) = (
        metric for metric in values(families["apiserver_request_duration_seconds"], 4)
        if "POST" in [text(label, 2) for label in values(metric, 1)]
    )  # fmt: skip
    (histogram,) = values(metric, 7)
    assert values(histogram, 1) == [2]
    assert [double(bucket, 2) for bucket in values(histogram, 3)][:3] == [0.005, 0.025, 0.05]
    assert signed(values(histogram, 5)[0]) == 3
    spans = values(histogram, 12)
    deltas = [signed(delta) for delta in values(histogram, 13)]
    assert sum(values(span, 2)[0] for span in spans) == len(deltas)
    counts = [sum(deltas[: end + 1]) for end in range(len(deltas))]
    assert sum(counts) == 2


async def test_health_checks_that_were_asked_for_are_indicators() -> None:
    async with ApiServer() as server:
        nothing = await ask(server, "GET", "/metrics/slis")
        await ask(server, "GET", "/readyz")
        await ask(server, "GET", "/readyz")
        await ask(server, "GET", "/healthz/ping")
        await ask(server, "GET", "/livez", query=(("exclude", "ping"),))
        answer = await ask(server, "GET", "/metrics/slis")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert b"{" not in nothing.body
    lines = answer.body.decode().splitlines()
    assert 'kubernetes_healthcheck{name="ping",type="readyz"} 1.0' in lines
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 2.0' in lines
    assert 'kubernetes_healthcheck{name="etcd",type="livez"} 1.0' in lines
    assert not [line for line in lines if "healthz" in line], "a single check does not count"
    assert not [line for line in lines if 'name="ping"' in line and "livez" in line], "nor does one that is left out"
    assert b"\nprocess_start_time_seconds " in nothing.body, "so that the answer is never empty"


async def test_each_priority_level_has_its_share_of_the_seats() -> None:
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "e2e"},
        "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}},
    }
    async with ApiServer(default_objects=True) as server:
        before = await seats(server)
        await ask(server, "POST", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", level)
        after = await seats(server)
    # as a kube-apiserver 1.37 with its default limits
    assert before == {
        "catch-all": 13, "exempt": 0, "global-default": 49, "leader-election": 25, "node-high": 98, "system": 74,
        "workload-high": 98, "workload-low": 245,
    }  # fmt: skip
    assert after == before | {"e2e": 3, "workload-low": 244}


async def seats(server: ApiServer) -> dict[str, float]:
    answer = await ask(server, "GET", "/metrics")
    (result,) = (
        family for family in text_string_to_metric_families(answer.body.decode())
        if family.name == "apiserver_flowcontrol_nominal_limit_seats"
    )  # fmt: skip
    return {sample.labels["priority_level"]: sample.value for sample in result.samples}


@given(st.lists(st.one_of(st.floats(0, 100), st.floats(1e-300, 1e300), st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]))))
def test_native_buckets_hold_what_was_observed(seconds: list[float]) -> None:
    latencies = _Latencies()
    for value in seconds:
        latencies.observe(value)
    native = latencies.native()
    growth = 2.0**2.0**-native.schema
    buckets, index, count = [], 0, 0
    deltas = iter(native.pos_deltas or ())
    for number, span in enumerate(native.pos_spans or ()):
        index += span.offset
        assert span.length > 0
        assert number == 0 or span.offset > 2
        for _ in range(span.length):
            count += next(deltas)
            if count:
                buckets.append((index, count))
            index += 1
    assert next(deltas, None) is None
    assert len(buckets) <= 160
    large = sorted(value for value in seconds if value > 2.0**-128)
    assert native.zero_count == len(seconds) - len(large)
    for index, count in buckets:
        inside, large = large[:count], large[count:]
        lower, upper = growth ** (index - 1), growth**index if index * 2.0**-native.schema < 1024 else float("inf")
        assert len(inside) == count
        assert all(lower * (1 - 1e-12) < value <= upper * (1 + 1e-12) for value in inside)
    assert not large


@pytest.mark.parametrize(("seconds", "bucket"), [(1.0, 0), (1.0000001, 1), (2.0, 8), (0.5, -8), (0.1, -26)])
def test_native_buckets_have_the_numbers_of_prometheus_library_for_go(seconds: float, bucket: int) -> None:
    latencies = _Latencies()
    latencies.observe(seconds)
    assert latencies.native().pos_spans == [(bucket, 1)]

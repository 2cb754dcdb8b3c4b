"""Untrusted input of any kind has a bound in size, depth and time, and gets a proper Status."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
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

from setpoint.meta.yaml_parser import parse_yaml

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
MERGES = b"a0: &a0 {x: 1}\n" + b"".join(b"a%d: &a%d {<<: [*a%d, *a%d]}\n" % (n, n, n - 1, n - 1) for n in range(1, 40))
ALIASES = b"a0: &a0 [x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 9)
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("GET", f"{MAPS}?watch=1&resourceVersion=x", None, ""),
        ("GET", f"{MAPS}?watch=1&resourceVersion=-1", None, ""),
        ("POST", MAPS, config_map("new", metadata={"resourceVersion": "5"}), "application/json"),
        ("PATCH", f"{MAPS}/web", {"data": {"$patch": "sideways"}}, STRATEGIC),
        ("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"containers": [{}]}}}}, STRATEGIC),
        ("PATCH", f"{MAPS}/web?fieldManager=me", config_map(data=[1]), APPLY),
        ("PATCH", f"{MAPS}/web?fieldManager=me", config_map() | {"dat": {}}, APPLY),
    ],
)
async def test_what_the_client_got_wrong_is_no_fault_of_the_server(
    api: Api, method: str, path: str, body: Any, kind: str
) -> None:
    (await api.post(MAPS, config_map(data={"a": "b"}))).ok()
    (await api.post(DEPLOYMENTS, deployment())).ok()
    path, _, query = path.partition("?")
    given = dict(part.split("=") for part in query.split("&") if part)
    (await api.send(method, path, body, query=given, content_type=kind)).failed(400, "BadRequest")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (MERGES, "document contains excessive aliasing"),
        (ALIASES, "document contains excessive aliasing"),
        (b"a: &a [*a]", "unknown anchor 'a' referenced, or one whose value contains itself"),
        (b"a: &a {<<: *a}", "whose value contains itself"),
        (b"[" * 100_000, "exceeded max depth of 500"),
        (b"{a: " * 100_000, "exceeded max depth of 500"),
        (b"? " * 100_000, "exceeded max depth of 500"),
        (b"".join(b"%%TAG !a%d! tag:x\n" % n for n in range(100_000)) + b"--- a", "more than 100 directives"),
        (b"[" + b"a," * 400_000 + b"]", "more than 300000 values"),
        (b"a: .inf", "json: unsupported value: .inf"),
        (b"!!int x", "cannot decode !!str `x` as a !!int"),
        (b"!!python/object:os.system x", "cannot decode !!str `x` as a !!python/object:os.system"),
        (b"? [a]\n: b", "invalid map key"),
        (b"<<: x", "map merge requires map or sequence of maps as the value"),
    ],
    ids=range(14),
)
async def test_yaml_is_bounded_while_it_is_read(api: Api, body: bytes, words: str) -> None:
    """The first ones are more than all memory, or minutes of work, to a loader that asks afterwards."""
    (await api.send("POST", MAPS, body, content_type="application/yaml")).failed(400, "BadRequest", words)
    (await api.send("PATCH", f"{MAPS}/a", body, query={"fieldManager": "me"}, content_type=APPLY)).failed(
        400, "BadRequest"
    )


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (
            b"a: &a {x: 1, z: 2}\nb: {<<: *a, x: 3}\nc: *a",
            {"a": {"x": 1, "z": 2}, "b": {"x": 3, "z": 2}, "c": {"x": 1, "z": 2}},
        ),
        (b"b: {<<: [{x: 1}, {x: 2, z: 2}]}", {"b": {"x": 1, "z": 2}}),
        (b"b: {x: 0, z: 0, <<: {x: 1}, z: 3}", {"b": {"x": 1, "z": 3}}),
        (b"a: !!set {b}\nc: !!map [1]\nd: !e {}\nf: !!omap [<<]", {"a": {"b": None}, "c": [1], "d": {}, "f": ["<<"]}),
        (b"<<", "<<"),
        (
            b"[0x1f, 017, 1_000, 1.5, .5, -0b11, yes, ~, null, 1:30, 2001-01-01, '1', !!str 2]",
            [31, 15, 1000, 1.5, 0.5, -3, True, None, None, "1:30", "2001-01-01", "1", "2"],
        ),
        (b"1: a\ntrue: b\n1.5: c", {"1": "a", "true": "b", "1.5": "c"}),
        (b"a: 99999999999999999999999", {"a": 1e23}),
        (b"", None),
        (b"# nothing", None),
    ],
    ids=range(10),
)
def test_yaml_means_what_it_means_to_kubectl(body: bytes, value: Any) -> None:
    assert parse_yaml(body)[0] == value


@pytest.mark.parametrize("body", [b"a: 1\na: 2", b"a: 1\n<<: {a: 2}", b"<<: {a: 2}\na: 1", b"<<: [{a: 1}, {a: 2}]"])
def test_a_key_that_a_merge_repeats_counts_as_repeated(body: bytes) -> None:
    assert [str(key).split(": ")[1] for key in parse_yaml(body)[1]] == ['key "a" already set in map']


def test_what_an_alias_repeats_is_nobody_elses() -> None:
    value, _ = parse_yaml(b"a: &a {x: [1]}\nb: *a\nc: {<<: *a}")
    value["b"]["x"].append(2)
    value["c"]["x"].append(3)
    assert value == {"a": {"x": [1]}, "b": {"x": [1, 2]}, "c": {"x": [1, 3]}}


async def test_tens_of_thousands_of_owners_are_told_apart(api: Api) -> None:
    """Each compared with each, this took half a minute."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"a{n}", "uid": f"u{n}"} for n in range(10_000)]
    twice = [dict(reversed(owner.items())) for owner in owners]
    answer = await api.post(MAPS, config_map(metadata={"ownerReferences": owners + twice}))
    assert answer.ok()["metadata"]["ownerReferences"] == owners
    assert "duplicate UID(s) observed: u0, u1, " in answer.warnings


async def test_half_characters_are_read_as_go_reads_them(api: Api) -> None:
    body = b'{"metadata":{"name":"web"},"data":{"a":"x\\ud800y\\uD83D\\uDE00\\\\ud800"}}'
    result = (await api.send("POST", MAPS, body)).ok()
    assert result["data"]["a"] == "x\ufffdy\U0001f600\\ud800"
    body = b'{"metadata":{"name":"\\udfff"}}'
    (await api.send("POST", MAPS, body)).failed(422, "Invalid", "metadata.name")


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [("GET", "/\ud800", {}), ("GET", MAPS, {"impersonate_user": "\udcff"}), ("POST", MAPS, {"user_agent": "\ud800"})],
)
async def test_text_that_can_not_be_written_down_is_refused(
    api: Api, method: str, path: str, headers: dict[str, str]
) -> None:
    (await api.send(method, path, config_map(), **headers)).failed(400, "BadRequest", "not valid UTF-8")


async def test_numbers_over_sixty_four_bits_are_read_as_go_reads_them(api: Api) -> None:
    body = b'{"metadata":{"name":"web","generation":' + b"9" * 30 + b"}}"
    (await api.send("POST", MAPS, body)).failed(400, "BadRequest", "metadata.generation")
    body = b'{"metadata":{"name":"web"},"x":1e999}'
    (await api.send("POST", MAPS, body)).failed(400, "BadRequest", "cannot unmarshal number 1e999")


@pytest.mark.parametrize("number", ["9" * 6000, "1_000", "٣", " 1", "0x10"])
async def test_numbers_are_those_of_go(api: Api, number: str) -> None:
    new_config_map = (await api.post(MAPS, config_map())).ok()
    (await api.get(MAPS, limit=number)).failed(400, "BadRequest", "strconv.ParseInt")
    (await api.get(MAPS, resourceVersion=number)).failed(400, "BadRequest", "strconv.ParseUint")
    new_config_map["metadata"]["resourceVersion"] = number
    (await api.put(f"{MAPS}/web", new_config_map)).failed(400, "BadRequest", "strconv.ParseUint")
    (await api.get(MAPS, labelSelector=f"a>{number}x")).failed(400, "BadRequest")
    patch = [{"op": "remove", "path": f"/metadata/finalizers/{number}"}]
    (await api.patch(f"{MAPS}/web", patch, JSON_PATCH)).failed(422, "Invalid")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (5, "TokenRequest.spec"),
        ({"audiences": 5}, "spec.audiences"),
        ({"audiences": [5]}, "spec.audiences"),
        ({"audiences": "a"}, "spec.audiences"),
        ({"expirationSeconds": "600"}, "spec.expirationSeconds"),
        ({"expirationSeconds": True}, "spec.expirationSeconds"),
        ({"boundObjectRef": []}, "spec.boundObjectRef"),
    ],
)
async def test_a_token_request_is_checked(api: Api, spec: Any, field: str) -> None:
    (await api.post(ACCOUNTS, {"metadata": {"name": "robot"}})).ok()
    (await api.post(f"{ACCOUNTS}/robot/token", {"spec": spec})).failed(400, "BadRequest", field)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (f"{DEPLOYMENTS}/web/scale", {"metadata": {"resourceVersion": True}}, "resourceVersion"),
        (f"{DEPLOYMENTS}/web/scale", {"metadata": {"uid": []}}, "uid"),
        (f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": "3"}}, "replicas"),
        (f"{DEPLOYMENTS}/web/scale", {"apiVersion": True}, "apiVersion"),
        (f"{DEPLOYMENTS}/web/scale", {"apiVersion": [None]}, "apiVersion"),
        (f"{DEPLOYMENTS}/web/scale", {"kind": {"a": "b"}}, "kind"),
        (f"{PODS}/web/eviction", {"metadata": {"name": []}}, "name"),
        (f"{PODS}/web/eviction", {"deleteOptions": []}, "deleteOptions"),
        (f"{PODS}/web/binding", {"target": {"name": {}}}, "name"),
        (f"{PODS}/web/binding", {"target": {"name": "a"}, "metadata": {"labels": []}}, "labels"),
    ],
)
async def test_documents_that_are_never_stored_are_checked_too(
    api: Api, path: str, body: dict[str, Any], field: str
) -> None:
    (await api.post(DEPLOYMENTS, deployment())).ok()
    (await api.post(PODS, pod())).ok()
    send = api.put if path.endswith("scale") else api.post
    (await send(path, body)).failed(400, "BadRequest", field)
    if path.endswith("scale"):
        # As upstream: a patch whose result is not a Scale is invalid.
        (await api.patch(path, body)).failed(422, "Invalid", field)


async def test_nulls_in_documents_that_are_never_stored_are_empty_values(api: Api) -> None:
    (await api.post(PODS, pod())).ok()
    unnamed = {"metadata": {"name": "web"}, "target": {"name": None, "kind": None}}
    for path in ("/api/v1/namespaces/default/bindings", f"{PODS}/web/binding"):
        (await api.post(path, unnamed)).failed(422, "Invalid", "target.name: Required value")
    eviction = {"metadata": {"name": "web", "namespace": None}, "deleteOptions": None}
    assert (await api.post(f"{PODS}/web/eviction", eviction)).status == 201


@pytest.mark.parametrize(
    "status",
    [
        {"completedIndexes": "9" * 5000},
        {"failedIndexes": "9" * 5000},
        {"startTime": "9999-12-31T23:59:59-10:00"},
        {"startTime": "0001-01-01T00:00:00+10:00"},
    ],
)
async def test_numbers_and_times_beyond_all_bounds_are_refused(api: Api, status: dict[str, str]) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    spec = {"completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1, "template": template}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    (await api.post(jobs, {"metadata": {"name": "a"}, "spec": spec})).ok()
    (await api.patch(f"{jobs}/a/status", {"status": status})).failed(422, "Invalid")


async def test_an_object_without_anything_is_no_kinds_internal_error(api: Api) -> None:
    for served in api.server.registry:
        kind = served.resource
        root = f"/apis/{kind.group}" if kind.group else "/api"
        place = "/namespaces/default" if kind.namespaced else ""
        for body in (None, {}, {"metadata": {}}, {"metadata": None, "spec": None, "status": None}, {"spec": {}}):
            answer = await api.send("POST", f"{root}/{kind.version}{place}/{kind.plural}", json.dumps(body).encode())
            assert answer.status < 500, (kind.kind, body, answer.body)


@pytest.mark.parametrize("path", ["", "*", "example.com:443", "api/v1/pods"])
async def test_what_is_no_path_leads_nowhere(api: Api, path: str) -> None:
    for method in ("GET", "CONNECT", "OPTIONS", "POST"):
        assert (await api.send(method, path)).status == 404


async def test_a_group_without_a_user_is_refused(api: Api) -> None:
    answer = await api.send("GET", MAPS, impersonate_group="a")
    answer.failed(400, "BadRequest", "without impersonating a user")


async def test_a_service_account_has_its_groups(api: Api) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    for user, groups in (
        (
            "system:serviceaccount:shop:cart",
            ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
        ),
        ("system:anonymous", ["system:unauthenticated"]),
    ):
        answer = await api.send("POST", path, review, impersonate_user=user)
        assert answer.ok()["status"]["userInfo"] == {"username": user, "groups": groups}


async def test_a_head_of_more_than_a_mebibyte_is_413(api: Api) -> None:
    (await api.send("GET", MAPS, x="y" * (1 << 20))).failed(413, "RequestEntityTooLarge")


async def test_patches_of_long_lists_are_merged_by_looking_each_item_up(api: Api) -> None:
    """Each looked for in all others, the last one took half a minute."""
    (await api.post(MAPS, config_map())).ok()
    names = [f"example.com/f{n}" for n in range(10_000)]
    order = {"$setElementOrder/finalizers": names[::-1], "finalizers": names[::-1]}
    result = (await api.patch(f"{MAPS}/web", {"metadata": order}, STRATEGIC)).ok()
    assert result["metadata"]["finalizers"] == names[::-1]
    result = (await api.patch(f"{MAPS}/web", {"metadata": {"$setElementOrder/finalizers": names}}, STRATEGIC)).ok()
    assert result["metadata"]["finalizers"] == names
    gone = {"$deleteFromPrimitiveList/finalizers": names[1:]}
    assert (await api.patch(f"{MAPS}/web", {"metadata": gone}, STRATEGIC)).ok()["metadata"]["finalizers"] == names[:1]
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"a{n}", "uid": f"u{n}"} for n in range(5_000)]
    for _ in range(2):
        result = (await api.patch(f"{MAPS}/web", {"metadata": {"ownerReferences": owners}}, STRATEGIC)).ok()
        assert result["metadata"]["ownerReferences"] == owners
    doomed = [{"$patch": "delete", "uid": f"u{n}"} for n in range(4_999)]
    result = (await api.patch(f"{MAPS}/web", {"metadata": {"ownerReferences": doomed}}, STRATEGIC)).ok()
    assert result["metadata"]["ownerReferences"] == owners[-1:]


async def test_warnings_are_no_longer_than_headers_should_be(api: Api) -> None:
    few = (await api.post(MAPS, config_map("few", **{"x" * 300: 1}))).warnings
    assert few == f'299 - "unknown field \\"{"x" * 300}\\""'
    many = await api.post(MAPS, config_map("many", **{f"field{n}": 1 for n in range(20_000)}))
    many.ok()
    assert many.warnings.startswith('299 - "unknown field \\"field0\\"", 299 - "unknown field \\"field1\\"", ')
    assert 3_000 < len(many.warnings) < 8_000


async def test_a_quantity_of_thousands_of_digits_is_none(api: Api) -> None:
    limits = {"limits": {"cpu": "1" * 100_000}}
    wrong = pod(spec={"containers": [{"name": "main", "image": "busybox", "resources": limits}]})
    assert (await api.post(PODS, wrong)).status in (400, 422)


async def test_an_answer_names_a_thousand_faults_and_counts_the_rest(api: Api) -> None:
    wrong = config_map(data={f"/{n}": "v" for n in range(5_000)})
    status = (await api.post(MAPS, wrong)).failed(422, "Invalid", ", and 4000 more errors]")
    assert len(status["details"]["causes"]) == 1000


async def test_tens_of_thousands_of_unknown_fields_are_cut_out(api: Api) -> None:
    """Each added to a new list of all before it, this took a second for every ten thousand."""
    new_config_map = (await api.post(MAPS, config_map(**{f"field{n}": {"x": n} for n in range(50_000)}))).ok()
    assert set(new_config_map) == {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize(
    "rule",
    [
        "double(self.a) > 0.0",
        "int(self.a) > 0",
        "uint(self.a) > 0u",
        "duration(self.a) > duration('1s')",
        "timestamp(self.a) > timestamp('2026-01-01T00:00:00Z')",
        "isQuantity(self.a) && quantity(self.a).isGreaterThan(quantity('1'))",
        "semver(self.a).major() > 1",
        "self.a.matches('^(1+)+$')",
        "self.a.find('^(1+)+$') == ''",
        "isIP(self.a) || isCIDR(self.a) || isURL(self.a)",
    ],
)
async def test_rules_read_long_texts_once(api: Api, rule: str) -> None:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 100_000}}}},
    }
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": rule}]
    (await api.post(CRDS, crd(versions=[crd_version(schema={"openAPIV3Schema": schema})]))).ok()
    for text in ("1" * 100_000, "1" * 99_999 + "x", "1." * 50_000, "1-" * 50_000):
        assert (await api.post(MYKINDS, mykind(spec={"a": text}))).status in (422, 409, 201)


async def test_a_large_yaml_that_is_wrong_is_refused_as_a_small_one(api: Api) -> None:
    for blanks in (0, 20_000):
        body = b"a: [\n" + b"#" * blanks
        answer = await api.send("POST", MAPS, body, content_type="application/yaml")
        answer.failed(400, "BadRequest", "yaml: line")
        body = b'{"a": 1, "a": "\\ud800"' + b" " * blanks + b"}"
        answer = await api.send(
            "POST", MAPS, body, content_type="application/yaml", query={"fieldValidation": "Strict"}
        )
        answer.failed(400, "BadRequest", 'duplicate field "a"')


async def test_small_yaml_is_read_and_stored_in_one_go(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
    task = asyncio.ensure_future(api.send("POST", MAPS, body, content_type="application/yaml"))
    await asyncio.sleep(0)
    assert task.done()
    (await task).ok()


async def test_a_patch_that_moves_items_of_long_lists_again_and_again_is_refused(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    (await api.post(MYKINDS, mykind(spec={"free": {"x": [1] * 300_000}}))).ok()
    for operation in ({"op": "add", "path": "/spec/free/x/0", "value": 1}, {"op": "remove", "path": "/spec/free/x/0"}):
        answer = await api.patch(f"{MYKINDS}/one", [operation] * 9_999, JSON_PATCH)
        answer.failed(422, "Invalid", "list items")
    fitting = [{"op": "remove", "path": "/spec/free/x/0"}] * 100
    (await api.patch(f"{MYKINDS}/one", fitting, JSON_PATCH)).ok()

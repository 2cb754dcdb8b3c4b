"""Any manifest goes through client, embedded server, webhooks, cache and controller, or is refused.

Nothing ends but the one request: after each a plain object goes through as if nothing had happened.
"""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import setpoint as sp
from setpoint.apiserver import Request
from setpoint.client import ApiError, NotFound
from setpoint.crd import ConditionedStatus, CustomResource, Field
from setpoint.meta import Model, TooDeep
from setpoint.models.rbac_v1 import ClusterRole
from setpoint.testing import Cluster, virtual_time
from setpoint.webhook import Admission

PATH = "/apis/any.example.com/v1/namespaces/default/things"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
LARGEST = 3 * 1024 * 1024


class Spec(Model):
    content: Annotated[dict[str, Any], Field(preserve_unknown_fields=True)] = {}


class Seen(ConditionedStatus):
    """The controller's result for an object."""

    size: int = 0


class Thing(CustomResource, group="any.example.com", version="v1"):
    spec: Spec = Spec()
    status: Seen = Seen()


def label_it(thing: Thing) -> None:
    thing.labels["asked"] = "yes"


def look(thing: Thing) -> None:
    json.dumps(thing.labels)


async def measure(thing: Thing, ctx: sp.Context) -> None:
    thing.status.size = len(thing.spec.content)


def nested(depth: int, leaf: Any) -> Any:
    for level in range(depth):
        leaf = [leaf] if level % 2 else {"a": leaf}
    return leaf


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20) | st.sampled_from(
    [
        "\0",
        "👩‍👩‍👧‍👦",
        "ﷺ",
        "\u202eabc",
        "\ufeff",
        "\u2028",
        "n",
        "on",
        "~",
        "1e3",
        "0777",
        "é",
        "e\u0301",
        "漢字",
        "<<",
    ]
)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, width=32) | texts
trees = st.recursive(
    scalars.filter(lambda value: not isinstance(value, float) or (value == value and abs(value) < 1e30)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)
contents = st.dictionaries(texts, trees, max_size=3)
labels = st.from_regex(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]", fullmatch=True)
names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?){0,3}", fullmatch=True)
examples = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


async def send(world: Cluster, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
    response = await world.server.handle(Request(method, path, (), {}, body))
    assert isinstance(response.body, bytes)
    return response.status, json.loads(response.body)


def served() -> Cluster:
    admission = Admission(Thing).defaults(label_it).validates(look)
    return sp.testing.cluster(sp.Controller(Thing, measure), webhooks=[admission])


@examples
@given(
    name=names,
    label=labels,
    content=contents,
    depth=st.just(0) | st.integers(1, 5000),
    size=st.just(0) | st.integers(1, LARGEST + 50_000),
    letter=st.sampled_from(["x", "é", "漢", "👩", "\0", '"']),
    wide=st.just(0) | st.integers(1, 5_000),
)
@example("a" * 253, "x", {"": {"\0": ["👩‍👩‍👧‍👦"]}}, 0, 0, "x", 0)
@example("deep", "x", {}, 240, 0, "x", 0)
@example("deeper", "x", {}, 5000, 0, "x", 0)
@example("large", "x", {}, 0, LARGEST - 10_000, "x", 0)
@example("larger", "x", {}, 0, LARGEST + 10_000, "x", 0)
@example("wide", "x", {}, 0, 0, "漢", 30_000)
@virtual_time
async def test_an_object_goes_through_all_or_is_refused(
    name: str, label: str, content: dict[str, Any], depth: int, size: int, letter: str, wide: int
) -> None:
    """``wide``: the number of items in a list, half of them objects."""
    items = [{letter: number} if number % 2 else number for number in range(wide)]
    content = {**content, "deep": nested(depth, "x"), "large": letter * size, "wide": items}
    usual = depth <= 240 and size < LARGEST // 20
    async with served() as world:
        thing = Thing.named(name, "default", labels={"label": label}, spec=Spec(content=content))
        try:
            new_thing = await world.client.create(thing)
        except ApiError as refusal:
            refused = refusal.code
        except TooDeep:
            refused = 422  # the client says so, and has sent nothing
        else:
            refused = 0
            await world.settle()
            there = await world.client.get(Thing, name)
            assert there.spec.content == content == new_thing.spec.content
            assert there.labels == {"label": label, "asked": "yes"}
            assert there.status.size == len(content)
            (result,) = await world.client.list(Thing, selector={"label": label})
            assert result.name == name
            cached = world.manager.factory.informer(Thing).lister.get(f"default/{name}")
            assert cached is not None
            assert cached.spec.content == content
        assert refused < 500
        assert not refused or not usual
        await a_plain_one_goes_through(world)


async def a_plain_one_goes_through(world: Cluster) -> None:
    await world.client.create(Thing.named("plain-one", "default", spec=Spec(content={"a": 1, "b": 2})))
    await world.settle()
    assert (await world.client.get(Thing, "plain-one")).status.size == 2


@examples
@given(
    place=st.sampled_from(["name", "namespace", "label", "annotation", "finalizer", "content"]),
    text=texts,
    raw=st.none() | st.sampled_from([b'"\xff"', b'"\xed\xa0\x80"', b"1e999", b"NaN", b"-0"]),
)
@virtual_time
async def test_any_text_in_any_field_is_taken_or_refused(place: str, text: str, raw: bytes | None) -> None:
    value = raw if raw is not None else json.dumps(text, ensure_ascii=False).encode()
    fields = {
        "name": b'"name":%s',
        "namespace": b'"name":"a","namespace":%s',
        "label": b'"name":"a","labels":{"x":%s}',
        "annotation": b'"name":"a","annotations":{"x":%s}',
        "finalizer": b'"name":"a","finalizers":[%s]',
        "content": b'"name":"a"',
    }
    metadata = fields[place] % value if place != "content" else fields[place]
    spec = b'{"content":{"a":%s}}' % (value if place == "content" else b"1")
    body = b'{"apiVersion":"any.example.com/v1","kind":"Thing","metadata":{%s},"spec":%s}' % (metadata, spec)
    async with served() as world:
        status, answer = await send(world, "POST", PATH, body)
        assert status == 201 or 400 <= status < 500, answer
        await world.settle()
        if status == 201:
            path = f"{PATH}/{quote(answer['metadata']['name'])}"
            status, result = await send(world, "GET", path)
            assert status == 200
            if raw is None and place == "content":
                assert result["spec"]["content"]["a"] == text
            if raw is None and place == "annotation":
                assert result["metadata"]["annotations"]["x"] == text
        await a_plain_one_goes_through(world)


@examples
@given(
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)
    | st.sampled_from(["system:controller:a-b", "..", ".", "a..b", "a/b", "a%2fb", "%", "a b", "名前", "a?b#c"])
)
@virtual_time
async def test_names_that_are_path_segments_are_found_again(name: str) -> None:
    """Roles may be called nearly anything: all but ``.``, ``..`` and what has a slash or percent sign in it."""
    async with sp.testing.cluster() as world:
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
        status, answer = await send(world, "POST", ROLES, json.dumps(role).encode())
        if name in (".", "..") or "/" in name or "%" in name:
            assert status == 422, answer
            return
        assert status == 201, answer
        cluster_role = await world.client.get(ClusterRole, name)
        assert cluster_role.name == name
        assert name in {item.name for item in await world.client.list(ClusterRole)}
        await world.client.delete(ClusterRole, name)
        with pytest.raises(NotFound):
            await world.client.get(ClusterRole, name)

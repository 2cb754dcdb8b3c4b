"""Any object of an API server, of any depth, size and language, ends nothing but the one request for it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

import setpoint as sp
from setpoint.cache import InformerFactory
from setpoint.client import (
    Client,
    InProcessTransport,
    Request,
    RetryPolicy,
    UnreadableAnswer,
    dynamic,
    metadata_only,
)
from setpoint.meta import Resource, TooDeep, raw_of
from setpoint.testing import virtual_time, wait_all_tasks_blocked

RESOURCE = Resource(group="example.com", version="v1", kind="Thing", plural="things")
PATH = "/apis/example.com/v1/things"
DEEPEST = 10_000
"""Levels of JSON that a kube-apiserver takes."""


class Thing(sp.Object, omit_defaults=True):
    """A class that does not know the content: metadata and any JSON."""

    resource = RESOURCE
    content: Any = None


Loose = dynamic(RESOURCE)


KNOWN = frozenset({"", "apiVersion", "content", "kind", "metadata"})


class Stored(NamedTuple):
    namespace: str
    name: str
    content: bytes
    """JSON of any form."""
    note: str = ""
    """The name and the value of an annotation, and the name of a field that no class knows."""

    def __repr__(self) -> str:
        shown = self.content if len(self.content) < 200 else self.content[:50] + b"..."
        return f"Stored({self.namespace!r}, {self.name!r}, {shown!r}, {len(self.content)} bytes)"

    def document(self, version: int, *, managed: bool = True) -> bytes:
        noted = json.dumps(self.note).encode()
        fields = b',"managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":%b}]' % self.content
        return (
            b'{%b"apiVersion":"example.com/v1","content":%b,"kind":"Thing","metadata":{%b%b"name":%b,"namespace":%b,'
            b'"resourceVersion":"%d","uid":%b}}'
        ) % (
            b"%b:1," % noted if self.note not in KNOWN else b"",
            self.content,
            b'"annotations":{%b:%b},' % (noted, noted) if self.note else b"",
            (fields[1:] + b",") if managed else b"",
            json.dumps(self.name).encode(),
            json.dumps(self.namespace).encode(),
            version,
            json.dumps(f"uid-{self.name}").encode(),
        )


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes | AsyncIterator[bytes]


class Shelf:
    """A server that hands out bytes and looks at none of them."""

    def __init__(self, *stored: Stored, streams: bool = False) -> None:
        self.version = 1
        self.streams = streams
        self.objects: dict[str, bytes] = {}
        self.written: list[Request] = []
        self.watchers: list[asyncio.Queue[bytes]] = []
        self.asked: list[Request] = []
        for item in stored:
            self.put(item)

    def put(self, stored: Stored) -> None:
        self.version += 1
        key = f"{stored.namespace}/{stored.name}"
        kind = b"MODIFIED" if key in self.objects else b"ADDED"
        self.objects[key] = stored.document(self.version)
        self.say(kind, self.objects[key])

    def remove(self, stored: Stored) -> None:
        self.version += 1
        del self.objects[f"{stored.namespace}/{stored.name}"]
        self.say(b"DELETED", stored.document(self.version))

    def say(self, kind: bytes, document: bytes) -> None:
        for watcher in self.watchers:
            watcher.put_nowait(b'{"type":"%b","object":%b}\n' % (kind, document))

    async def handle(self, request: Request) -> Answer:
        self.asked.append(request)
        query = dict(request.query)
        if request.path.endswith("/events"):
            return Answer(201, {}, request.body or b"")
        if request.method != "GET":
            self.written.append(request)
            return Answer(200, {}, self.objects[_key(request.path)])
        if request.path.startswith("/api"):
            if query.get("watch"):
                if "sendInitialEvents" in query and not self.streams:
                    return _refused(400, "BadRequest")
                return Answer(200, {}, self._watch("sendInitialEvents" in query))
            if request.path == PATH:
                return Answer(200, {}, self._list())
            if key := self.objects.get(_key(request.path)):
                return Answer(200, {}, key)
        return _refused(404, "NotFound")

    def _list(self) -> bytes:
        head = b'{"apiVersion":"example.com/v1","items":[%b],"kind":"ThingList","metadata":{"resourceVersion":"%d"}}'
        return head % (b",".join(self.objects.values()), self.version)

    async def _watch(self, initial: bool) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.watchers.append(queue)
        if initial:
            for document in list(self.objects.values()):
                yield b'{"object":%b, "type":"ADDED"}\n' % document
            mark = {"resourceVersion": str(self.version), "annotations": {"k8s.io/initial-events-end": "true"}}
            yield json.dumps({"type": "BOOKMARK", "object": {"metadata": mark}}).encode() + b"\n"
        while True:
            yield await queue.get()


def _key(path: str) -> str:
    match = re.search(r"/namespaces/([^/]*)/[^/]*/([^/]*)", path)
    return f"{unquote(match[1])}/{unquote(match[2])}" if match else ""


def _refused(code: int, reason: str) -> Answer:
    message = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": reason,
    }
    return Answer(code, {}, json.dumps(message).encode())


def client_of(shelf: Shelf) -> Client:
    return Client(InProcessTransport(shelf.handle), retry=RetryPolicy(attempts=0))


def nested(levels: int, opening: bytes = b'{"a":', closing: bytes = b"}", core: bytes = b"1") -> bytes:
    return opening * levels + core + closing * levels


LABEL = r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?"
namespaces = st.from_regex(LABEL, fullmatch=True)
segments = st.sampled_from(
    ["system:node:a", "名前", "é b", "a?b#c", "a,b=c", '"', "\\", "\u2028", "👩‍👩‍👧‍👦", "...", "a+b&c"]
)
"""Names of roles and their like: whatever can be one segment of a path."""
names = st.from_regex(rf"{LABEL}(\.{LABEL}){{0,4}}", fullmatch=True) | st.just("a" * 253) | segments
texts = st.text(max_size=30) | st.sampled_from(
    [
        "\0",
        "👩‍👩‍👧‍👦",
        "ﷺ",
        "\u202eabc",
        "\ufeff",
        "n",
        "y",
        "null",
        "{[}]",
        '\\"',
        "},{",
        '}]},"a',
        '"managedFields":[{',
        "\x7f\u2028",
    ]
)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip
plains = st.builds(
    lambda value, ascii, indent: json.dumps(value, ensure_ascii=ascii, indent=indent).encode().replace(b"\n", b" "),
    values,
    st.booleans(),
    st.sampled_from([None, 1]),
)
levels = st.sampled_from([0, 1, 100, 500, 900, 950, 970, 990, 1_000, 1_100, 3_000, DEEPEST])
deeps = st.builds(
    lambda depth, form, core: nested(depth, *form, core),
    levels,
    st.sampled_from([(b'{"a":', b"}"), (b"[", b"]"), (b'[{"}]":', b"}]"), (b'{"x":"{[","a":', b"}"), (b'[1, {"\\"":', b', "b": [2]}]')]),  # noqa: E501
    plains,
)  # fmt: skip
ODD = [rb'"\ud800"', rb'"\udc00\ud800x"', b'"\xff"', rb'{"\ud800": "\ud83d\ude00"}', rb'"\u0000"']
LARGE = 1_500_000
"""Bytes: no object in etcd is larger."""
PARTS = ["x", "é", "漢", "👩", "\u2028", "\\u0000", '\\"', "\\ud83d\\ude00"]
big = st.builds(
    lambda size, letter: b'"%b"' % (letter.encode() * (size // len(letter.encode()))),
    st.sampled_from([100_000, LARGE]),
    st.sampled_from(PARTS),
)
"""Long texts."""
wide = st.builds(
    lambda size, item: (
        b"[%b]" % b",".join([item] * (size // (len(item) + 1)))
        if item[:1] != b'"'
        else b"{%b}" % b",".join(b'"k%d":%b' % (number, item) for number in range(size // (len(item) + 10)))
    ),
    st.sampled_from([1_000, 30_000]),
    st.sampled_from([b"1", b"null", b'{"a":[]}', b'"v"', '"漢"'.encode()]),
)
"""Lists of many items, and objects with many fields."""
contents = plains | deeps | st.sampled_from(ODD) | big | wide
stored = st.builds(Stored, namespaces, names, contents, texts)
shelves = st.lists(stored, max_size=5, unique_by=lambda one_item: (one_item.namespace, one_item.name))
STRANGE = [
    Stored("default", "deep", nested(DEEPEST)),
    Stored("default", "brackets", nested(2 * DEEPEST, b"[", b"]")),
    Stored("default", "surrogate", rb'"\ud800"'),
    Stored("default", "bytes", b'"\xff"'),
    Stored("default", "plain", b'{"a":1}', "\0漢/👩‍👩‍👧‍👦"),
    Stored("default", "large", b'"%b"' % ("漢".encode() * (LARGE // 3))),
    Stored("default", "items", b"[%b]" % b",".join([b"1"] * 100_000), "n"),
    Stored("default", "fields", b"{%b}" % b",".join(b'"k%d":1' % number for number in range(10_000))),
    Stored("default", "a?b#名前 👩‍👩‍👧‍👦", b'{"a":1}'),
]
examples = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def run(body: Any) -> None:
    virtual_time(body)()


def is_readable(raw: bytes) -> bool:
    """Whether nothing in it is deep: by its brackets, counted as generously as possible."""
    return raw.count(b"{") + raw.count(b"[") < 400


@given(shelves)
@example(STRANGE)
@examples
def test_a_client_reads_all_that_can_be_read_and_names_the_rest(objects: list[Stored]) -> None:
    async def body() -> None:
        async with client_of(Shelf(*objects)) as client:
            for kind in (Thing, Loose, metadata_only(Thing)):
                current_objects = await client.list(kind)
                assert len(current_objects) == len(objects)
                readable = {(current_obj.namespace, current_obj.name) for current_obj in current_objects}
                broken = " ".join(map(str, current_objects.broken))
                for obj in objects:
                    if (obj.namespace, obj.name) not in readable:
                        assert not is_readable(obj.content)
                        assert f"{obj.namespace}/{obj.name}: nested too deeply" in broken
                assert [head.name for head in current_objects.heads] == [obj.name for obj in objects]
                for obj in objects:
                    try:
                        one = await client.get(kind, obj.name, namespace=obj.namespace)
                    except UnreadableAnswer as problem:
                        text = str(problem)
                        assert not is_readable(obj.content)
                        assert text.startswith(f"get things.example.com {obj.namespace}/{obj.name}: ")
                        assert f"{kind.__name__} {obj.namespace}/{obj.name}: nested too deeply" in text
                        continue
                    assert (one.namespace, one.name) == (obj.namespace, obj.name)
                    assert one.annotations.get(obj.note, "") == obj.note
                    one.labels["touched"] = "yes"
                    try:
                        await client.update(one)
                        await client.replace(one)
                        await client.apply(one)
                    except (TooDeep, UnreadableAnswer):
                        assert not is_readable(obj.content)

    run(body)


@given(shelves, shelves, st.booleans())
@example(STRANGE, STRANGE, False)
@example(STRANGE, STRANGE, True)
@examples
def test_an_informer_lives_with_all_there_is(before: list[Stored], after: list[Stored], streams: bool) -> None:
    async def body() -> None:
        shelf = Shelf(*before, streams=streams)
        heads: dict[str, str] = {}
        async with client_of(shelf) as client, InformerFactory(client, random=Random(1)) as factory:
            informer = factory.informer(Thing)
            informer.add_event_handler(
                on_add=lambda head, initial: heads.update({head.key: head.resource_version}),
                on_update=lambda old, new: heads.update({new.key: new.resource_version}),
                on_delete=lambda head, unknown: heads.pop(head.key),
            )
            await factory.wait_for_cache_sync()
            informer.add_index("content", lambda thing: [str(type(thing.content))], projection=Thing)
            await wait_all_tasks_blocked()
            for item in after:
                shelf.put(item)
            if after:
                shelf.remove(after[0])
            end = Stored("default", "the-end", b"1")
            shelf.put(end)
            await wait_all_tasks_blocked()
            assert informer.last_error is None
            assert informer.shared.skipped == 0
            assert heads.keys() == shelf.objects.keys() == set(informer.lister.keys())
            contents = {f"{item.namespace}/{item.name}": item.content for item in (*before, *after, end)}
            listed = {thing.key for thing in informer.lister.list()}
            assert listed <= heads.keys()
            for key in heads:
                assert informer.lister.head(key).resource_version == heads[key]  # type: ignore[union-attr]
                try:
                    thing = informer.lister.get(key)
                except TooDeep as problem:
                    text = str(problem)
                    assert text.startswith(f"Thing {key}: nested too deeply")
                    assert not is_readable(contents[key])
                    assert key not in listed
                else:
                    assert key in listed
                    event("read")
                    assert (
                        contents[key] in (raw_of(thing) or b"")
                        or contents[key] in (b'"\xff\xfe"', b'"\xff"')
                        or b"\\ud" in contents[key]
                    )
            assert sum(b"nothing" in request.path.encode() for request in shelf.asked) == 0
            assert len([item for item in shelf.asked if item.path == PATH and ("watch", "true") not in item.query]) <= 1

    run(body)


@given(shelves)
@example(STRANGE)
@settings(examples, max_examples=15)
def test_a_controller_serves_all_others(objects: list[Stored]) -> None:
    async def body() -> None:
        shelf = Shelf(*objects)
        seen: dict[str, int] = {}

        async def reconcile(thing: Thing, ctx: sp.Context) -> sp.Outcome | None:
            seen[thing.key] = seen.get(thing.key, 0) + 1
            assert thing.key in {item.key for item in ctx.lister(Thing).list()}
            return None

        controller = sp.Controller(Thing, reconcile, owns_status=False)
        async with client_of(shelf) as client:
            manager = sp.Manager(
                client,
                controllers=[controller],
                options=sp.ManagerOptions(now=lambda: datetime(2026, 1, 1, tzinfo=UTC), random=Random(0)),
            )
            async with manager:
                await asyncio.sleep(30)
                end = Stored("default", "the-end", b"1")
                shelf.put(end)
                await asyncio.sleep(30)
                assert seen["default/the-end"] == 1
                for obj in objects:
                    key = f"{obj.namespace}/{obj.name}"
                    if is_readable(obj.content):
                        assert seen.get(key) == 1
                    elif b"a" * 3_000 in obj.content:
                        assert key not in seen

    run(body)


@pytest.mark.parametrize("depth", [1_000, DEEPEST, 100_000])
@virtual_time
async def test_what_is_too_deep_is_counted_and_logged_by_name(depth: int, caplog: pytest.LogCaptureFixture) -> None:
    from setpoint.cache.metrics import InformerMetrics

    metrics = InformerMetrics()
    shelf = Shelf(Stored("default", "deep", nested(depth)), Stored("default", "flat", b"1"))
    async with client_of(shelf) as client, InformerFactory(client, random=Random(1), metrics=metrics) as factory:
        informer = factory.informer(Thing, projection=Thing)
        watched = factory.informer(Thing, transform=lambda document: {**document, "content": "changed"})
        await factory.wait_for_cache_sync()
        samples = {
            sample.name: sample.value for family in metrics.collect() for sample in family.samples if sample.value
        }
        assert samples["informer_unreadable_objects_total"] == 1
        assert "informer_skipped_objects_total" not in samples
        assert "Thing default/deep is kept, but can't be read: " in caplog.text
        assert [thing.name for thing in informer.lister.list()] == ["flat"]
        assert [thing.name for thing in informer.lister.list()] == ["flat"]
        assert caplog.text.count("Thing default/deep is left out of a list") == 1
        assert {head.name for head in informer.lister.heads()} == {"deep", "flat"}
        assert watched.lister.get("default/flat").content == "changed"
        with pytest.raises(TooDeep, match="Thing default/deep"):
            watched.lister.get("default/deep")


@pytest.mark.parametrize("depth", [1_000, DEEPEST])
@virtual_time
async def test_what_a_program_made_too_deep_is_refused_by_name(depth: int) -> None:
    content: Any = 1
    for _ in range(depth):
        content = {"a": content}
    thing = Thing.named("mine", "default", content=content)
    async with client_of(Shelf()) as client:
        for send in (client.create, client.replace, client.apply):
            with pytest.raises(TooDeep, match=r"Thing .*mine: nested too deeply"):
                await send(thing)
        with pytest.raises(TooDeep, match="nested too deeply"):
            await client.patch(Thing, "mine", {"content": content})

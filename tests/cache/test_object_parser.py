"""The kept parts of an object are exact, whichever way it was read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.cache import ObjectParser
from setpoint.cache.errors import WatchBroken
from setpoint.cache.list_splitter import ListSplitter
from setpoint.cache.object_parser import UnexpectedKind
from setpoint.cache.watch_frames import mark_of, split_event, status_of
from setpoint.client import TransportError
from setpoint.client.object_list import split_list
from setpoint.meta import DecodeError, Model, members
from setpoint.meta.json_document import excerpt
from setpoint.meta.managed_fields import without_managed_fields
from setpoint.models.core_v1 import Pod, Secret

from .fakes import pod, to_bytes

NASTY = st.sampled_from(
    ['}]},"spec"', "}]}", '},"', ',"managedFields":[{', '"managedFields":[{', "}", "{", '"', "\\", "x"]
)
TEXT = st.lists(NASTY, max_size=3).map("".join)
FIELDS = st.dictionaries(TEXT.map("f:{}".format) | TEXT.map('k:{{"name":"{}"}}'.format), st.just({}), max_size=3)


def stored(parser: ObjectParser, document: Any) -> Any:
    item = parser.read(to_bytes(document))
    assert item.head == parser.head_of(item.document, item.end)
    return json.loads(item.document)


def test_what_follows_managed_fields_in_the_metadata_is_kept_and_so_is_the_rest() -> None:
    document = {
        "metadata": {
            "name": "a",
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
            "resourceVersion": "5",
        },
        "spec": {"tolerations": [{"key": "x"}]},
        "status": {"phase": "Pending"},
    }
    item = ObjectParser(Pod.resource).read(to_bytes(document))
    assert item.head.resource_version == "5"
    kept = json.loads(item.document)
    assert (kept["spec"], kept["status"]) == (document["spec"], document["status"])


@given(
    fields=FIELDS,
    annotations=st.dictionaries(TEXT, TEXT, max_size=3),
    place=st.sampled_from([None, "middle", "end"]),
    inner=st.booleans(),
    rest=st.sampled_from([{}, {"spec": {}}, {"spec": {}, "status": {"managedFields": [{"a": []}]}}, {"status": {}}]),
    names=st.sampled_from([("kind", "apiVersion"), ("apiVersion", "kind"), ()]),
    before=st.lists(
        st.sampled_from(
            [b'{"metadata":{"name":"b","managedFields":[{}]},"spec":{}}', b'{"metadata":{"name":"b"},"spec":{}}']
        )
    ),
)
def test_managed_fields_are_cut_and_nothing_else_is(
    fields: Any,
    annotations: Any,
    place: str | None,
    inner: bool,
    rest: Any,
    names: tuple[str, ...],
    before: list[bytes],
) -> None:
    metadata: dict[str, Any] = {"name": "a", "annotations": annotations, "resourceVersion": "5"}
    expected = {"kind": "Pod", "apiVersion": "v1", "metadata": dict(metadata), **rest}
    if inner:
        expected["spec"] = {"template": {"metadata": {"managedFields": [{"fieldsV1": fields}]}}}
    if place is not None:
        metadata["managedFields"] = [{"manager": "m", "fieldsV1": fields}, {"fieldsV1": {}}]
    if place == "middle":
        metadata |= {"ownerReferences": [{"name": "o", "uid": "u"}], "uid": metadata.pop("uid", "x")}
        expected["metadata"] |= {"ownerReferences": [{"name": "o", "uid": "u"}], "uid": "x"}
    others = {name: value for name, value in expected.items() if name not in ("kind", "apiVersion", "metadata")}
    document = {**{name: expected[name] for name in names}, "metadata": metadata, **others}
    parser = ObjectParser(Pod.resource)
    for raw in before:  # from which the parser learns where to expect the end of the metadata
        parser.read(raw)
    assert stored(parser, document) == expected
    assert stored(parser, document) == expected


@given(fields=FIELDS, annotations=st.dictionaries(TEXT, TEXT, max_size=3), after=st.booleans(), indent=st.booleans())
def test_an_object_without_its_managed_fields_is_otherwise_the_same(
    fields: Any, annotations: Any, after: bool, indent: bool
) -> None:
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": annotations}}
    obj["spec"] = {"template": {"metadata": {"managedFields": [{"fieldsV1": fields}]}}}
    expected = json.loads(json.dumps(obj))
    obj["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": fields}]
    if after:
        obj["metadata"]["uid"] = expected["metadata"]["uid"] = "u"
    raw = json.dumps(obj, indent=1).encode() if indent else to_bytes(obj)
    cut = without_managed_fields(raw, raw.index(b'{"name"') if not indent else 0)
    assert json.loads(cut) == expected
    assert without_managed_fields(cut, 0) == cut


@pytest.mark.parametrize("brackets", [1, 63, 64, 10_000])
def test_brackets_in_the_keys_of_managed_fields_change_nothing(brackets: int) -> None:
    document = pod("a", version=3)
    fields = {'k:{"name":"' + "}]" * brackets + '"}': {}}
    document["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": fields}]
    expected = json.loads(json.dumps(document))
    del expected["metadata"]["managedFields"]
    assert stored(ObjectParser(Pod.resource), document) == expected


def test_a_cached_object_is_the_same_bytes_from_a_list_and_from_a_watch() -> None:
    document = pod("a", version=3)
    bare = {name: value for name, value in document.items() if name not in ("kind", "apiVersion")}
    sorted_keys = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    parser = ObjectParser(Pod.resource)
    assert parser.read(to_bytes(document)).document == parser.read(to_bytes(bare)).document
    assert json.loads(parser.read(sorted_keys).document) == stored(parser, document)


def test_metadata_comes_first_whatever_the_order_on_the_wire() -> None:
    item = ObjectParser(Pod.resource).read(
        b'{"status":{},"metadata":{"name":"a"},"apiVersion":"v1","kind":"Pod","spec":{"x":1}}'
    )
    assert item.document.startswith(b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}')
    assert json.loads(item.document)["spec"] == {"x": 1}


def test_what_go_would_bear_is_borne() -> None:
    sloppy = b'{"metadata":{"name":"a","labels":null,"creationTimestamp":null,"ownerReferences":null,"generation":0}}'
    head = ObjectParser(Pod.resource).read(sloppy).head
    assert (head.name, head.labels, head.owner_references) == ("a", {}, [])


def test_managed_fields_are_kept_on_request() -> None:
    assert (
        "managedFields" in stored(ObjectParser(Pod.resource, keep_managed_fields=True), pod("a", version=3))["metadata"]
    )


def test_metadata_only_keeps_metadata_also_from_a_server_that_sends_all() -> None:
    parser = ObjectParser(Pod.resource, metadata_only=True)
    kept = stored(parser, pod("a", version=3, labels={"app": "web"}))
    assert set(kept) == {"kind", "apiVersion", "metadata"}
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a", "labels": {}}}
    assert stored(parser, partial)["kind"] == "Pod"


class PodPhase(Model):
    phase: str = ""


class PhaseOnly(Model):
    status: PodPhase


def test_a_projection_keeps_its_fields_and_the_metadata() -> None:
    kept = stored(ObjectParser(Pod.resource, projection=PhaseOnly), pod("a", version=3, phase="Pending"))
    assert kept["status"] == {"phase": "Pending"}
    assert "spec" not in kept
    assert kept["metadata"]["resourceVersion"] == "3"


def test_a_transform_sees_plain_values_and_decides_what_is_kept() -> None:
    def without_spec(document: dict[str, Any]) -> dict[str, Any]:
        document["metadata"]["labels"] = {"seen": document["kind"]}
        del document["spec"]
        return document

    bare = {name: value for name, value in pod("a", version=3).items() if name not in ("kind", "apiVersion")}
    parser = ObjectParser(Pod.resource, transform=without_spec)
    assert "spec" not in stored(parser, bare)
    assert parser.read(to_bytes(bare)).head.labels == {"seen": "Pod"}


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}},
        {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}},
        {"kind": "Pod", "apiVersion": "other/v1", "metadata": {"name": "a"}},
    ],
)
def test_another_kind_is_not_taken(document: Any) -> None:
    with pytest.raises(UnexpectedKind, match=str(document["kind"])):
        ObjectParser(Pod.resource).read(to_bytes(document))


@pytest.mark.parametrize(
    "raw", [b"", b"nonsense", b"[]", b'{"metadata":{}}', b'{"metadata":{"name":5}}', b'{"metadata":"x"}']
)
def test_what_is_no_object_is_an_error_that_says_so(raw: bytes) -> None:
    if raw == b'{"metadata":{"name":5}}':
        assert ObjectParser(Pod.resource).read(raw).head.name == "5"  # as lenient as all other decoding
        return
    with pytest.raises(DecodeError, match="Pod"):
        ObjectParser(Pod.resource).read(raw)


SECRET = {"apiVersion": "v1", "data": {"password": "aHVudGVyMg=="}, "kind": "Secret", "metadata": {"name": "a"}}


def test_a_message_about_an_object_has_no_value_of_it() -> None:
    def transform(document: dict[str, Any]) -> dict[str, Any]:
        int(document["data"]["password"])
        return document

    def message(error: type[Exception], function: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(error) as raised:
            function(*arguments)
        assert raised.value.__cause__ is None
        return str(raised.value)

    raw = to_bytes(SECRET)
    parser = ObjectParser(Secret.resource, transform=transform)
    assert message(DecodeError, parser.read, raw) == "the transform failed for Secret a: ValueError"
    nameless = to_bytes({**SECRET, "metadata": {}})
    texts = [
        message(DecodeError, ObjectParser(Secret.resource).read, nameless),
        message(WatchBroken, split_event, raw[:-1]),
        message(WatchBroken, mark_of, b'{"data":{"password":"aHVudGVyMg=="},"metadata":1}'),
        status_of(raw[:-1]).message,
        message(TransportError, split_list, raw[:-1]),
        message(DecodeError, members, b'{"data":"aHVudGVyMg==" "}'),
        message(DecodeError, members, b'"aHVudGVyMg=="'),
    ]
    for begun in (raw[:-1], b'{"items":[' + raw[:-1]):
        splitter = ListSplitter()
        splitter.feed(begun)
        texts.append(message(WatchBroken, splitter.finish))
    for text in texts:
        assert "aHVudGVyMg" not in text, text
    assert any("bytes of JSON with the kind Secret" in text for text in texts)


def test_a_message_about_text_of_a_proxy_shows_its_beginning() -> None:
    assert excerpt(b"<html>502 Bad Gateway") == "21 bytes that begin with b'<html>502 Bad Gateway'"

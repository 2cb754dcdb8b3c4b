"""Lists are split exactly, whatever they hold and however they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.cache.errors import WatchBroken
from setpoint.cache.list_splitter import ListSplitter

TRICKY = st.sampled_from(
    ['},{"metadata":{', "}]", '"', "\\", "\\\\", '\\"', "{", "}", "[", "]", "items", ",", "é", "\n"]
)
TEXT = st.lists(TRICKY | st.text(max_size=3), max_size=4).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)
ITEMS = st.lists(st.dictionaries(st.just("metadata") | TEXT, JSON, max_size=3), max_size=6)


def split(body: bytes, size: int) -> tuple[list[bytes], Any]:
    splitter = ListSplitter()
    items = []
    for place in range(0, len(body), size):
        items += splitter.feed(body[place : place + size])
    last, envelope = splitter.finish()
    return items + last, envelope


@given(
    items=ITEMS,
    size=st.integers(1, 400),
    compact=st.booleans(),
    sort=st.booleans(),
    unicode=st.booleans(),
    header=st.dictionaries(
        st.just("other") | TEXT.filter(lambda name: name not in ("items", "metadata", "kind", "apiVersion")), JSON
    ),
)
def test_any_list_in_any_chunks_gives_its_items(
    items: list[Any], size: int, compact: bool, sort: bool, unicode: bool, header: dict[str, Any]
) -> None:
    document = {**header, "kind": "PodList", "metadata": {"resourceVersion": "7", "continue": "t"}, "items": items}
    body = json.dumps(
        document, separators=(",", ":") if compact else None, sort_keys=sort, ensure_ascii=not unicode
    ).encode()
    result, envelope = split(body, size)
    assert [json.loads(item) for item in result] == items
    assert (envelope.metadata.resource_version, envelope.metadata.continue_) == ("7", "t")


def test_items_are_given_as_soon_as_the_next_one_begins() -> None:
    body = json.dumps({"items": [{"metadata": {"name": str(n)}} for n in range(100)]}, separators=(",", ":")).encode()
    splitter = ListSplitter()
    assert len(splitter.feed(body[: len(body) // 2])) in range(47, 51)


def test_lookalikes_inside_an_object_are_not_where_it_ends() -> None:
    claims = [{"metadata": {"name": f"claim-{n}"}} for n in range(40)]
    items = [{"metadata": {"name": "a"}, "spec": {"volumeClaimTemplates": claims}}, {"metadata": {"name": "b"}}] * 3
    result, _ = split(json.dumps({"items": items}, separators=(",", ":")).encode(), 4096)
    assert [json.loads(item) for item in result] == items


def test_a_list_without_anything_in_common_is_not_held_back() -> None:
    items = [{f"key-{n}": "x" * 100_000} for n in range(40)]
    splitter = ListSplitter()
    body = json.dumps({"items": items}, separators=(",", ":")).encode()
    early = []
    for place in range(0, len(body), 65536):
        early += splitter.feed(body[place : place + 65536])
    assert len(early) > 15
    last, _ = splitter.finish()
    assert [json.loads(item) for item in early + last] == items


@pytest.mark.parametrize(
    "body", [b'{"items":null,"metadata":{"resourceVersion":"3"}}', b'{"metadata":{"resourceVersion":"3"}}']
)
def test_an_absent_list_is_an_empty_one(body: bytes) -> None:
    items, envelope = split(body, 7)
    assert items == []
    assert envelope.metadata.resource_version == "3"


@pytest.mark.parametrize("cut", [1, 10, 30, 60, 75])
def test_a_list_that_breaks_off_is_an_error(cut: int) -> None:
    body = b'{"kind":"PodList","metadata":{"resourceVersion":"3"},"items":[{"a":1},{"a":2}]}'
    with pytest.raises(WatchBroken):
        split(body[:-cut], 16)


class Endless:
    """Bytes that come in small pieces, until the reader stops."""

    def __init__(self, head: bytes, piece: bytes) -> None:
        self.said = 0
        self.head, self.piece = head, piece

    def feed(self, splitter: ListSplitter, most: int) -> None:
        splitter.feed(self.head)
        while self.said < most:
            splitter.feed(self.piece)
            self.said += len(self.piece)


@pytest.mark.parametrize(
    ("head", "piece", "most", "why"),
    [
        (b'{"kind":"PodList","metadata":{"x":"', b"y" * 65536, 8 << 20, "no items at the beginning"),
        (b'{"kind":"PodList","items":[{"metadata":{"x":"', b"y" * 65536, 4 << 20, "an item of a list is longer"),
        (b'{"kind":"PodList","items":[{"metadata":{"x":', b"[" * 65536, 4 << 20, "an item of a list is longer"),
    ],
)
def test_a_list_that_never_comes_to_its_point_is_refused(
    head: bytes, piece: bytes, most: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setpoint.cache.list_splitter.MAX_LINE", 1 << 20)
    with pytest.raises(WatchBroken, match=why):
        Endless(head, piece).feed(ListSplitter(), most)


def test_an_item_that_comes_a_byte_at_a_time_is_not_looked_at_with_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    split = ListSplitter._split

    def counted(self: ListSplitter, data: bytes, items: list[bytes]) -> int:
        looked.append(len(data))
        return split(self, data, items)

    monkeypatch.setattr(ListSplitter, "_split", counted)
    splitter = ListSplitter()
    splitter.feed(b'{"kind":"PodList","items":[{"metadata":{"x":"' + b"y" * 70_000)
    for _ in range(200_000):
        splitter.feed(b"y")
    assert len(looked) < 20
    items = splitter.feed(b'"}}],"metadata":{}}')
    last, envelope = splitter.finish()
    assert [len(item) for item in items + last] == [21 + 270_000]
    assert envelope.kind == "PodList"


@pytest.mark.parametrize("levels", [1_000, 10_000, 50_000])
@pytest.mark.parametrize("size", [100, 1 << 20])
def test_deep_items_are_cut_where_they_end(levels: int, size: int) -> None:
    deep = b'{"metadata":{"name":"a"},"x":%b1%b}' % (b'{"metadata":' * levels, b"}" * levels)
    flat = b'{"metadata":{"name":"b"},"x":[]}'
    body = b'{"kind":"PodList","items":[%b,%b,%b],"metadata":{"resourceVersion":"1"}}' % (deep, flat, deep)
    items, envelope = split(body, size)
    assert items == [deep, flat, deep]
    assert envelope.metadata.resource_version == "1"


@pytest.mark.parametrize("size", [100, 1 << 20])
def test_a_list_whose_own_metadata_nests_more_deeply_than_python_decodes_is_refused(size: int) -> None:
    deep = b'{"a":' * 300_000 + b"0" + b"}" * 300_000
    with pytest.raises(WatchBroken, match="not a complete list"):
        split(b'{"kind":"PodList","metadata":%b,"items":[]}' % deep, size)

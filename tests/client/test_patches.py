"""Nothing is lost: what is sent is the edit, applied to the JSON that was read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.client import PatchType, dynamic
from setpoint.client.line_framer import LineFramer, LineTooLong
from setpoint.client.patches import changes, edited, patch_between
from setpoint.meta import Resource, decode
from setpoint.patch import json_patch, merge_patch

from .conftest import Container, Thing

unknown = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text("xyz", min_size=1, max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)
extras = st.dictionaries(st.sampled_from(["new1", "new2"]), unknown, max_size=2)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=4))
    spec: dict[str, Any] = {
        **draw(extras),
        "containers": [{"name": name, **draw(extras)} | draw(st.sampled_from([{}, {"image": "i"}])) for name in names],
        **draw(st.sampled_from([{}, {"replicas": 1}, {"replicas": None}])),
        "options": draw(st.dictionaries(st.sampled_from("mno"), st.sampled_from("pq"), max_size=2)),
    }
    return {"metadata": {"name": "a", "resourceVersion": "5", **draw(extras)}, "spec": spec, **draw(extras)}


edits = st.lists(
    st.sampled_from(["image", "drop", "add", "swap", "replicas", "unset", "option", "no options", "label"]), max_size=5
)


def edit_model(thing: Thing, edit: str) -> None:
    spec = thing.spec
    match edit:
        case "image" if spec.containers:
            spec.containers[-1].image = "changed"
        case "drop" if spec.containers:
            spec.containers.pop(0)
        case "add" if all(container.name != "new" for container in spec.containers):
            spec.containers.insert(0, Container(name="new"))
        case "swap":
            spec.containers.reverse()
        case "replicas":
            spec.replicas = 7
        case "unset":
            spec.replicas = None
        case "option":
            spec.options["mine"] = "yes"
        case "no options":
            spec.options.clear()
        case "label":
            thing.labels["l"] = "v"


def edit_json(document: dict[str, Any], edit: str) -> None:
    """The same edit on plain JSON."""
    spec = document["spec"]
    match edit:
        case "image" if spec["containers"]:
            spec["containers"][-1]["image"] = "changed"
        case "drop" if spec["containers"]:
            spec["containers"].pop(0)
        case "add" if all(container["name"] != "new" for container in spec["containers"]):
            spec["containers"].insert(0, {"name": "new"})
        case "swap":
            spec["containers"].reverse()
        case "replicas":
            spec["replicas"] = 7
        case "unset":
            spec.pop("replicas", None)
        case "option":
            spec["options"]["mine"] = "yes"
        case "no options":
            spec["options"].clear()
        case "label":
            document["metadata"].setdefault("labels", {})["l"] = "v"


def without_nothing(value: Any) -> Any:
    """Null and empty known fields mean what their absence means."""
    spec = value["spec"]
    for name in ("containers", "options", "replicas"):
        if name in spec and not spec[name] and spec[name] != 0:
            del spec[name]
    return value


@settings(max_examples=120, deadline=None)
@given(documents(), edits)
def test_the_servers_result_is_the_edit_applied_to_the_original(document: dict[str, Any], steps: list[str]) -> None:
    raw = json.dumps(document).encode()
    thing = decode(Thing, raw)
    expected = json.loads(raw)
    for step in steps:
        edit_model(thing, step)
        edit_json(expected, step)
    change = changes(thing)
    result = json.loads(raw)
    if change is not None:
        kind, body = change
        patch = json.loads(body)
        apply = merge_patch.apply if kind is PatchType.MERGE else json_patch.apply
        result = apply(result, patch)
        assert b'"resourceVersion":"5"' in body or b"/metadata/resourceVersion" in body
    assert without_nothing(result) == without_nothing(expected)


plain = st.dictionaries(st.sampled_from("abc"), unknown, max_size=3)


@settings(max_examples=120, deadline=None)
@given(plain, plain)
def test_a_patch_leads_from_one_document_to_the_other(original: dict[str, Any], modified: dict[str, Any]) -> None:
    kind, patch = patch_between(original, modified)
    apply = merge_patch.apply if kind is PatchType.MERGE else json_patch.apply
    assert apply(original, patch) == modified


@settings(max_examples=120, deadline=None)
@given(plain, plain)
def test_an_edit_of_what_is_wholly_known_is_the_new_document(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert edited(before, before, after) == after


def test_no_change_is_no_patch() -> None:
    assert (
        changes(decode(Thing, b'{"metadata":{"name":"a","creationTimestamp":null},"spec":{"replicas":null}}')) is None
    )


def test_dropping_the_resource_version_drops_the_precondition() -> None:
    thing = decode(Thing, b'{"metadata":{"name":"a","resourceVersion":"5"}}')
    thing.metadata.resource_version = ""
    thing.labels["a"] = "b"
    change = changes(thing)
    assert change is not None
    assert json.loads(change[1]) == {"metadata": {"resourceVersion": None, "labels": {"a": "b"}}}


@settings(max_examples=120)
@given(st.lists(st.binary(max_size=6).map(lambda text: text.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_are_the_same_however_the_chunks_fall(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines) + b"rest"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    framer = LineFramer()
    current_lines = [
        line for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) for line in framer.feed(text[start:end])
    ]
    assert current_lines == [line for line in lines if line]
    assert framer.rest() == b"rest"


def test_a_huge_line_in_small_chunks_costs_no_square() -> None:
    framer = LineFramer()
    for _ in range(200_000):
        framer.feed(b"x" * 50)
    (line,) = framer.feed(b"\n")
    assert len(line) == 10_000_000


def test_a_line_without_end_is_refused() -> None:
    framer = LineFramer(limit=1000)
    framer.feed(b"x" * 500)
    framer.feed(b"x" * 500)
    with pytest.raises(LineTooLong):
        framer.feed(b"x")


@pytest.mark.parametrize("chunks", [[b"x" * 1001 + b"\n"], [b"x" * 600, b"x" * 401 + b"\n"], [b"a\n" + b"x" * 1001]])
def test_a_line_that_is_longer_than_the_limit_is_refused_even_if_it_ends_in_its_chunk(chunks: list[bytes]) -> None:
    framer = LineFramer(limit=1000)
    assert framer.feed(b"x" * 1000 + b"\n") == [b"x" * 1000]
    *first, last = chunks
    for chunk in first:
        framer.feed(chunk)
    with pytest.raises(LineTooLong):
        framer.feed(last)


def test_a_null_inside_a_list_is_sent_in_a_patch_that_keeps_it() -> None:
    """API servers drop nulls of objects inside the lists of merge patches."""
    original = {"spec": {"tiers": [{"name": "a"}]}}
    modified = {"spec": {"tiers": [{"name": "a", "limit": None}]}}
    kind, patch = patch_between(original, modified)
    assert kind is PatchType.JSON
    assert json_patch.apply(original, json_patch.decode(json.dumps(patch))) == modified


def test_true_in_place_of_one_is_a_change_although_they_are_equal_in_python() -> None:
    """In an object without a class of its own, or in a field of any JSON."""
    kind = dynamic(Resource(group="example.com", version="v1", kind="Note", plural="notes"))
    raw = b'{"metadata":{"name":"a","resourceVersion":"5"},"spec":{"on":1,"same":2,"list":[0]}}'
    obj = decode(kind, raw)
    obj["spec"]["on"], obj["spec"]["list"] = True, [False]
    change = changes(obj)
    assert change is not None
    assert json.loads(change[1]) == {"metadata": {"resourceVersion": "5"}, "spec": {"on": True, "list": [False]}}
    assert b"true" in change[1]

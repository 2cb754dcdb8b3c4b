from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.patch.json_patch import MAX_OPERATIONS, PatchError, TestFailed, TooManyOperations, apply, decode


def op(kind: str, path: str, **rest: Any) -> dict[str, Any]:
    if "source" in rest:
        rest["from"] = rest.pop("source")
    return {"op": kind, "path": path, **rest}


# Appendix A of RFC 6902, and what it leaves open.
WORKS = {
    "A.1 add a member": ({"foo": "bar"}, [op("add", "/baz", value="qux")], {"baz": "qux", "foo": "bar"}),
    "A.2 add an element": ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", value="qux")], {"foo": ["bar", "qux", "baz"]}),
    "A.3 remove a member": ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
    "A.4 remove an element": ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
    "A.5 replace": ({"baz": "qux", "foo": "bar"}, [op("replace", "/baz", value="boo")], {"baz": "boo", "foo": "bar"}),
    "A.6 move a value": (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [op("move", "/qux/thud", source="/foo/waldo")],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    "A.7 move an element": (
        {"foo": ["all", "grass", "cows", "eat"]},
        [op("move", "/foo/3", source="/foo/1")],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    "A.8 test": (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [op("test", "/baz", value="qux"), op("test", "/foo/1", value=2)],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    "A.10 add a nested object": (
        {"foo": "bar"},
        [op("add", "/child", value={"grandchild": {}})],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    "A.11 ignore unknown members": (
        {"foo": "bar"},
        [op("add", "/baz", value="qux", xyz=123)],
        {"foo": "bar", "baz": "qux"},
    ),
    "A.14 escapes in order": ({"/": 9, "~1": 10}, [op("test", "/~01", value=10)], {"/": 9, "~1": 10}),
    "A.16 add a list": (
        {"foo": ["bar"]},
        [op("add", "/foo/-", value=["abc", "def"])],
        {"foo": ["bar", ["abc", "def"]]},
    ),
    "add replaces a member": ({"a": 1}, [op("add", "/a", value=2)], {"a": 2}),
    "replace the document": ({"a": 1}, [op("replace", "", value={"b": 2})], {"b": 2}),
    "add at the end by index": ([1], [op("add", "/1", value=2)], [1, 2]),
    "add into the empty list": ({"a": []}, [op("add", "/a/0", value=1)], {"a": [1]}),
    "add null": ({}, [op("add", "/a", value=None)], {"a": None}),
    "replace by null": ({"a": 1}, [op("replace", "/a", value=None)], {"a": None}),
    "replace false": ({"a": False}, [op("replace", "/a", value=0)], {"a": 0}),
    "the empty name": ({"": 1}, [op("replace", "/", value=2)], {"": 2}),
    "a name that looks like an index": ({"a": {"0": 1}}, [op("replace", "/a/0", value=2)], {"a": {"0": 2}}),
    "a name that is a dash": ({"a": {}}, [op("add", "/a/-", value=2)], {"a": {"-": 2}}),
    "escaped names": ({}, [op("add", "/a~1b~0c", value=1)], {"a/b~c": 1}),
    "move to the same place": ({"a": 1}, [op("move", "/a", source="/a")], {"a": 1}),
    "move to the parent": ({"a": {"b": 1}}, [op("move", "/a", source="/a/b")], {"a": 1}),
    "move up a list": ({"a": [1, [2, 3]]}, [op("move", "/a", source="/a/1")], {"a": [2, 3]}),
    "test null": ({"a": None}, [op("test", "/a", value=None)], {"a": None}),
    "test a missing member for null": ({}, [op("test", "/a", value=None)], {}),
    "replace adds a missing member": ({"a": {}}, [op("replace", "/a/b", value=1)], {"a": {"b": 1}}),
    "copy a missing member": ({"a": {}}, [op("copy", "/b", source="/a/c")], {"a": {}, "b": None}),
    "add without a value": ({}, [op("add", "/a")], {"a": None}),
    "replace without a value": ({"a": 1}, [op("replace", "/a")], {"a": None}),
    "test without a value": ({}, [op("test", "/a")], {}),
    "what precedes the first slash is ignored": ({"a": 1}, [op("replace", "b/a", value=2)], {"a": 2}),
    "an index with a sign or zeros": ({"a": [1, 2]}, [op("replace", "/a/+01", value=3)], {"a": [1, 3]}),
    "test objects in any order": (
        {"a": {"b": 1, "c": 2}},
        [op("test", "/a", value={"c": 2, "b": 1})],
        {"a": {"b": 1, "c": 2}},
    ),
    "negative index from the end": ({"a": [1, 2]}, [op("replace", "/a/-1", value=3)], {"a": [1, 3]}),
    "test by negative index": ({"a": ["x"]}, [op("test", "/a/-1", value="x")], {"a": ["x"]}),
    "remove by negative index": ({"a": [1, 2, 3]}, [op("remove", "/a/-2")], {"a": [1, 3]}),
    "add by negative index": ({"a": [1, 2]}, [op("add", "/a/-1", value=3)], {"a": [1, 2, 3]}),
    "no operation": ({"a": 1}, [], {"a": 1}),
    "operations see the ones before": (
        {},
        [op("add", "/a", value={}), op("add", "/a/b", value=1), op("copy", "/c", source="/a"), op("remove", "/a/b")],
        {"a": {}, "c": {"b": 1}},
    ),
}
FAILS = {
    "A.9 test": ({"baz": "qux"}, op("test", "/baz", value="bar"), TestFailed),
    "A.12 add to a missing parent": ({"foo": "bar"}, op("add", "/baz/bat", value="qux"), PatchError),
    "A.15 text is not a number": ({"/": 9, "~1": 10}, op("test", "/~01", value="10"), TestFailed),
    "true is not one": ({"a": 1}, op("test", "/a", value=True), TestFailed),
    "test a missing member": ({}, op("test", "/a", value=1), TestFailed),
    "test below a missing member": ({}, op("test", "/a/b", value=None), PatchError),
    "remove a missing member": ({}, op("remove", "/a"), PatchError),
    "remove a missing element": ({"a": [1]}, op("remove", "/a/1"), PatchError),
    "remove the document": ({}, op("remove", ""), PatchError),
    "replace at the dash": ({"a": [1]}, op("replace", "/a/-", value=1), PatchError),
    "add beyond the end": ({"a": [1]}, op("add", "/a/3", value=1), PatchError),
    "negative index too far": ({"a": [1]}, op("replace", "/a/-2", value=1), PatchError),
    "not an index": ({"a": [1]}, op("replace", "/a/x", value=1), PatchError),
    "digits of other scripts": ({"a": [1, 2]}, op("replace", "/a/١", value=1), PatchError),
    "below a scalar": ({"a": 1}, op("add", "/a/b", value=1), PatchError),
    "move into itself": ({"a": {"b": 1}}, op("move", "/a/b/c", source="/a"), PatchError),
    "move what is missing": ({}, op("move", "/a", source="/b"), PatchError),
    "no slash": ({"a": 1}, op("replace", "a", value=1), PatchError),
    "add replaces the document": ({"a": 1}, op("add", "", value=[1]), PatchError),
    "copy the document into itself": ({"a": 1}, op("copy", "/b", source=""), PatchError),
    "copy below a missing member": ({"a": {}}, op("copy", "/b", source="/c/d"), PatchError),
    "replace below a missing member": ({"a": {}}, op("replace", "/c/d", value=1), PatchError),
    "replace the document by a scalar": ({"a": 1}, op("replace", "", value=1), PatchError),
    "no path": ({"a": 1}, {"op": "remove"}, PatchError),
    "no source": ({"a": 1}, op("move", "/a"), PatchError),
    "unknown operation": ({"a": 1}, op("merge", "/a", value=1), PatchError),
    "no operation named": ({"a": 1}, {"path": "/a"}, PatchError),
}


@pytest.mark.parametrize("name", WORKS)
def test_operations_give_what_the_rfc_says(name: str) -> None:
    document, operations, wanted = WORKS[name]
    before = copy.deepcopy((document, operations))
    assert apply(document, operations) == wanted
    assert (document, operations) == before


@pytest.mark.parametrize("name", FAILS)
def test_impossible_operations_fail_as_a_whole(name: str) -> None:
    document, operation, error = FAILS[name]
    before = copy.deepcopy(document)
    with pytest.raises(PatchError) as caught:
        apply(document, [op("replace", "", value=document), operation])
    assert type(caught.value) is error
    assert document == before


@pytest.mark.parametrize("patch", [{"op": "add"}, "x", [1]])
def test_what_is_not_a_patch_is_refused(patch: Any) -> None:
    with pytest.raises(PatchError):
        apply({}, patch)


def test_too_many_operations_are_refused() -> None:
    operation = op("add", "/a", value=1)
    assert apply({}, [operation] * MAX_OPERATIONS) == {"a": 1}
    with pytest.raises(TooManyOperations, match=r"maximum operations in a JSON patch is 10000, got 10001"):
        apply({}, [operation] * (MAX_OPERATIONS + 1))


def test_copies_can_not_blow_up() -> None:
    bomb = [op("copy", "/a/-", source="/a") for _ in range(40)]
    with pytest.raises(PatchError, match="accumulated size increase of copy"):
        apply({"a": ["x"]}, bomb)


def test_recorded_answers_of_the_library_of_api_servers() -> None:
    """Random patches and what gopkg.in/evanphx/json-patch.v4 made of them."""
    for case in json.loads((Path(__file__).parent / "json_patch_recorded.json").read_text("utf-8")):
        try:
            answer = {"result": apply(case["doc"], decode(case["patch"]))}
        except PatchError as error:
            answer = {"error": str(error)}
        assert answer == {key: case[key] for key in ("result", "error") if key in case}, case["patch"]


@pytest.mark.parametrize(
    ("document", "text", "equal"),
    [
        (1, "1", True),
        (1, "1.0", False),
        (1000, "1e3", False),
        (2.5, "2.5", True),
        (1e-7, "1e-7", True),
        (1e-7, "0.0000001", False),
        ("a&b", '"a\\u0026b"', True),
        ("a&b", '"a&b"', False),
        ("ü", '"ü"', True),
        ("ü", '"\\u00fc"', False),
        ([1, {"b": "<"}], '[ 1, {"\\u0062": "\\u003c"} ]', True),
    ],
)
def test_strings_and_numbers_are_compared_as_go_writes_them(document: Any, text: str, equal: bool) -> None:
    patch = decode('[{"op":"test","path":"/a","value":' + text + "}]")
    if equal:
        assert apply({"a": document}, patch) == {"a": document}
        return
    with pytest.raises(TestFailed):
        apply({"a": document}, patch)


@pytest.mark.parametrize("text", ["{}", '"x"', "[1]", "[", '[{"op": "add"}] x'])
def test_texts_that_are_not_patches_are_refused(text: str) -> None:
    with pytest.raises(PatchError):
        decode(text)


documents = st.recursive(
    st.one_of(st.none(), st.integers(0, 3), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "~", "/"]), inner)),
    max_leaves=8,
)
pointers = st.lists(st.sampled_from(["a", "b", "~0", "~1", "0", "1", "-", "-1"]), max_size=3).map(
    lambda tokens: "".join("/" + token for token in tokens)
)
operations = st.one_of(
    st.builds(lambda path, value: op("add", path, value=value), pointers, documents),
    st.builds(lambda path, value: op("replace", path, value=value), pointers, documents),
    st.builds(lambda path: op("remove", path), pointers),
    st.builds(lambda path, source: op("move", path, source=source), pointers, pointers),
    st.builds(lambda path, source: op("copy", path, source=source), pointers, pointers),
)


@settings(deadline=None, max_examples=60)
@given(documents.filter(lambda value: isinstance(value, dict | list)), st.lists(operations, max_size=6))
def test_inputs_never_change_and_parts_are_never_confused(document: Any, patch: list[dict[str, Any]]) -> None:
    before = copy.deepcopy((document, patch))
    try:
        result = apply(document, patch)
    except PatchError:
        result = None
    else:
        # one by one, each time on a copy of its own, gives the same
        slow = copy.deepcopy(document)
        for operation in patch:
            slow = apply(copy.deepcopy(slow), [copy.deepcopy(operation)])
        assert result == slow
        assert apply(document, decode(json.dumps(patch))) == result
    assert (document, patch) == before

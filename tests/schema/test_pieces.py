from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.schema import body, decode_valid, parse_json, pieces
from setpoint.slices import Slicer

NAMES = st.sampled_from(["a", "b", "c", 'a"', "{,", "é", "\\"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES
NOISE = st.sampled_from([*'{}[],:"\\ x0\n', "", '"a":1,', '"a":{"b":[', "[" * 30])


def containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fields = st.lists(st.tuples(NAMES, values), max_size=6)
    return st.lists(values, max_size=6).map(lambda items: f"[{','.join(items)}]") | fields.map(
        lambda pairs: "{" + " , ".join(f"{json.dumps(name)}: {value}" for name, value in pairs) + "}"
    )


DOCUMENTS = st.recursive(LEAVES.map(json.dumps), containers, max_leaves=30)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(DOCUMENTS)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(NOISE) + text[at + draw(st.integers(0, 2)) :]
    return text


def outcome(text: str) -> Any:
    try:
        value, repeated = parse_json(text)
    except json.JSONDecodeError as problem:
        return problem.msg, problem.pos, problem.doc == text
    return json.dumps(value), repeated


@given(damaged(), st.integers(1, 20))
def test_a_text_that_is_decoded_in_pieces_has_the_value_repeats_and_error_of_the_whole(text: str, length: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body, "LONG", 1 << 60)
        whole = outcome(text)
        patch.setattr(body, "LONG", 0)
        patch.setattr(pieces, "_PIECE", length)
        assert outcome(text) == whole


def many(field: str, count: int) -> str:
    """An object with many fields; ``$`` is the number of each."""
    return "{" + ",".join(field.replace("$", str(number)) for number in range(count)) + "}"


LONG_TEXTS = {
    "fields": many('"a$":"b"', 40_000),
    "fields in a field": '{"a":{"b":[' + many('"a$":{"b":[]}', 40_000) + "]}}",
    "numbers": f"[{','.join(map(str, range(100_000)))}]",
    "strings of escapes": json.dumps(["\n\u00e9\\" * 1_000] * 100),
    "one string of escapes": json.dumps({"a": '"\\' * 200_000, "b": [1]}),
    "spaces": f'{{"a":{" " * 300_000}1,"b":{" " * 300_000}2}}',
    "empty objects": f"[{','.join(['{}'] * 100_000)}]",
    "a string with some escapes": json.dumps(["a" * 10_000 + "\n"] * 100 + [("b" * 10_000 + "\n") * 300]),
    "numbers and few strings": json.dumps([[1] * 2_000 + ["a\u00e9"]] * 60),
    "lists in lists": f"[{','.join(['[[[[[[[[]]]]]]]]'] * 20_000)}]",
}


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_a_long_text_is_decoded_completely(text: str) -> None:
    assert parse_json(text) == (json.loads(text), [])


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_other_work_can_run_while_a_long_text_is_decoded(text: str) -> None:
    pytest.importorskip("greenlet", reason="without it, work is done in one slice")
    work = Slicer().start(lambda: parse_json(text), may_pause=lambda: True)
    slices = 1
    while not work.go():
        slices += 1
    assert work.result == (json.loads(text), [])
    assert slices > len(text) >> 18
    unfinished = Slicer().start(lambda: parse_json(text), may_pause=lambda: True)
    assert not unfinished.go()
    unfinished.close()


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_valid_json_has_the_same_value_in_slices_and_outside(text: str) -> None:
    work = Slicer().start(lambda: decode_valid(text.encode()), may_pause=lambda: True)
    while not work.go():
        pass
    assert work.result == decode_valid(text.encode()) == json.loads(text)


def test_repeats_in_different_pieces_of_a_text_are_told_in_the_order_of_the_text() -> None:
    text = '{"a":' + many('"$":[$]', 30_000)[:-1] + ',"7":1,"29999":{},"3":2,"7":3}}'
    value, repeated = parse_json(text)
    assert value == json.loads(text)
    assert repeated == ["a.7", "a.29999", "a.3"]


class Lengths(body._Objects):
    """Notes the lengths of the pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def decode(self, text: str) -> Any:
        self.lengths.append(len(text))
        return super().decode(text)


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_no_piece_is_long_but_those_with_long_strings_or_spaces(name: str) -> None:
    text, objects = LONG_TEXTS[name], Lengths()
    assert pieces.decode_in_pieces(text, objects) == json.loads(text)
    few = {"one string of escapes": 1, "spaces": 2, "a string with some escapes": 1}.get(name, 0)
    assert sum(length > pieces._PIECE + 300 for length in objects.lengths) == few
    assert sum(objects.lengths) < len(text) + 300 * len(objects.lengths) < 1.1 * len(text)


def test_halves_of_surrogate_pairs_are_replaced_wherever_they_are_in_a_long_text() -> None:
    escapes = "\\n" * 1_000 + "a" * 1_000 + "\\u0041\\\\ud800" * 100
    text = "[" + ",".join([f'"\\ud800{escapes}\\udc00\\ud83d\\ude00{escapes}\\uD800\\n"'] * 50) + "]"
    plain = "\n" * 1_000 + "a" * 1_000 + "A\\ud800" * 100
    assert parse_json(text) == ([f"\ufffd{plain}\ufffd\U0001f600{plain}\ufffd\n"] * 50, [])


def test_of_many_or_long_paths_of_repeated_fields_the_first_are_told() -> None:
    repeats = [f'{{"{number}":1,"{number}":2}}' for number in range(20_000)]
    value, paths = parse_json(f"[{','.join(repeats)}]")
    assert value == [{str(number): 2} for number in range(20_000)]
    assert paths == [f"[{number}].{number}" for number in range(100)]
    _, paths = parse_json(f'{{"{"a" * 500_000}":[{",".join(repeats)}]}}')
    assert [path.strip("a") for path in paths] == ["[0].0", "[1].1", "[2].2"]
    assert parse_json('{"":{"a":1,"a":2}}')[1] == [".a"]


@pytest.mark.parametrize("text", ["[" * 1_000_000, '{"a":' * 200_000, '"' * 1_000_001, '{"a' * 200_000])
def test_a_long_text_of_openings_fails_like_a_short_one(text: str) -> None:
    with pytest.raises((RecursionError, json.JSONDecodeError)) as long:
        parse_json(text)
    with pytest.raises((RecursionError, json.JSONDecodeError)) as short:
        parse_json(text[:60_001])
    assert str(long.value) == str(short.value)

"""Long JSON texts are read completely, and what is wrong with them is named as for short ones."""

from __future__ import annotations

import json
import re

import pytest

from setpoint.schema import parse_json


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


def test_repeats_that_are_far_apart_are_named_in_the_order_of_the_text() -> None:
    text = '{"a":' + many('"$":[$]', 30_000)[:-1] + ',"7":1,"29999":{},"3":2,"7":3}}'
    value, repeated = parse_json(text)
    assert value == json.loads(text)
    assert repeated == ["a.7", "a.29999", "a.3"]


def test_halves_of_surrogate_pairs_are_replaced_wherever_they_are_in_a_long_text() -> None:
    escapes = "\\n" * 1_000 + "a" * 1_000 + "\\u0041\\\\ud800" * 100
    text = "[" + ",".join([f'"\\ud800{escapes}\\udc00\\ud83d\\ude00{escapes}\\uD800\\n"'] * 50) + "]"
    plain = "\n" * 1_000 + "a" * 1_000 + "A\\ud800" * 100
    assert parse_json(text) == ([f"\ufffd{plain}\ufffd\U0001f600{plain}\ufffd\n"] * 50, [])


def test_of_many_or_long_paths_of_repeated_fields_the_first_are_named() -> None:
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
        parse_json(text[:400_001])
    # From Python 3.14 on, a RecursionError says how large the stack is, in another number each time.
    words = [re.sub(r"\d+ kB", "N kB", str(error.value)) for error in (long, short)]
    assert words[0] == words[1]


@pytest.mark.parametrize("text", ['{"data": {"a": "%s", "a": "b"}}', '{"data": {"%s": "1", "b": "2", "b" : "3"}}'])
def test_fields_given_twice_are_found_beside_long_strings(text: str) -> None:
    _, repeated = parse_json(text.replace("%s", 'x\\" : {,:' * 20_000))
    assert len(repeated) == 1


@pytest.mark.parametrize("indent", [None, 1])
def test_a_large_body_is_read_alike_whatever_stands_between_its_values(indent: int | None) -> None:
    data = {"a": "b", "c": {"d": [{"e": '\\": \u00fc', "f": {}}, [], "x:y"]}, "g": "z" * 200_000}
    assert parse_json(json.dumps(data, indent=indent, ensure_ascii=False).encode()) == (data, [])

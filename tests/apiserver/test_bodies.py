from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from setpoint.apiserver.requests.body import JSON_TYPE, parse_document
from setpoint.meta.yaml_parser import parse_yaml
from setpoint.schema import parse_json
from setpoint.schema.json_body import _NOT_SIMPLE

TEXTS = st.sampled_from(["", "a", "b", ":", "é:", "\\", '"', "\\u003a", "\n"])
SPACES = st.sampled_from(["", " ", "\n\t"])


@st.composite
def written(draw: st.DrawFn) -> str:
    """A JSON value as text: with spaces, escapes, numbers of any form, and fields that occur twice."""

    def text() -> str:
        given = draw(TEXTS)
        if draw(st.booleans()):
            return json.dumps(given, ensure_ascii=False)
        return '"' + "".join(f"\\u{ord(character):04x}" for character in given) + '"'

    def value(depth: int) -> str:
        kind = draw(st.sampled_from(["text", "number", "object", "object", "list"] if depth else ["text", "number"]))
        if kind == "text":
            return text()
        if kind == "number":
            return draw(st.sampled_from(["1", "1.0", "-0", "1e5", "18446744073709551616", "null", "true"]))
        space = draw(SPACES)
        count = range(draw(st.integers(0, 3)))
        if kind == "list":
            return f"[{space}{f',{space}'.join(value(depth - 1) for _ in count)}]"
        return f"{{{space}{f',{space}'.join(f'{text()}{space}:{space}{value(depth - 1)}' for _ in count)}}}{space}"

    return value(3)


@settings(deadline=None, max_examples=150)
@given(written())
@example('{"a":1,"a":2}')
@example('{"a": 1, "a": "\\u003a"}')
@example('{"a": {"b": ":"}, "c": "\\\\:"}')
def test_a_json_body_is_read_alike_with_one_parser_and_with_two(text: str) -> None:
    body = text.encode()
    one = parse_document(body, JSON_TYPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setpoint.schema.json_body._simple", lambda _: _NOT_SIMPLE)
        other = parse_json(body)
    assert (repr(one[0]), one[1]) == (repr(other[0]), [f'duplicate field "{path}"' for path in other[1]])


def test_the_fast_parser_is_tried_once_for_a_short_body(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    monkeypatch.setattr("setpoint.schema.json_body._simple", lambda text: tried.append(text) or _NOT_SIMPLE)
    assert parse_json(b'{"a": "\\u0041"}') == ({"a": "A"}, [])
    assert len(tried) == 1


@pytest.mark.parametrize("part", ["{}", "[]", "{a: {}}", "[[]]"])
def test_an_alias_in_yaml_is_a_part_of_its_own_even_if_it_is_empty(part: str) -> None:
    result: Any
    result, _ = parse_yaml(f"one: &part {part}\nother: *part\n".encode())
    assert result["one"] == result["other"]
    assert result["one"] is not result["other"]

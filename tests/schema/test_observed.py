"""The answers of the libraries of kube-apiserver 1.37.1 for random schemas and values, and for texts in each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from setpoint.schema import structural, validate
from setpoint.schema.formats import matches_format

HERE = Path(__file__).parent


def observed(name: str) -> Any:
    return json.loads((HERE / f"observed_{name}.json").read_text("utf-8"))


def test_values_are_accepted_and_refused_with_the_observed_errors() -> None:
    """The order of errors is not compared: upstream, the fields of an object come in random order."""
    for case in observed("validation"):
        errors = validate(structural.load(case["schema"]), case["value"])
        assert sorted(map(str, errors)) == case["errors"], case


@pytest.mark.parametrize("name", sorted(observed("formats")))
def test_formats_accept_the_observed_texts(name: str) -> None:
    texts = observed("formats")[name]
    assert {text: matches_format(name, text) for kind in texts.values() for text in kind} == {
        text: kind == "valid" for kind in texts for text in texts[kind]
    }


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"format": "ipv4"}, "x", False),
        ({"format": "ipv4"}, 5, False),
        ({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}, "x", False),
        ({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}, "::1", True),
        ({"type": "string", "not": {"format": "ipv4"}}, "1.2.3.4", False),
        ({"x-kubernetes-int-or-string": True, "format": "ipv4"}, "x", False),
        ({"format": "i-p-v4"}, "x", False),
        ({"format": "unknown"}, 5, True),
        ({"type": "integer", "format": "ipv4"}, 5, True),
    ],
)
def test_a_format_counts_where_the_type_may_be_a_string(schema: dict[str, Any], value: Any, valid: bool) -> None:
    assert (not validate(structural.load(schema), value)) is valid


@pytest.mark.parametrize("name", sorted(observed("formats")))
def test_no_text_keeps_the_check_of_a_format_busy(name: str) -> None:
    """With several ways to match the same letters, 30 of a host name took forever."""
    parts = ("a", "1", "1 ", "a-", ".a", "a@", ":", "1h", "1.", "< ", " ", "-", "[", "%")
    for text in (
        start + part * count + end
        for start in ("", "a", "x:")
        for part in parts
        for count in (60, 100_000)
        for end in ("", "!")
    ):
        matches_format(name, text)

"""Plain scalars as sigs.k8s.io/yaml 1.6 resolves them, the reader of API servers and kubectl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from setpoint.meta.yaml_parser import parse_yaml

OBSERVED = json.loads((Path(__file__).parent / "observed_yaml_scalars.json").read_text("utf-8"))
VALUES: dict[str, Any] = OBSERVED["values"]
REFUSED: list[str] = OBSERVED["refused"]
KEYS: dict[str, str] = OBSERVED["keys"]


@pytest.mark.parametrize("text", VALUES)
def test_a_scalar_has_the_observed_value(text: str) -> None:
    value = parse_yaml(f"a: {text}".encode())[0]["a"]
    assert value == VALUES[text]
    assert type(value) is type(VALUES[text])


@pytest.mark.parametrize("text", REFUSED)
def test_a_scalar_is_refused_as_observed(text: str) -> None:
    with pytest.raises(ValueError, match=r"^yaml: "):
        parse_yaml(f"a: {text}".encode())


@pytest.mark.parametrize("text", KEYS)
def test_a_key_has_the_observed_text(text: str) -> None:
    assert parse_yaml(f"{text}: a".encode())[0] == {KEYS[text]: "a"}


@pytest.mark.parametrize("text", ["~", "null", "9223372036854775808"])
def test_keys_that_json_cannot_have_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unsupported map key"):
        parse_yaml(f"{text}: a".encode())


def test_only_the_first_document_is_read() -> None:
    assert parse_yaml(b"a: 1\n---\nb: [") == ({"a": 1}, [])

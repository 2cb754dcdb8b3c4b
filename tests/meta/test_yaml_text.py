"""YAML: whatever text a document holds, kubectl and every other reader gets that text back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from setpoint.meta.yaml_text import to_yaml

KUBECTL = shutil.which("kubectl", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
TRAPS = (
    *("y", "n", "Y", "N", "yes", "no", "on", "off", "On", "OFF", "true", "False", "null", "Null", "~", "", " ", "nan"),
    *(".inf", "-.INF", ".nan", "=", "<<", "0777", "0o17", "0x1F", "0b11", "1_000", "1:30", "190:20:30", "1e3", "1."),
    *("2001-01-01", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", ".5", "+1", "0.0", "1" * 25),
    *("-", "?", ":", "- a", "? a", "a: b", "a #b", "#", "%", "@", "`a", "!a", "!!str", "&a", "*a", "|", ">", "x: |"),
    *("{", "}", "[", "]", "[a]", "{a: b}", ",", "'", '"', "\\", "a'b", 'a"b', "---", "...", "--- a", "a\n---\nb"),
    *("a\n...\nb", " a", "a ", "\ta", "a\t", "a\n", "\na", "a\n\n", "a\n\nb", "a\n b", "\n", "\n\n", "\r", "a\rb"),
    *("\r\n", "\x00", "\x07", "\x1b", "\x7f", "\x80", "\x85", "a\x85b", "\xa0", "\xad", "\u2028", "a\u2028b", "\u2029"),
    *("\ufeff", "a\ufeff", "\ufffe", "\uffff", "\U0001f600", "\U0010ffff", "e\u0301", "Ünicode", "日本", "\u200d"),
    *("a" * 200, "a " * 100, "a  b", "a\n# b\nc", "a\n  indented\nb"),
)
TEXTS = st.sampled_from(TRAPS) | st.text(max_size=30) | st.text(alphabet=" \n\t-:#ab'\"|>\r\x85\u2028", max_size=12)


def read_by_kubectl(text: str) -> list[Any]:
    """The documents that kubectl's own reader finds in a stream, without a server."""
    command = [str(KUBECTL), "patch", "--local", "--type", "json", "--patch", "[]", "-f", "-", "-o", "json"]
    ran = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    decoder, out, result = json.JSONDecoder(), ran.stdout.decode().strip(), []
    while out:
        document, end = decoder.raw_decode(out)
        result.append(document)
        out = out[end:].lstrip()
    return result


def document(texts: list[str]) -> dict[str, Any]:
    """A definition with each text where a class may put one: as field, default, enum value, description, list item."""
    properties = {
        text: {"type": "string", "description": text, "default": text, "enum": [text, "other"], "x": {"deep": [[text]]}}
        for text in texts
    }
    schema = {"type": "object", "description": "\n".join(texts), "properties": properties, "required": texts}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a.b.c"}}
    return {**head, "spec": {"versions": [version]}}


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")
@settings(max_examples=15)  # each asks a process; many texts at once
@given(st.lists(TEXTS, max_size=60, unique=True))
@example(list(TRAPS))
def test_kubectl_gets_back_every_text_in_every_place(texts: list[str]) -> None:
    meant = [document(texts), document(texts[:1])]
    assert read_by_kubectl(to_yaml(meant)) == meant


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


@given(VALUES)
def test_a_reader_of_yaml_1_1_gets_back_every_json_value(value: Any) -> None:
    (read,) = yaml.safe_load_all(to_yaml([{"value": value}]))
    assert read == {"value": value}
    assert repr(read) == repr({"value": value})


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")
@settings(max_examples=15)
@given(st.lists(VALUES, max_size=10))
def test_kubectl_gets_back_every_json_value(values: list[Any]) -> None:
    (read,) = read_by_kubectl(to_yaml([{"apiVersion": "a.b/v1", "kind": "A", "metadata": {}, "values": values}]))
    assert as_go_counts(read["values"]) == as_go_counts(values)


def as_go_counts(value: Any) -> Any:
    """kubectl writes a whole number that was a float, such as 1e17, without its point: the same JSON value."""
    if isinstance(value, list):
        return [as_go_counts(item) for item in value]
    if isinstance(value, dict):
        return {key: as_go_counts(one_value) for key, one_value in value.items()}
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def test_a_field_named_n_stays_one() -> None:
    assert to_yaml([{"n": "y", "labels": ["on", "1e3", "0777", "plain words"]}]) == (
        '"n": "y"\nlabels:\n- "on"\n- "1e3"\n- "0777"\n- plain words\n'
    )


def test_a_description_of_several_lines_stays_readable() -> None:
    assert to_yaml([{"description": "The desired state.\n\nAs of today."}]) == (
        "description: |-\n  The desired state.\n\n  As of today.\n"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {None: 1}, b"bytes", {1, 2}, "\ud800", object()])
def test_what_is_no_json_value_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|key|surrogate"):
        to_yaml([{"value": [value]}])

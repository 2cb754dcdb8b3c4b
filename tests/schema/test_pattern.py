"""``observed_patterns.json`` is what Go 1.26's regexp said of these patterns: its refusal, or what it found."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from setpoint.schema import PatternError, Schema, compile_pattern, validate

OBSERVED = json.loads((Path(__file__).parent / "observed_patterns.json").read_text())


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\d+\z", "12", True),
        (r"^\d+$", "١", False),
        ("b", "abc", True),
        ("[[:alpha:]]+$", "ab", True),
        ("^[[:^digit:]]$", "a", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        ("(?i)^AB$", "ab", True),
        ("^(?i)AB$", "ab", True),
        ("(?i:A)b", "ab", True),
        ("(?s)^a.b$", "a\nb", True),
        ("(?U)^a+$", "aa", True),
        ("(?P<x>a)(?<y>b)", "ab", True),
        (r"^\pL+$", "é", True),
        (r"^\p{Greek}+$", "Σσ", True),
        (r"^[\p{Lu}x]$", "É", True),
        (r"^\PL$", "1", True),
        (r"^\pN$", "٣", True),
        (r"^\x41\x{42}$", "AB", True),
        ("^[]a]$", "]", True),
        ("^[^]a]$", "]", False),
        ("^a{2,3}$", "aaa", True),
        ("^a{,3}$", "a{,3}", True),
        ("^[a-z&&x]$", "&", True),
        (r"^a+?b*?$", "aab", True),
        ("(?m)^a$", "x\na\ny", True),
        ("^.$", "𝒳", True),
        ("^.$", "\ud800", True),
    ],
)
def test_patterns_mean_what_they_mean_to_the_server(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern).matches(text) is found


@pytest.mark.parametrize("observed", OBSERVED["patterns"], ids=lambda row: ascii(row[0]))
def test_patterns_find_and_fail_as_in_go(observed: list[Any]) -> None:
    pattern, expected = observed
    if isinstance(expected, str):
        with pytest.raises(PatternError) as refusal:
            compile_pattern(pattern)
        assert str(refusal.value) == expected
    else:
        compiled = compile_pattern(pattern)
        assert [compiled.find_all(text) for text in OBSERVED["texts"]] == expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=a)", "(?!a)", "(?<=a)", r"(a)\1", "(?>a)", "a++", "a**", "(", "[a", "a{1001}", "\\", r"\Z", "(?(1)a|b)"),
        *(r"\C", "a{1000000000000}", "(" * 1000 + ")" * 1000, "a" * 10_000, "(((a{10}){10}){10}){10}", "\ud800"),
    ],
)
def test_what_the_server_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="error parsing regexp"):
        compile_pattern(pattern)


def test_a_number_of_matches_is_asked_for() -> None:
    assert compile_pattern("a").find_all("aaa", 2) == ["a", "a"]
    assert compile_pattern("a").find_all("aaa", 0) == []
    assert compile_pattern("a").find("b") == ""


def test_no_pattern_keeps_the_server_busy() -> None:
    """A backtracking engine would not be done with these before the sun is: there is nothing to measure."""
    header = r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$"
    for pattern in ("^(a+)+$", "^(a|a)*$", "^(a*)*b", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", header):
        text = "a" * 100_000 + "!\n"
        assert validate(Schema(type="string", pattern=pattern), text)


def test_a_text_too_long_for_a_large_pattern_is_refused_unread() -> None:
    pattern = r"^\pL{1,63}$"
    schema = Schema(type="string", pattern=pattern)
    assert validate(schema, "é" * 63) == []
    (error,) = validate(schema, "a" * 1_000_000)
    assert "a string of 1000000 bytes is too long to be matched" in str(error)


def test_without_re2_a_pattern_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(PatternError, match=r"pip install google-re2"):
        compile_pattern("^never compiled before$")

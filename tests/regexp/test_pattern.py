"""``observed_patterns.json`` is what Go 1.26's regexp said of these patterns: its refusal, or what it found."""

from __future__ import annotations

import gc
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from setpoint.regexp import PatternError, compile_pattern
from setpoint.regexp.automaton import State
from setpoint.schema import Schema, validate

OBSERVED = json.loads((Path(__file__).parent / "observed_patterns.json").read_text())


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
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
def test_patterns_mean_what_they_mean_to_the_server(pattern: str, text: str, expected: bool) -> None:
    assert compile_pattern(pattern).matches(text) is expected


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


@pytest.mark.parametrize("pattern", ["(a|b)*a(a|b){300}c", "a.*z|a", "|".join(map(chr, range(0x4E00, 0x5E00)))])
def test_a_text_that_takes_too_much_work_is_refused(pattern: str) -> None:
    draw = random.Random(1)
    text = "".join(draw.choice("ab") for _ in range(20_000)) + "".join(map(chr, range(0x20000, 0x25000)))
    with pytest.raises(PatternError, match="a string of 40480 characters is too long to be matched"):
        compile_pattern(pattern).find_all(text)
    (error,) = validate(Schema(type="string", pattern="(a|b)*a(a|b){300}c"), text * 10)
    assert "a string of 404800 characters is too long to be matched" in str(error)


def test_a_large_pattern_is_refused_and_a_deep_one_is_not() -> None:
    with pytest.raises(PatternError, match="expression too large"):
        compile_pattern("(a{1000}){1}" * 18)
    with pytest.raises(PatternError, match="nests too deeply"):
        compile_pattern("(a|" * 600 + "b" + ")" * 600)
    assert compile_pattern("((a*)*" * 400 + "b" + ")" * 400).find_all("aab b") == ["aab", "b"]
    assert compile_pattern("(?:" * 2000 + "b" + ")" * 2000).matches("b")


def test_states_that_are_dropped_are_made_again() -> None:
    draw = random.Random(2)
    text = "".join(draw.choice("ab") for _ in range(3000))
    pattern = compile_pattern("a[ab]{200}$")
    assert pattern.matches(text) is (text[-201] == "a")
    assert pattern.find_all("b" + "a" * 201) == ["a" * 201]


@pytest.mark.parametrize("name", ["L", "Lu", "LC", "C", "Cn", "N", "Zs", "Greek", "Han", "Any", "Assigned", "ascii"])
def test_a_class_and_its_complement_are_all_characters(name: str) -> None:
    inside, outside = compile_pattern(rf"^\p{{{name}}}$"), compile_pattern(rf"^[\P{{{name}}}]$")
    chars = [*map(chr, range(0x250)), "Ω", "漢", "\u0378", "\U0010ffff", "\ue000"]
    assert [inside.matches(char) for char in chars] == [not outside.matches(char) for char in chars]
    assert any(inside.matches(char) for char in chars)


def test_a_long_text_with_many_characters_is_matched() -> None:
    draw = random.Random(3)
    text = "".join(chr(draw.randrange(0x4E00, 0x9FFF)) for _ in range(400_000))
    assert compile_pattern("(?i)kubernetes|password").find_all(text + "PASSWORD") == ["PASSWORD"]


def test_memory_stays_bounded_over_many_texts() -> None:
    chars = [*map(chr, range(0x4E00, 0x4E00 + 300))]
    pattern = compile_pattern(f"^(?:[一-鿿]*[{chars[0]}-{chars[150]}][一-鿿]{{9}}!|{'|'.join(chars)})$")
    for seed in range(10):
        assert not pattern.matches("".join(random.Random(seed).choices(chars, k=20_000)))
    steps = Counter[int]()
    for state in gc.get_objects():
        if isinstance(state, State):
            steps[id(state.automaton)] += len(state)
    assert 10_000 < max(steps.values()) < 110_000


def test_threads_share_patterns() -> None:
    pairs = [(chr(0x4E00 + number), chr(0x5E00 + number)) for number in range(300)]
    texts = [first + second for first, second in pairs] + [second + first for first, second in pairs]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for number in range(20):
            pattern = compile_pattern(f"^(?:{'|'.join(first + second for first, second in pairs)}|{number})$")
            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(pattern.matches, texts))
            assert answers == [pattern.matches(text) for text in texts] == [True] * 300 + [False] * 300
    finally:
        sys.setswitchinterval(interval)


def test_unicode_is_that_of_go_on_each_python() -> None:
    """Unicode 15.0, whereas Python has 14.0 to 17.0: a letter of 15.0 and one of 16.0."""
    assert compile_pattern(r"^\p{Lo}$").matches("\U00011f04")
    assert compile_pattern(r"^\p{Cn}$").matches("\U000105c0")


def test_names_of_classes_are_known_as_in_go() -> None:
    assert compile_pattern(r"^[\p{-l u}\p{uppercase-LETTER}\p{_greek}]+$").matches("AΣσ")
    for name in ("Old_Italic", "Olditalic", "SignWriting", "Lx", ""):
        with pytest.raises(PatternError, match="invalid character class range"):
            compile_pattern(rf"\p{{{name}}}")


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_random_patterns_find_and_fail_as_in_go(tmp_path: Path) -> None:
    draw = random.Random(1)
    patterns = sorted({_pattern(draw, 3) for _ in range(4000)})
    texts = ["", *("".join(draw.choice("aabbcKksSſéÉ1_ .-\nΣσς") for _ in range(draw.randrange(12))) for _ in range(7))]
    program = tmp_path / "main.go"
    program.write_text(GO)
    asked = json.dumps({"patterns": patterns, "texts": texts})
    ended = subprocess.run(["go", "run", program], input=asked, capture_output=True, text=True, check=True)
    for pattern, expected in zip(patterns, json.loads(ended.stdout), strict=True):
        try:
            answer: Any = [compile_pattern(pattern).find_all(text) for text in texts]
            assert [bool(matches) for matches in answer] == [compile_pattern(pattern).matches(text) for text in texts]
        except PatternError as error:
            answer = str(error)
        assert answer == expected, pattern


GO = """package main

import (
	"encoding/json"
	"os"
	"regexp"
)

func main() {
	var asked struct{ Patterns, Texts []string }
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	answers := []any{}
	for _, pattern := range asked.Patterns {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			answers = append(answers, err.Error())
			continue
		}
		matches := [][]string{}
		for _, text := range asked.Texts {
			matches = append(matches, append([]string{}, compiled.FindAllString(text, -1)...))
		}
		answers = append(answers, matches)
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}
"""
ATOMS = (
    *(
        "a",
        "b",
        "k",
        "é",
        "ſ",
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\W",
        "[a-c]",
        "[^a]",
        "[^a-b\n]",
        "[[:alpha:]]",
        "[[:^digit:]x]",
    ),
    *(r"\pL", r"\p{Greek}", r"\PN", r"[\p{Ll}1]", r"\b", r"\B", "^", "$", r"\A", r"\z", r"\n", "_", "-", "Σ", r"\x41"),
    *(r"\x{e9}", r"\Qa.b\E", r"\101", "[]a]", "[^]a]", "[a-]", r"\.", "{", "}", r"\p{^Lu}", r"\p{letter}", "[k-s]", ""),
)
WRONG = (
    *(
        "(?",
        "(?P<x",
        "(?P<>a)",
        "(?i-s:",
        "(?-)",
        "(?i)",
        "(?s)",
        "(?m)",
        "(?U)",
        "\\",
        "[",
        "[b-a]",
        "[[:foo:]]",
        r"\p{Foo}",
    ),
    *(
        r"\8",
        r"\x",
        r"\xg",
        r"\x{110000}",
        r"\C",
        r"\Z",
        "a**",
        "*",
        "{2}",
        "{2,1}",
        "{1001}",
        "{,3}",
        "{01}",
        ")",
        "(",
        "|",
    ),
    *("(?=a)", "a{2}{3}", "a+?*", r"\Qab", "(?i-:a)", r"[a-\d]", r"\p", r"\p{", "[]", r"\x4", r"\777", "(a{500}){3}"),
)
QUANTIFIERS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{2,3}?", "{0}", "{0,1}")


def _pattern(draw: random.Random, depth: int) -> str:
    kind = 0 if depth == 0 else draw.randrange(6)
    if kind <= 1:
        return draw.choice(ATOMS) if draw.random() < 0.98 else draw.choice(WRONG)
    parts = [_pattern(draw, depth - 1) for _ in range(draw.randrange(1, 4))]
    if kind == 2:
        return "".join(parts)
    if kind == 3:
        return f"({draw.choice(('', '?:', '?i:', '?s:', '?m:', '?U:', '?-i:', '?P<n>'))}{parts[0]})"
    if kind == 4:
        return f"(?:{'|'.join(parts)})"
    return f"(?:{parts[0]}){draw.choice(QUANTIFIERS)}"

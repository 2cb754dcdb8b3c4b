from __future__ import annotations

import pytest

from setpoint.schema import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\d+\z", "12", True),
        (r"^\d+$", "١", False),
        ("b", "abc", True),
        ("[[:alpha:]]+$", "ab", True),
        ("^[[:^digit:]]$", "", None),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        ("(?i)^AB$", "ab", True),
        ("(?i:A)b", "ab", True),
        ("(?P<x>a)(?<y>b)", "ab", True),
        (r"^\pL+$", "é", True),
        (r"^[\p{Lu}x]$", "É", True),
        (r"^\PL$", "1", True),
        (r"^\x41\x{42}$", "AB", True),
        ("^[]a]$", "]", True),
        ("^[^]a]$", "]", False),
        ("^a{2,3}$", "aaa", True),
        ("^a{,3}$", "a{,3}", True),
        ("^[a-z&&x]$", "&", True),
        (r"^a+?b*?$", "aab", True),
        ("(?m)^a$", "x\na\ny", True),
    ],
)
def test_patterns_mean_what_they_mean_to_the_server(pattern: str, text: str, found: bool | None) -> None:
    if found is None:
        with pytest.raises(PatternError):
            compile_pattern(pattern)
    else:
        assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", "(?!a)", "(?<=a)", r"(a)\1", "(?>a)", "a++", "a**", "(", "[a", "a{1001}", "\\", r"\Z", "(?(1)a|b)"],
)
def test_what_the_server_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="error parsing regexp"):
        compile_pattern(pattern)

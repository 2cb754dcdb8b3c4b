"""Text in quotation marks, as Go's programs write it."""

from __future__ import annotations

import pytest

from setpoint.meta.text_escaping import quote


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 太", '"plain é 太"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\u00a0\u2028\U000e0001", r'"\u00a0\u2028\U000e0001"'),
    ],
)
def test_text_is_quoted_as_by_go(text: str, expected: str) -> None:
    assert quote(text) == expected

from __future__ import annotations

import pytest

from setpoint.meta.go_integers import NumberError, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("-0", 0), ("+7", 7), ("007", 7), ("-9223372036854775808", -(2**63)), ("0" * 5000 + "5", 5)],
)
def test_numbers_are_read_as_go_reads_them(text: str, number: int) -> None:
    assert parse_int(text) == number


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1_000", "٣", "³", "0x1", "1.0", "+-1", "--1", "-", "\n", "1\n"])
def test_what_is_no_number_to_go_is_none(text: str) -> None:
    with pytest.raises(NumberError, match="invalid syntax"):
        parse_int(text)
    with pytest.raises(NumberError, match="invalid syntax"):
        parse_uint(text)


@pytest.mark.parametrize("text", ["9223372036854775808", "9" * 6000, "-" + "9" * 41])
def test_a_number_too_large_is_told_apart(text: str) -> None:
    with pytest.raises(NumberError, match="value out of range"):
        parse_int(text)


def test_numbers_without_sign_have_another_range() -> None:
    assert parse_uint("18446744073709551615") == 2**64 - 1
    with pytest.raises(NumberError, match="value out of range"):
        parse_uint("18446744073709551616")
    with pytest.raises(NumberError, match="invalid syntax"):
        parse_uint("-1")
    with pytest.raises(NumberError, match="value out of range"):
        parse_int("40000", 16)

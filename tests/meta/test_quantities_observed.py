"""Quantities as Go's ``resource.Quantity`` of Kubernetes 1.37 reads and writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from setpoint.meta import Quantity

OBSERVED = json.loads((Path(__file__).parent / "observed_quantities.json").read_text("utf-8"))
LARGEST = 2**63 - 1


@pytest.mark.parametrize("text", OBSERVED["canonical"])
def test_a_quantity_is_written_as_observed(text: str) -> None:
    assert str(Quantity(text)) == OBSERVED["canonical"][text]
    assert Quantity(str(Quantity(text))) == Quantity(text)


@pytest.mark.parametrize("text", OBSERVED["refused"])
def test_other_texts_are_refused_as_observed(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


@pytest.mark.parametrize("suffix", ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
def test_an_amount_with_a_binary_suffix_is_at_most_64_bits(suffix: str) -> None:
    assert Quantity(f"{LARGEST}{suffix}").value == LARGEST
    assert Quantity(f"-{LARGEST}.5{suffix}").value == -LARGEST
    assert str(Quantity(f"{LARGEST}{suffix}")) == str(LARGEST)


def test_spaces_around_a_quantity_are_ignored() -> None:
    assert Quantity(" 1Gi\n") == Quantity("1Gi")


def test_a_sum_is_written_in_its_canonical_form() -> None:
    assert str(Quantity("1500e-3") + Quantity("0")) == "1500e-3"
    assert str(Quantity("+1") + Quantity("01")) == "2"

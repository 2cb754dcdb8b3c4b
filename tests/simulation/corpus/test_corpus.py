"""The corpus, in short: under the faults that show a bug, the controller is found out and its twin is not accused.

``make corpus`` searches instead, with the full budget, and prints the table that is in ``docs/simulation.md``.
"""

from __future__ import annotations

import pytest
from tests.simulation.corpus import PAIRS, STRANGERS
from tests.simulation.corpus.known import KNOWN, MISSED
from tests.simulation.corpus.pair import Pair

from setpoint.simulation import Budget, Counterexample, Plan

ONE_RUN = Budget(runs=1)
EVERY = 6
"""Of so many pairs one is looked at in the everyday suite; all of them by ``make corpus``."""


def marked(pair: Pair) -> object:
    marks = []
    if (missed := MISSED.get(pair.name)) is not None:
        marks.append(pytest.mark.xfail(reason=missed, strict=True))
    if pair in STRANGERS or PAIRS.index(pair) % EVERY:
        marks.append(pytest.mark.long)
    return pytest.param(pair, id=pair.name, marks=marks)


@pytest.mark.parametrize("pair", [marked(pair) for pair in PAIRS])
def test_the_bug_is_found_and_the_twin_is_not_accused(pair: Pair) -> None:
    token = Plan(KNOWN.get(pair.name, ())).token("", "")
    with pytest.raises(Counterexample):
        pair.check_buggy(ONE_RUN, replay=token, workers=1)
    pair.check_correct(ONE_RUN, replay=token, workers=1)


def test_every_pair_is_known_by_a_name_of_its_own() -> None:
    names = {pair.name for pair in PAIRS}
    assert len(names) == len(PAIRS)
    assert names == KNOWN.keys() | MISSED.keys()

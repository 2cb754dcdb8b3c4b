"""Controllers with bugs that were seen in production, and correct twins: what the simulation is measured with."""

from __future__ import annotations

from tests.simulation.corpus import (
    f1_identity,
    f2_old_views,
    f3_between_steps,
    f4_edges,
    f5_own_writes,
    f6_several_writers,
    f7_hot_loops,
    f8_specs,
    f9_deletion,
    f10_others,
    f11_strangers,
    f12_neighbours,
    f13_readers,
    f14_given_out,
    f15_told,
    f16_beside_the_clock,
)
from tests.simulation.corpus.pair import Pair

_FAMILIES = (
    f1_identity,
    f2_old_views,
    f3_between_steps,
    f4_edges,
    f5_own_writes,
    f6_several_writers,
    f7_hot_loops,
    f8_specs,
    f9_deletion,
    f10_others,
    f11_strangers,
    f12_neighbours,
    f13_readers,
    f14_given_out,
    f15_told,
    f16_beside_the_clock,
)
STRANGERS: list[Pair] = [pair for family in _FAMILIES[_FAMILIES.index(f11_strangers) :] for pair in family.PAIRS]
"""Those that are tried only where long tests are (``-m long``)."""
PAIRS: list[Pair] = [pair for family in _FAMILIES for pair in family.PAIRS]

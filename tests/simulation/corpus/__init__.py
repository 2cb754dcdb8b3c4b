"""Controllers with bugs that were seen in production, and correct twins: what the simulation is measured with."""

from __future__ import annotations

from tests.simulation.corpus import (
    concurrent_writers,
    crash_between_writes,
    edge_triggered,
    finalizers,
    generated_values,
    hot_loops,
    limits_and_progress,
    notifications,
    object_identity,
    own_writes_unseen,
    shared_resources,
    site_operators,
    spec_changes,
    stale_reads,
    store_operators,
    time_dependence,
)
from tests.simulation.corpus.pair import Pair

_FAMILIES = (
    object_identity,
    stale_reads,
    crash_between_writes,
    edge_triggered,
    own_writes_unseen,
    concurrent_writers,
    hot_loops,
    spec_changes,
    finalizers,
    site_operators,
    store_operators,
    shared_resources,
    limits_and_progress,
    generated_values,
    notifications,
    time_dependence,
)
STRANGERS: list[Pair] = [pair for family in _FAMILIES[_FAMILIES.index(store_operators) :] for pair in family.PAIRS]
"""Those that are tried only where long tests are (``-m long``)."""
PAIRS: list[Pair] = [pair for family in _FAMILIES for pair in family.PAIRS]

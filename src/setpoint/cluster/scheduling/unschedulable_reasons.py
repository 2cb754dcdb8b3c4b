"""Refusals: the reasons why a pod can't be on a node, and the message that counts the nodes for each reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Refusal(NamedTuple):
    """The reasons why a node was excluded. ``lasting`` says that ending other pods there would not help."""

    reasons: tuple[str, ...]
    lasting: bool = True


def failure_text(refusals: Iterable[Refusal], nodes: int) -> str:
    """kube-scheduler's message with the number of nodes for each reason."""
    counts = Counter(reason for refusal in refusals for reason in refusal.reasons)
    listed = ", ".join(sorted(f"{number} {reason}" for reason, number in counts.items()))
    return f"0/{nodes} nodes are available: {listed}."

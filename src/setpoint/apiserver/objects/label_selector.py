"""Label selectors in JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.meta import LabelSelector, LabelSelectorRequirement, Selector, from_wire
from setpoint.slices import pace

__all__ = ["selector_of"]


def selector_of(selector: Mapping[str, Any]) -> Selector:
    """The `Selector` for a label selector's JSON, as in ``spec.selector``.

    Raises:
        DecodeError: the JSON is not that of a label selector.
        SelectorError: a key, an operator or a value is not valid.
    """
    labels, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
    good = isinstance(labels, dict) and all(isinstance(value, str) for value in pace(labels.values()))
    if not good or not isinstance(expressions, list):
        return Selector.from_label_selector(from_wire(LabelSelector, selector))
    # A decoder can't be interrupted, so megabytes of labels and expressions would hold the loop.
    made = LabelSelector(match_labels=labels)
    made.match_expressions = [from_wire(LabelSelectorRequirement, each) for each in pace(expressions)]
    return Selector.from_label_selector(made)

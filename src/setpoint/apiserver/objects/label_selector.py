"""Label selectors in JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.meta import LabelSelector, Selector, from_wire
from setpoint.slices import pace

__all__ = ["selector_of"]


def selector_of(selector: Mapping[str, Any]) -> Selector:
    """The `Selector` for a label selector's JSON, as in ``spec.selector``.

    Raises:
        DecodeError: the JSON is not that of a label selector.
        SelectorError: a key, an operator or a value is not valid.
    """
    labels = selector.get("matchLabels") or {}
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in pace(labels.values())):
        return Selector.from_label_selector(from_wire(LabelSelector, selector))
    # A decoder can't be interrupted, so that megabytes of labels would hold the loop.
    made = from_wire(LabelSelector, {key: value for key, value in selector.items() if key != "matchLabels"})
    made.match_labels = labels
    return Selector.from_label_selector(made)

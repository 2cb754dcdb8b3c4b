"""Label selectors in JSON documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.meta import LabelSelector, Selector, from_wire


def selector_of(selector: Mapping[str, Any]) -> Selector:
    """The `Selector` for a label selector's JSON, as in ``spec.selector``.

    Raises:
        DecodeError: the JSON is not that of a label selector.
        SelectorError: a key, an operator or a value is not valid.
    """
    return Selector.from_label_selector(from_wire(LabelSelector, selector))

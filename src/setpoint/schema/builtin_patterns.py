"""The patterns of Kubernetes' own types. They are valid, so none is compiled before a schema with it is enforced."""

from __future__ import annotations

from typing import Final

from setpoint.meta.duration import DURATION_PATTERN

QUANTITY: Final = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,3}))?$"
"""As in controller-gen, but without the exponents that `setpoint.meta.Quantity` and Go can't read."""
CONDITION_REASON: Final = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
CONDITION_TYPE: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
OWN_PATTERNS: Final = frozenset({QUANTITY, CONDITION_REASON, CONDITION_TYPE, DURATION_PATTERN})

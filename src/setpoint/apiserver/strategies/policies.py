"""Admission policies: they are CEL, which this server does not evaluate, so it does not take them."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden

__all__ = ["AdmissionPolicies"]

NOT_ENFORCED: Final = (
    "this server does not evaluate CEL expressions, so the policy would not be enforced; use a webhook"
)


class AdmissionPolicies(Strategy):
    """Mutating or validating ones. A policy that is stored and not enforced would be a false promise."""

    generation = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return [forbidden("spec", NOT_ENFORCED)]

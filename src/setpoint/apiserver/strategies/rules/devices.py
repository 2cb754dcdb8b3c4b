"""Claims of devices: what never changes of them. (What is required of them their schema says.)"""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.strategies.rules.row import IMMUTABLE, Place, Row, immutable, row, settled
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid


def _template_kept(place: Place) -> list[FieldError]:
    return [invalid(error.field, {"Spec": None}, IMMUTABLE) for error in immutable(place)]


KEPT: Final[dict[str, tuple[Row, ...]]] = {
    "resourceclaims.resource.k8s.io": (row("spec", settled),),
    "resourceclaimtemplates.resource.k8s.io": (row("spec", _template_kept),),
}

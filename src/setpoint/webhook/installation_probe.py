"""Probes: dry-run requests with a marked object, by which `install` finds out whether the API server calls the
webhooks.

A webhook refuses a probe with a fixed message, before it calls any function. The mark is an annotation that has no
other use.
"""

from __future__ import annotations

from typing import Final, TypeVar

from setpoint.meta import Object, Status, decode, encode
from setpoint.webhook.admission import Role
from setpoint.webhook.review_messages import AdmissionRequest

K = TypeVar("K", bound=Object)
MARK: Final = "webhook.setpoint.io/in-force"


def marked(sample: K, role: Role) -> K:
    copy = decode(type(sample), encode(sample))
    copy.metadata.annotations[MARK] = role
    return copy


def in_force_message(role: Role) -> str:
    return f"in force: webhooks {role} this"


def probed(request: AdmissionRequest, obj: Object, role: Role) -> Status | None:
    """The refusal of a marked dry run; None for every other request."""
    if not request.dry_run or obj.metadata.annotations.get(MARK) != role:
        return None
    return Status(status="Failure", code=400, reason="InForce", message=in_force_message(role))

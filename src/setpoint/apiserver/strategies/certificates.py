"""Certificate signing requests: the requester never changes, and approval is a separate subresource."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.meta.names import path_segment
from setpoint.meta.text_escaping import quote
from setpoint.patch.fieldset import FieldSet
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext


def _set_times(conditions: Sequence[JsonObject], before: Sequence[JsonObject], now: str) -> None:
    """Sets the missing times of conditions, in place."""
    by_type = {item.get("type"): item for item in before}
    for item in conditions:
        if not item.get("lastUpdateTime"):
            item["lastUpdateTime"] = now
        if not item.get("lastTransitionTime"):
            old = by_type.get(item.get("type"), {})
            time = old.get("lastTransitionTime") if old.get("status") == item.get("status") else None
            item["lastTransitionTime"] = time or now


_DECISIONS = ("Approved", "Denied")


class SigningRequests(Strategy):
    """Signing requests. ``spec`` names the user who made the request and never changes; ``/approval`` sets decisions,
    and ``/status`` sets the certificate.
    """

    name_rule = staticmethod(path_segment)
    checked_last = ("metadata.name", "metadata.generateName")

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        spec["username"] = call.user.name
        spec["groups"] = list(call.user.groups)
        for name in ("uid", "extra"):
            spec.pop(name, None)
        if call.user.uid:
            spec["uid"] = call.user.uid
        obj["status"] = {}

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        new["spec"] = old["spec"]

    def prepare_subresource_update(
        self, call: WriteContext, subresource: str, new: JsonObject, old: JsonObject
    ) -> JsonObject:
        result = {**old, "metadata": new["metadata"]}
        status, before = new.get("status") or {}, old.get("status") or {}
        _set_times(status.get("conditions") or (), before.get("conditions") or (), call.timestamp())
        if subresource == "approval":
            result["status"] = {**before, "conditions": status.get("conditions") or []}
            return result
        decisions = [item for item in before.get("conditions") or () if item.get("type") in _DECISIONS]
        others = [item for item in status.get("conditions") or () if item.get("type") not in _DECISIONS]
        result["status"] = {**status, **({"conditions": decisions + others} if decisions or others else {})}
        return result

    def ignored_fields(self, subresource: str) -> FieldSet:
        status = {"status": ("f:status", "f:conditions"), "approval": ("f:status", "f:certificate")}
        return FieldSet.of(("f:spec",), status.get(subresource, ("f:status",)))

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        after, before = _condition_types(obj), _condition_types(old)
        errors = [
            invalid(f"status.conditions[{index}].type", name, "Approved and Denied conditions are mutually exclusive")
            for index, name in enumerate(after)
            if name in _DECISIONS and {*_DECISIONS} <= {*after[: index + 1]}
        ]
        errors += [
            forbidden("status.conditions", f"updates may not remove a condition of type {quote(name)}")
            for name in (*_DECISIONS, "Failed")
            if after.count(name) < before.count(name)
        ]
        return errors


def _condition_types(obj: JsonObject) -> list[str]:
    return [item.get("type", "") for item in (obj.get("status") or {}).get("conditions") or ()]

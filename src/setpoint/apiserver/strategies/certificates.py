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
        for kind in _DECISIONS:  # whose times and reasons stay; `validate_subresource` refuses other changes
            were = [item for item in before.get("conditions") or () if item.get("type") == kind]
            places = [place for place, item in enumerate(status.get("conditions") or ()) if item.get("type") == kind]
            if len(were) == len(places):
                for place, item in zip(places, were, strict=True):
                    status["conditions"][place] = item
        result["status"] = status
        return result

    def ignored_fields(self, subresource: str) -> FieldSet:
        status = {"status": ("f:status", "f:conditions"), "approval": ("f:status", "f:certificate")}
        return FieldSet.of(("f:spec",), status.get(subresource, ("f:status",)))

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        after, before = _condition_types(obj), _condition_types(old)
        errors = [
            forbidden("status.conditions", f"updates may not remove a condition of type {quote(name)}")
            for name in (*_DECISIONS, "Failed")
            if after.count(name) < before.count(name)
        ]
        errors += [
            forbidden("status.conditions", f"updates may not add a condition of type {quote(name)}")
            for name in _DECISIONS
            if subresource == "status" and after.count(name) > before.count(name)
        ]
        if {*_DECISIONS} <= {*after}:
            both = [f'conditions[{{"type": "{name}"}}]' for name in _DECISIONS]
            text = f"must specify at most one of: {', '.join(f'`{item}`' for item in both)}"
            errors.append(invalid("status.conditions", f"{{{', '.join(both)}}}", text))
        return errors


def _condition_types(obj: JsonObject) -> list[str]:
    return [item.get("type", "") for item in (obj.get("status") or {}).get("conditions") or ()]

"""Namespaces, which stay until their objects are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from setpoint.apiserver.errors import forbidden
from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.meta import GroupResource
from setpoint.meta.names import dns1123_label, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


class Namespaces(Strategy):
    """Namespaces. ``spec.finalizers`` keep a namespace until a controller has emptied it and removes them through
    ``/finalize``.
    """

    name_rule = staticmethod(dns1123_label)
    returns_deleted = True
    begins_deletion = True

    def default(self, obj: JsonObject) -> None:
        name = obj["metadata"].get("name")
        if name:
            obj["metadata"].setdefault("labels", {})[_NAME_LABEL] = name
        if isinstance(obj.setdefault("status", {}), dict):
            obj["status"].setdefault("phase", "Active")

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        name = obj["metadata"].get("name", "")
        if not dns1123_label(name):  # a drawn name may be invalid, and is refused once
            obj["metadata"].setdefault("labels", {})[_NAME_LABEL] = name
        spec = obj.get("spec")
        finalizers = list((spec or {}).get("finalizers") or [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        obj["spec"] = {**(spec or {}), "finalizers": finalizers}
        obj["status"] = {"phase": "Active"}

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        if call.subresource == "finalize":
            return
        new["spec"] = old.get("spec", {})
        new["status"] = old.get("status", {})

    def check_delete(self, call: WriteContext, obj: JsonObject) -> None:
        name = obj["metadata"]["name"]
        if name in _IMMORTAL:
            raise forbidden(GroupResource("", "namespaces"), name, "this namespace may not be deleted")
        # From the first request on the namespace is Terminating, whatever keeps it.
        if (obj.get("spec") or {}).get("finalizers"):
            obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        errors: list[FieldError] = []
        for name in (obj.get("spec") or {}).get("finalizers") or ():
            problems = qualified_name(name)
            errors += [invalid("spec.finalizers", name, text) for text in problems]
            if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
                text = "name is neither a standard finalizer name nor is it fully qualified"
                errors.append(invalid("spec.finalizers", name, text))
        return errors

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        phase = (obj.get("status") or {}).get("phase", "")
        is_deleting = bool(obj["metadata"].get("deletionTimestamp"))
        wanted = "Terminating" if is_deleting else "Active"
        if subresource != "status" or phase == wanted:
            return []
        state = "not empty" if is_deleting else "empty"
        return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {state}")]

    def keeps(self, obj: JsonObject) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))

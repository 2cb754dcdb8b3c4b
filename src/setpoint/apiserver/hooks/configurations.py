"""The webhooks and policies that are configured now, in the order in which they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from setpoint.apiserver.hooks.hook import Hook
from setpoint.apiserver.hooks.mutating import MutatingPolicy
from setpoint.apiserver.hooks.policy import Binding, Policy
from setpoint.apiserver.hooks.validating import ValidatingPolicy
from setpoint.apiserver.objects import decode

if TYPE_CHECKING:
    from setpoint.apiserver.storage import Storage

__all__ = ["Hooks"]

P = TypeVar("P", bound=Policy)
_GROUP: Final = "admissionregistration.k8s.io"
_MUTATING: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
_VALIDATING: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"


class Hooks:
    """Follows the stored configurations: what was written is in force from the next request on."""

    __slots__ = ("_storage", "active", "mutating", "mutating_policies", "validating", "validating_policies")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.mutating: list[Hook] = []
        self.validating: list[Hook] = []
        self.mutating_policies: list[MutatingPolicy] = []
        self.validating_policies: list[ValidatingPolicy] = []
        self.active = False

    def refresh(self) -> None:
        """Reads all configurations; they are sorted by name."""
        self.mutating = self._read(_MUTATING)
        self.validating = self._read(_VALIDATING)
        self.mutating_policies = self._policies(MutatingPolicy, "mutatingadmissionpolicies")
        self.validating_policies = self._policies(ValidatingPolicy, "validatingadmissionpolicies")
        self.active = bool(self.mutating or self.validating or self.mutating_policies or self.validating_policies)

    def _read(self, collection: str) -> list[Hook]:
        found: list[Hook] = []
        for record in self._storage.scan(collection):
            found += [Hook(record.name, spec) for spec in decode(record.value).get("webhooks") or ()]
        return found

    def _policies(self, kind: type[P], plural: str) -> list[P]:
        """Policies that are bound; others do nothing."""
        bindings: dict[str, list[Binding]] = {}
        for record in self._storage.scan(f"{plural.removesuffix('ies')}ybindings.{_GROUP}"):
            document = decode(record.value)
            bindings.setdefault(document["spec"]["policyName"], []).append(Binding(document))
        found: list[P] = []
        for record in self._storage.scan(f"{plural}.{_GROUP}"):
            if record.name in bindings:
                found.append(kind(decode(record.value), bindings[record.name]))
        return found

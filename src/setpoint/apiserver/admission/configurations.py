"""The configured webhooks and policies, in the order in which they are called."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from setpoint.apiserver.admission.admission_policy import Binding, Policy
from setpoint.apiserver.admission.mutating_policy import MutatingPolicy
from setpoint.apiserver.admission.validating_policy import ValidatingPolicy
from setpoint.apiserver.admission.webhook import Webhook
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.storage import Damage, Record

if TYPE_CHECKING:
    from setpoint.apiserver.storage import Storage

_log = logging.getLogger(__name__)
P = TypeVar("P", bound=Policy)
T = TypeVar("T")
_GROUP: Final = "admissionregistration.k8s.io"
_MUTATING: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
_VALIDATING: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"


class Configurations:
    """Follows the stored configurations: a write takes effect with the next request."""

    __slots__ = ("_storage", "active", "damage", "mutating", "mutating_policies", "validating", "validating_policies")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.mutating: list[Webhook] = []
        self.validating: list[Webhook] = []
        self.mutating_policies: list[MutatingPolicy] = []
        self.validating_policies: list[ValidatingPolicy] = []
        self.active = False
        self.damage: list[Damage] = []
        """The stored configurations that can't be used in their present form."""

    def refresh(self, record: Record | None = None) -> None:
        """Reads all configurations, sorted by name.

        Raises the error of the configuration that was just ``record``, if it has one. Other configurations that can't
        be used are logged and left out.
        """
        reading = _Reading(self._storage, record)
        mutating = reading.hooks(_MUTATING)
        validating = reading.hooks(_VALIDATING)
        mutating_policies = reading.policies(MutatingPolicy, "mutatingadmissionpolicies")
        validating_policies = reading.policies(ValidatingPolicy, "validatingadmissionpolicies")

        def use() -> None:
            self.mutating, self.validating = mutating, validating
            self.mutating_policies, self.validating_policies = mutating_policies, validating_policies
            self.active = bool(mutating or validating or mutating_policies or validating_policies)
            damaged = {item.subject for item in self.damage}
            self.damage = reading.damage
            for item in self.damage:
                if item.subject not in damaged:
                    _log.error("%s", item)

        self._storage.then(use)


class _Reading:
    """One pass over all stored configurations."""

    def __init__(self, storage: Storage, record: Record | None) -> None:
        self._storage = storage
        self._record = record
        self.damage: list[Damage] = []

    def hooks(self, collection: str) -> list[Webhook]:
        return [
            hook
            for _, hooks in self._load_each(
                collection, lambda name, document: [Webhook(name, spec) for spec in document.get("webhooks") or ()]
            )
            for hook in hooks
        ]

    def policies(self, kind: type[P], plural: str) -> list[P]:
        """The policies that have bindings; a policy without a binding has no effect."""
        bindings: dict[str, list[Binding]] = {}
        collection = f"{plural.removesuffix('ies')}ybindings.{_GROUP}"
        for _, (policy, binding) in self._load_each(collection, lambda _, it: (it["spec"]["policyName"], Binding(it))):
            bindings.setdefault(policy, []).append(binding)
        policies = self._load_each(f"{plural}.{_GROUP}", lambda name, it: kind(it, bindings.get(name) or []))
        return [policy for name, policy in policies if name in bindings]

    def _load_each(self, collection: str, make: Callable[[str, Any], T]) -> list[tuple[str, T]]:
        values: list[tuple[str, T]] = []
        for record in self._storage.scan(collection):
            try:
                values.append((record.name, make(record.name, decode(record.value))))
            except Exception as problem:
                if record is self._record:
                    raise
                reason = f"it has no effect: {type(problem).__name__}: {problem}"
                self.damage.append(Damage(f"{collection} {record.name}", reason))
        return values

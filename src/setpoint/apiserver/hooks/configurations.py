"""The webhooks that are configured now, in the order in which they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from setpoint.apiserver.hooks.hook import Hook
from setpoint.apiserver.objects import decode

if TYPE_CHECKING:
    from setpoint.apiserver.storage import Storage

__all__ = ["Hooks"]

_MUTATING: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
_VALIDATING: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"


class Hooks:
    """Follows the stored configurations: what was written is in force from the next request on."""

    __slots__ = ("_storage", "active", "mutating", "validating")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.mutating: list[Hook] = []
        self.validating: list[Hook] = []
        self.active = False

    def refresh(self) -> None:
        """Reads all configurations; they are sorted by name."""
        self.mutating = self._read(_MUTATING)
        self.validating = self._read(_VALIDATING)
        self.active = bool(self.mutating or self.validating)

    def _read(self, collection: str) -> list[Hook]:
        found: list[Hook] = []
        for record in self._storage.scan(collection):
            found += [Hook(record.name, spec) for spec in decode(record.value).get("webhooks") or ()]
        return found

"""The protocol by which handlers of requests ask for admission; `setpoint.apiserver.admission` implements it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from setpoint.apiserver.requests.options import DeleteOptions, WriteOptions
from setpoint.apiserver.resources.registry import ServedResource

__all__ = ["Admission", "AdmissionAttributes"]

JsonObject = dict[str, Any]
_EXEMPT: Final = "admissionregistration.k8s.io"


@dataclass(slots=True)
class AdmissionAttributes:
    """A request as admission sees it; upstream's ``admission.Attributes``.

    ``obj`` and ``old`` are of the version ``served`` is, unless ``kind`` (group, version, kind) says that they are
    something else, such as a Scale.
    """

    served: ServedResource
    operation: str
    subresource: str
    namespace: str
    name: str
    obj: JsonObject | None
    old: JsonObject | None
    options: JsonObject
    dry_run: bool
    kind: tuple[str, str, str] | None = None

    @property
    def is_namespace(self) -> bool:
        return (self.served.resource.group, self.served.resource.plural) == ("", "namespaces")

    @property
    def exempt(self) -> bool:
        """Whether webhooks are not asked: a bad configuration of admission could not be repaired otherwise."""
        return self.served.resource.group == _EXEMPT

    @property
    def exempt_from_policies(self) -> bool:
        """Nor are policies subject to policies."""
        return self.exempt and "admissionpolic" in self.served.resource.plural

    @property
    def shown_name(self) -> str:
        """As refusals call the object."""
        metadata = (self.obj or {}).get("metadata") or {}
        return self.name or metadata.get("name") or metadata.get("generateName") or "Unknown"


class Admission(Protocol):
    """Asks webhooks and policies about one request's objects. Each method may raise Suspended, to be called again
    when the answers are known, and ApiStatusError for a refusal or a failure."""

    def attributes(
        self,
        served: ServedResource,
        operation: str,
        obj: JsonObject | None,
        old: JsonObject | None,
        options: WriteOptions | DeleteOptions,
        *,
        subresource: str = "",
        name: str | None = None,
        kind: tuple[str, str, str] | None = None,
    ) -> AdmissionAttributes:
        """``name``: if it is not what the object or the path says. ``kind``: see `AdmissionAttributes`."""
        ...

    def mutates(self, attributes: AdmissionAttributes) -> bool:
        """Whether any mutating webhook or policy is to be asked."""
        ...

    def mutate(self, attributes: AdmissionAttributes) -> JsonObject:
        """The object as the webhooks want it, with defaults; the object itself if none was asked."""
        ...

    def validate(self, attributes: AdmissionAttributes) -> None: ...
    def document(
        self,
        served: ServedResource,
        document: JsonObject,
        options: WriteOptions,
        *,
        subresource: str,
        kind: tuple[str, str, str],
    ) -> JsonObject:
        """Admission, whole, of a document that is not stored itself, such as a Binding."""
        ...

    def deletions(self, batch: Sequence[AdmissionAttributes]) -> None:
        """All at once."""
        ...

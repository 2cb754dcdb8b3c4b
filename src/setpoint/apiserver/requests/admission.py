"""The protocol through which request handlers ask for admission; `setpoint.apiserver.admission` implements it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol

import msgspec

from setpoint.apiserver import errors
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.requests.options import DeleteOptions, WriteOptions
from setpoint.apiserver.requests.path import ResourcePath
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.apiserver.storage import Storage
from setpoint.meta import GroupResource

JsonObject = dict[str, Any]
_EXEMPT: Final = "admissionregistration.k8s.io"


class Asked(Protocol):
    """The attributes of a request and of the server that admission may use."""

    path: ResourcePath
    state: State

    @property
    def storage(self) -> Storage: ...
    @property
    def user(self) -> UserInfo: ...
    @property
    def random(self) -> Random: ...
    @property
    def plugins_off(self) -> Collection[str]:
        """The admission plugins that are turned off."""
        ...

    def now(self) -> datetime: ...
    def warn(self, text: str) -> None: ...
    def annotate(self, key: str, value: str) -> None:
        """Adds an annotation to the request's event in the audit log, if there is one."""
        ...


class AdmissionAttributes(msgspec.Struct):
    """A request as plugins, policies and webhooks see it; upstream's ``admission.Attributes``.

    ``obj`` and ``old`` are of the version of ``served``, unless ``kind`` (group, version, kind) says that they are of a
    different kind, such as a Scale. Mutating plugins change ``obj`` in place.
    """

    call: Asked
    served: ServedResource
    operation: str
    obj: JsonObject | None
    old: JsonObject | None
    options: WriteOptions | DeleteOptions
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    kind: tuple[str, str, str] | None = None

    @classmethod
    def of(
        cls,
        call: Asked,
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
        """The attributes of a request for the object that its path names. ``name`` is needed only if it differs from
        the name in the path or the object.
        """
        path = call.path
        if name is None:
            name = path.name or str(((obj or old or {}).get("metadata") or {}).get("name") or "")
        attributes = cls(call, served, operation, obj, old, options, subresource, path.namespace, name, kind)
        if attributes.is_namespace:
            attributes.namespace = name
        return attributes

    @property
    def new(self) -> JsonObject:
        """The new object. This property must not be read for a request without a new object, such as a deletion."""
        assert self.obj is not None
        return self.obj

    @property
    def spec(self) -> JsonObject:
        """The ``spec`` of the object; ``{}`` if it has none."""
        spec = self.new.get("spec")
        return spec if isinstance(spec, dict) else {}

    @property
    def resource(self) -> GroupResource:
        return self.served.group_resource

    @property
    def dry_run(self) -> bool:
        return bool(self.options.dry_run)

    def stored(self, collection: str, namespace: str | None = None, *, having: bytes = b"") -> Iterator[JsonObject]:
        """The stored objects of a collection whose JSON contains the bytes ``having``, in all namespaces or only in
        ``namespace``. All other objects are skipped without being decoded.
        """
        for record in self.call.storage.scan(collection, namespace):
            if having in record.value:
                yield decode(record.value)

    def get(self, collection: str, name: str, namespace: str = "") -> JsonObject | None:
        """A stored object; None if no object has that name."""
        record = self.call.storage.get(collection, namespace, name)
        return None if record is None else decode(record.value)

    def forbidden(self, reason: str, causes: Sequence[Mapping[str, str]] = ()) -> errors.ApiStatusError:
        """The error for a refusal (403). It names the object, or the prefix of its name, as in upstream."""
        return errors.forbidden(self.resource, self.shown_name, reason, causes)

    @property
    def is_namespace(self) -> bool:
        return (self.served.resource.group, self.served.resource.plural) == ("", "namespaces")

    @property
    def exempt(self) -> bool:
        """Whether webhooks are skipped. They do not see the objects that configure admission, because otherwise a bad
        configuration could not be repaired.
        """
        return self.served.resource.group == _EXEMPT

    @property
    def exempt_from_policies(self) -> bool:
        """Whether policies are skipped. They do not apply to admission policies and their bindings."""
        return self.exempt and "admissionpolic" in self.served.resource.plural

    @property
    def shown_name(self) -> str:
        """The name of the object in refusals."""
        metadata = (self.obj or {}).get("metadata") or {}
        return self.name or metadata.get("name") or metadata.get("generateName") or "Unknown"


class Admission(Protocol):
    """Runs webhooks and policies on the objects of one request.

    Each method may raise Suspended, in which case the caller calls it again once the answers are known, and
    ApiStatusError for a refusal or a failure.
    """

    def mutates(self, attributes: AdmissionAttributes) -> bool:
        """Whether any mutating webhook or policy has to run."""
        ...

    def mutate(self, attributes: AdmissionAttributes) -> JsonObject:
        """The object after mutation by webhooks and policies, with defaults; the same object if none of them ran."""
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
        """A document that is not itself stored, such as a Binding, after mutation and validation."""
        ...

    def deletions(self, batch: Sequence[AdmissionAttributes]) -> None:
        """Runs policies and webhooks for all deletions of a batch together."""
        ...

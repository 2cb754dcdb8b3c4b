"""The registry of everything that a server serves, by resource and version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from setpoint.apiserver.replay import Replay
from setpoint.apiserver.resources.strategy import Strategy
from setpoint.cel.rules import RuleValidator
from setpoint.meta import GroupResource, Resource
from setpoint.models.history import NEWEST
from setpoint.schema import Schema

Convert = Callable[[dict[str, Any], "ServedResource", Replay | None], dict[str, Any]]
"""A conversion of objects; see `ServedResource.convert`."""


class ScalePaths:
    """The fields of a resource that its scale subresource shows, each as a path of field names."""

    __slots__ = ("replicas", "selector", "status_replicas")

    def __init__(
        self,
        replicas: tuple[str, ...] = ("spec", "replicas"),
        status_replicas: tuple[str, ...] = ("status", "replicas"),
        selector: tuple[str, ...] | None = ("spec", "selector"),
    ) -> None:
        self.replicas = replicas
        self.status_replicas = status_replicas
        self.selector = selector


class CustomParts(NamedTuple):
    """The parts of a version in a CustomResourceDefinition that are served as they are written."""

    schema_document: Mapping[str, Any] | None = None
    columns: Sequence[Mapping[str, Any]] | None = None
    selectable_fields: Sequence[str] = ()


class ServedResource:
    """One resource in one version.

    ``stored_as`` is the version in which objects are stored (possibly this one); ``collection`` is the resource's name
    in the storage, which is the same for all versions.
    """

    def __init__(
        self,
        resource: Resource,
        schema: Schema,
        strategy: Strategy,
        *,
        stored_as: ServedResource | None = None,
        collection: str = "",
        custom: CustomParts | None = None,
        scale: ScalePaths | None = None,
        convert: Convert | None = None,
        warning: str = "",
    ) -> None:
        self.resource = resource
        self.group_resource: GroupResource = resource.group_resource
        self.name = str(self.group_resource)
        self.schema = schema
        self.strategy = strategy
        self.stored_as: ServedResource = stored_as or self
        self.collection = collection or self.name
        parts = custom if custom is not None else CustomParts()
        self.custom = custom is not None
        self.schema_document = parts.schema_document
        self.columns = parts.columns
        self.selectable_fields = parts.selectable_fields
        self.scale = scale
        self.warning = warning
        self.computed = False
        """Whether objects are computed on request and never stored."""
        self.terminating = False
        self.has_defaults = False
        """Whether the schema of a custom resource has any defaults."""
        self.schema_since = 0
        """Objects stored before this revision may have fields that the schema no longer has, and lack its defaults."""
        self.siblings: dict[str, ServedResource] = {}
        """All versions of a custom resource that has several, by apiVersion; objects may be stored in any of them."""
        self.asks = False
        """Whether a webhook converts objects between versions."""
        self._convert = convert
        self.has_status = "status" in resource.subresources
        self.head = b'{"apiVersion":"%s","kind":"%s",' % (resource.api_version.encode(), resource.kind.encode())
        self.list_kind = resource.list_kind or f"{resource.kind}List"

    @cached_property
    def rules(self) -> RuleValidator:
        """The rules of a custom resource's schema, compiled when they are first used."""
        return RuleValidator(self.schema_document or {})

    def convert(self, obj: dict[str, Any], target: ServedResource, replay: Replay | None) -> dict[str, Any]:
        """``obj``, which is in this version, converted to the version of ``target``. May change ``obj``.

        Raises Suspended if a webhook converts the object and ``replay`` does not have the webhook's answer.
        """
        if target is self:
            return obj
        if self._convert is not None:
            obj = self._convert(obj, target, replay)
        else:
            obj["apiVersion"] = target.resource.api_version
        return obj

    def convert_by(self, convert: Convert) -> None:
        """Sets the function with which objects are converted from now on; it calls a webhook."""
        self._convert = convert
        self.asks = True

    def __repr__(self) -> str:
        return f"<ServedResource {self.resource.gvr}>"


class Registry:
    """All served resources. ``revision`` changes whenever a resource is added or removed; ``minor`` is the minor
    version of Kubernetes whose fields and kinds the server has.
    """

    def __init__(self, minor: int = NEWEST) -> None:
        self.minor = minor
        self._by_path: dict[tuple[str, str, str], ServedResource] = {}
        self._versions: dict[tuple[str, str], dict[str, ServedResource]] = {}
        self.revision = 0

    def add(self, served: ServedResource) -> None:
        """Serves a resource, in place of any other with the same group, version and plural."""
        resource = served.resource
        self._by_path[resource.group, resource.version, resource.plural] = served
        self._versions.setdefault((resource.group, resource.plural), {})[resource.version] = served
        self.revision += 1

    def remove(self, served: ServedResource) -> None:
        """Stops serving a resource; does nothing if it has been replaced in the meantime."""
        resource = served.resource
        key = (resource.group, resource.version, resource.plural)
        if self._by_path.get(key) is served:
            del self._by_path[key]
            del self._versions[resource.group, resource.plural][resource.version]
            self.revision += 1

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._by_path.get((group, version, plural))

    def versions(self, group: str, plural: str) -> list[ServedResource]:
        """All versions of one resource."""
        return [*self._versions.get((group, plural), {}).values()]

    def find_kind(self, group: str, version: str, kind: str) -> ServedResource | None:
        return next(
            (
                item
                for (g, v, _), item in self._by_path.items()
                if g == group and v == version and item.resource.kind == kind
            ),
            None,
        )

    def has_version(self, group: str, version: str) -> bool:
        return any(key[:2] == (group, version) for key in self._by_path)

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(list(self._by_path.values()))

    def __len__(self) -> int:
        return len(self._by_path)

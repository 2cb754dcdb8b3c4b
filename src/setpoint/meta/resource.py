"""The names of a kind, and its REST address."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from msgspec import Struct


class GroupVersion(NamedTuple):
    """A group and a version; the group is ``""`` for the core group."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """The group and version in an object's ``apiVersion``: ``v1`` or ``apps/v1``.

        Raises:
            ValueError: ``api_version`` has more than one slash.
        """
        if api_version.count("/") > 1:
            raise ValueError(f"unexpected apiVersion {api_version!r}: want VERSION or GROUP/VERSION")
        group, slash, version = api_version.rpartition("/")
        return cls(group if slash else "", version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupKind(NamedTuple):
    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{GroupVersion(self.group, self.version)}, Resource={self.resource}"


class Resource(Struct, frozen=True, kw_only=True, dict=True):
    """A REST resource in one version: its names, scope, verbs and subresources.

    ``plural`` is the path segment. ``subresources`` maps the name of each subresource to the kind of its objects, e.g.
    ``{"scale": GroupVersionKind("autoscaling", "v1", "Scale")}``.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    subresources: dict[str, GroupVersionKind] = {}

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @cached_property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.plural)

    @cached_property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @cached_property
    def root(self) -> str:
        """The path of the group version: ``/api/v1`` or ``/apis/GROUP/VERSION``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The request path of the collection, of an object, or of a subresource of an object.

        Names are not escaped: check untrusted ones with `setpoint.meta.names.path_segment`.
        """
        path = self.root
        if namespace and self.namespaced:
            path += f"/namespaces/{namespace}"
        path += f"/{self.plural}"
        if name:
            path += f"/{name}"
        if subresource:
            path += f"/{subresource}"
        return path

    def __str__(self) -> str:
        return str(self.group_resource)

    def __hash__(self) -> int:
        return hash((self.group, self.version, self.plural))

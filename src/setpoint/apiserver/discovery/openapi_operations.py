"""The operations on a resource, path by path, in a form common to OpenAPI 2 and 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.discovery.openapi_details import parameters
from setpoint.meta import GroupVersionKind, Resource

Method = Literal["get", "post", "put", "patch", "delete"]

STATUS: Final = GroupVersionKind("", "v1", "Status")
DELETE_OPTIONS: Final = GroupVersionKind("", "v1", "DeleteOptions")
PATCH: Final = GroupVersionKind("meta.k8s.io", "v1", "Patch")
WATCH_EVENT: Final = GroupVersionKind("meta.k8s.io", "v1", "WatchEvent")
JSON_TYPES: Final = ("application/json", "application/yaml")
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
BUILTIN_TYPES: Final = (*JSON_TYPES, PROTOBUF)
STREAMED_TYPES: Final = ("application/json;stream=watch", f"{PROTOBUF};stream=watch")
PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of an operation; ``type`` is string, integer or boolean."""

    name: str
    type: str
    description: str
    place: Literal["query", "path"] = "query"


class Operation(msgspec.Struct, frozen=True):
    """One method on one path.

    ``kind`` is the kind on which the operation acts; clients look operations up by it. ``request`` and ``response`` are
    the kinds of the bodies, ``consumes`` and ``produces`` their media types. A ``response`` of None is text.
    """

    method: Method
    action: str
    id: str
    tag: str
    description: str
    kind: GroupVersionKind
    parameters: tuple[Parameter, ...]
    request: GroupVersionKind | None
    consumes: tuple[str, ...]
    response: GroupVersionKind | None
    produces: tuple[str, ...]
    codes: Mapping[int, str]


_LIST: Final = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion"),
    *("resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch"),
)
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_PATCH: Final = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
_DELETE: Final = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents"),
    *("pretty", "propagationPolicy"),
)
_DELETE_COLLECTION: Final = tuple(sorted({*_DELETE, *_LIST} - {"allowWatchBookmarks", "watch"}))
_LOG: Final = (
    *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "pretty", "previous", "sinceSeconds"),
    *("stream", "tailLines", "timestamps"),
)
_CONNECT: Final = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "portforward": ("ports",),
}
_OK: Final = {200: "OK"}
_CREATED: Final = {200: "OK", 201: "Created"}
_POSTED: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_DELETED: Final = {200: "OK", 202: "Accepted"}
_CREATE_ONLY: Final = frozenset({"binding", "eviction", "token"})
_DELETED_OBJECT: Final = {
    "": frozenset(
        {
            *("PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota", "Service"),
            "ServiceAccount",
        }
    ),
    "resource.k8s.io": frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}),
    "storage.k8s.io": frozenset({"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"}),
}
"""The kinds for which upstream describes the response to a delete as the object; for all others, as a Status."""


def operations(resource: Resource, *, custom: bool) -> Iterator[tuple[str, Operation]]:
    """Every operation on ``resource`` with its path, for the verbs and subresources that the resource has.

    A ``custom`` resource supports neither protobuf nor strategic merge patches, and has no paths below ``watch``.
    """
    make = _Maker(resource, custom)
    collection = resource.path(namespace="{namespace}")
    verbs = resource.verbs
    if resource.namespaced and "list" in verbs:
        yield resource.path(), make.listing(everywhere=True)
    if "list" in verbs:
        yield collection, make.listing()
    if "create" in verbs:
        yield collection, make("post", "post", "create", _WRITE, resource.gvk, _POSTED)
    if "deletecollection" in verbs:
        query = _LIST if custom else _DELETE_COLLECTION
        yield collection, make("delete", "deletecollection", "deletecollection", query, STATUS, _OK)
    item = f"{collection}/{{name}}"
    if "get" in verbs:
        yield item, make("get", "get", "read", make.read, resource.gvk, _OK, named=True)
    if "update" in verbs:
        yield item, make("put", "put", "replace", _WRITE, resource.gvk, _CREATED, named=True)
    if "patch" in verbs:
        yield item, make("patch", "patch", "patch", _PATCH, resource.gvk, make.patched, named=True)
    if "delete" in verbs:
        response = resource.gvk if resource.kind in _DELETED_OBJECT.get(resource.group, ()) else STATUS
        yield item, make("delete", "delete", "delete", _DELETE, response, _DELETED, named=True)
    for name, kind in sorted(resource.subresources.items()):
        yield from ((f"{item}/{name}", operation) for operation in _subresource(make, name, kind))
    if "watch" in verbs and not custom:
        yield from _watches(make, resource)


def _subresource(make: _Maker, name: str, kind: GroupVersionKind) -> Iterator[Operation]:
    if name in _CONNECT:
        yield make.connecting("get", name, kind)
        yield make.connecting("post", name, kind)
    elif name == "log":
        yield make("get", "get", "read", _LOG, None, _OK, subresource=name, kind=kind, named=True)
    elif name in _CREATE_ONLY:
        yield make("post", "post", "create", _WRITE, kind, _POSTED, subresource=name, kind=kind, named=True)
    else:
        if name != "finalize":
            yield make("get", "get", "read", make.read, kind, _OK, subresource=name, kind=kind, named=True)
        yield make("put", "put", "replace", _WRITE, kind, _CREATED, subresource=name, kind=kind, named=True)
        if name != "finalize":
            yield make("patch", "patch", "patch", _PATCH, kind, make.patched, subresource=name, kind=kind, named=True)


def _watches(make: _Maker, resource: Resource) -> Iterator[tuple[str, Operation]]:
    """The deprecated paths below ``watch``."""
    everywhere, collection = (
        path.replace(resource.root, f"{resource.root}/watch", 1)
        for path in (resource.path(), resource.path(namespace="{namespace}"))
    )
    if resource.namespaced:
        yield everywhere, make.listing(everywhere=True, watch=True)
    yield collection, make.listing(watch=True)
    if "get" in resource.verbs:
        yield f"{collection}/{{name}}", make.watching()


class _Maker:
    """Makes the operations of one resource."""

    def __init__(self, resource: Resource, custom: bool) -> None:
        self.resource = resource
        self.custom = custom
        self.read = ("pretty", "resourceVersion") if custom else ("pretty",)
        self.patched = _OK if custom else _CREATED
        words = group_words(resource.group)
        self.tag = f"{words[0].lower()}{''.join(words[1:])}_{resource.version}"
        self.title = "".join(words) + resource.version.title()
        self.scope = "Namespaced" if resource.namespaced else ""

    def __call__(
        self,
        method: Method,
        action: str,
        verb: str,
        query: tuple[str, ...],
        response: GroupVersionKind | None,
        codes: Mapping[int, str],
        *,
        kind: GroupVersionKind | None = None,
        subresource: str = "",
        named: bool = False,
    ) -> Operation:
        resource = self.resource
        request = {"post": response, "put": response, "patch": PATCH, "delete": DELETE_OPTIONS}.get(method)
        if self.custom and action == "deletecollection":
            request = None
        # Upstream names the kind of the resource for all subresources of a custom resource, also for its scale.
        target = resource.gvk if self.custom or kind is None else kind
        description = _DESCRIPTIONS[verb].format(f"{subresource} of " if subresource else "", _article(resource.kind))
        collected = "Collection" if action == "deletecollection" else ""
        return Operation(
            method=method,
            action=action,
            id=f"{verb}{self.title}{collected}{self.scope}{resource.kind}{subresource.title()}".replace(
                "deletecollection", "delete"
            ),
            tag=self.tag,
            description=f"{description} {resource.kind}".replace("  ", " "),
            kind=target,
            parameters=self._parameters(
                query, action if method == "patch" else subresource, kind=target.kind if named else ""
            ),
            request=request,
            consumes=self._consumed(method) if request else (),
            response=response,
            produces=(*self._produced(), "text/plain") if response is None else self._produced(),
            codes=codes,
        )

    def listing(self, *, everywhere: bool = False, watch: bool = False) -> Operation:
        """The operation on all objects of a namespace (or, if ``everywhere`` is True, of all namespaces)."""
        resource = self.resource
        everything = "ForAllNamespaces" if everywhere else ""
        scope = "" if everywhere else self.scope
        words = "list" if self.custom or "watch" not in resource.verbs else "list or watch"
        return Operation(
            method="get",
            action="watchlist" if watch else "list",
            id=f"{'watch' if watch else 'list'}{self.title}{scope}{resource.kind}{'List' * watch}{everything}",
            tag=self.tag,
            description=(
                f"watch individual changes to a list of {resource.kind}. deprecated: use the 'watch' parameter with a "
                "list operation instead."
                if watch
                else f"{words} objects of kind {resource.kind}"
            ),
            kind=resource.gvk,
            parameters=self._parameters(_LIST, everywhere=everywhere),
            request=None,
            consumes=(),
            response=WATCH_EVENT if watch else list_kind(resource),
            produces=self._produced() if self.custom else (*self._produced(), *STREAMED_TYPES),
            codes=_OK,
        )

    def watching(self) -> Operation:
        kind = self.resource.kind
        return replace(
            self.listing(watch=True),
            action="watch",
            id=f"watch{self.title}{self.scope}{kind}",
            description=f"watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list "
            "operation instead, filtered to a single item with the 'fieldSelector' parameter.",
            parameters=self._parameters(_LIST, kind=kind),
        )

    def connecting(self, method: Method, subresource: str, kind: GroupVersionKind) -> Operation:
        """A request that becomes a connection to a container."""
        return Operation(
            method=method,
            action="connect",
            id=f"connect{self.title}{method.title()}{self.scope}{self.resource.kind}{subresource.title()}",
            tag=self.tag,
            description=f"connect {method.upper()} requests to {subresource} of {self.resource.kind}",
            kind=kind,
            parameters=self._parameters(_CONNECT[subresource], subresource, kind=kind.kind),
            request=None,
            consumes=(),
            response=None,
            produces=("*/*",),
            codes=_OK,
        )

    def _parameters(
        self, query: tuple[str, ...], variant: str = "", *, kind: str = "", everywhere: bool = False
    ) -> tuple[Parameter, ...]:
        """The parameters by name; those of one object name its ``kind``. ``variant`` is the action or subresource, for
        which upstream describes some parameters in other words.
        """
        texts = parameters()
        described = ((name, texts.get(f"{variant}/{name}") or texts[name]) for name in query)
        listed = [Parameter(name, entry["type"], entry["description"]) for name, entry in described]
        if self.resource.namespaced and not everywhere:
            listed.append(Parameter("namespace", "string", texts["namespace"]["description"], place="path"))
        if kind:
            listed.append(Parameter("name", "string", f"name of the {kind}", place="path"))
        return tuple(sorted(listed, key=lambda parameter: parameter.name))

    def _produced(self) -> tuple[str, ...]:
        return JSON_TYPES if self.custom else BUILTIN_TYPES

    def _consumed(self, method: Method) -> tuple[str, ...]:
        if method == "patch":
            return PATCH_TYPES[:-1] if self.custom else PATCH_TYPES
        return JSON_TYPES if self.custom else ("*/*",)


_DESCRIPTIONS: Final = {
    "create": "create {}{}",
    "delete": "delete {}{}",
    "deletecollection": "delete collection of",
    "patch": "partially update {}the specified",
    "read": "read {}the specified",
    "replace": "replace {}the specified",
}
"""The words before a kind; the places are for the subresource and the article."""


def _article(kind: str) -> str:
    if kind.endswith("s") and not kind.endswith("ss"):
        return ""
    return "an" if kind[0] in "AEIOU" else "a"


def list_kind(resource: Resource) -> GroupVersionKind:
    return GroupVersionKind(resource.group, resource.version, resource.list_kind or f"{resource.kind}List")


def group_words(group: str) -> list[str]:
    """The words of a group's name, capitalized: ``Rbac`` and ``Authorization`` for ``rbac.authorization.k8s.io``."""
    name = group.removesuffix(".k8s.io") or "core"
    return [word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name) if word]

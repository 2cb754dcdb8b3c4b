"""The operations on a resource, path by path, in a form common to OpenAPI 2 and 3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from setpoint.meta import GroupVersionKind, Resource

Method = Literal["get", "post", "put", "patch", "delete"]

STATUS: Final = GroupVersionKind("", "v1", "Status")
DELETE_OPTIONS: Final = GroupVersionKind("", "v1", "DeleteOptions")
PATCH: Final = GroupVersionKind("meta.k8s.io", "v1", "Patch")
JSON_TYPES: Final = ("application/json", "application/yaml")
PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation; ``type`` is string, integer or boolean."""

    name: str
    type: str
    description: str
    place: Literal["query", "path"] = "query"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path.

    ``kind`` is the kind on which the operation acts; clients look operations up by it. ``request`` and ``response`` are
    the kinds of the bodies. A response of kind ``Status`` may also be the deleted object; a ``response`` of None is
    plain text.
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
    codes: Mapping[int, str]


PRETTY: Final = Parameter("pretty", "string", "Indent the answer if it is 'true'.")
_NAMESPACE: Final = Parameter(
    "namespace", "string", "object name and auth scope, such as for teams and projects", place="path"
)
_QUERY: Final = {
    parameter.name: parameter
    for parameter in (
        Parameter("allowWatchBookmarks", "boolean", "Whether a watch may send events of type BOOKMARK."),
        Parameter("container", "string", "The container whose log is read; it may be omitted if the pod has only one."),
        Parameter("continue", "string", "The 'continue' token of the previous page of this list."),
        Parameter("dryRun", "string", "'All' processes the request without storing the result."),
        Parameter("fieldManager", "string", "The author of this change; at most 128 printable characters."),
        Parameter("fieldSelector", "string", "Only objects whose fields have these values, such as metadata.name=web."),
        Parameter(
            "fieldValidation",
            "string",
            "The handling of unknown and duplicate fields: 'Ignore' drops them, 'Warn' drops them and says so in a "
            "warning, 'Strict' refuses the request.",
        ),
        Parameter("follow", "boolean", "Whether new lines are sent as they are written to the log."),
        Parameter("force", "boolean", "Take over fields that other managers own. For apply requests only."),
        Parameter("gracePeriodSeconds", "integer", "Seconds until the object is deleted; 0 deletes it at once."),
        Parameter("labelSelector", "string", "Only objects whose labels match, such as app=web,tier in (a,b)."),
        Parameter("limitBytes", "integer", "The maximum number of bytes to read from the log."),
        Parameter("limit", "integer", "The maximum number of objects; a list with more has a 'continue' token."),
        Parameter("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
        Parameter("previous", "boolean", "The log of the container that ran before the last restart."),
        Parameter(
            "propagationPolicy",
            "string",
            "The fate of the object's dependents: 'Orphan', 'Background' or 'Foreground'.",
        ),
        Parameter("resourceVersion", "string", "The version of the collection to read or to watch from."),
        Parameter("resourceVersionMatch", "string", "The meaning of resourceVersion: 'Exact' or 'NotOlderThan'."),
        Parameter("sendInitialEvents", "boolean", "Whether a watch begins with an event for each existing object."),
        Parameter("sinceSeconds", "integer", "The maximum age of the lines to read, in seconds."),
        Parameter("tailLines", "integer", "The number of lines to read from the end of the log."),
        Parameter("timeoutSeconds", "integer", "Seconds after which the server ends a list or watch."),
        Parameter("timestamps", "boolean", "Whether each line begins with its time."),
        Parameter("watch", "boolean", "Whether changes are sent as a stream of events instead of a list."),
    )
}
_LIST: Final = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion"),
    *("resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"),
)
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_DELETE_COLLECTION: Final = (
    *_DELETE,
    *("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"),
)
_LOG: Final = ("container", "follow", "limitBytes", "previous", "sinceSeconds", "tailLines", "timestamps")
_OK: Final = {200: "OK"}
_CREATED: Final = {200: "OK", 201: "Created"}
_POSTED: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_DELETED: Final = {200: "OK", 202: "Accepted"}
_CREATE_ONLY: Final = frozenset({"binding", "eviction", "token"})


def operations(resource: Resource, *, custom: bool) -> Iterator[tuple[str, Operation]]:
    """Every operation on ``resource`` with its path, for the verbs and subresources that the resource has.

    A ``custom`` resource does not support strategic merge patches.
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
        yield collection, make("delete", "deletecollection", "deletecollection", _DELETE_COLLECTION, STATUS, _OK)
    item = f"{collection}/{{name}}"
    if "get" in verbs:
        yield item, make("get", "get", "read", (), resource.gvk, _OK, named=True)
    if "update" in verbs:
        yield item, make("put", "put", "replace", _WRITE, resource.gvk, _CREATED, named=True)
    if "patch" in verbs:
        yield item, make("patch", "patch", "patch", (*_WRITE, "force"), resource.gvk, _CREATED, named=True)
    if "delete" in verbs:
        yield item, make("delete", "delete", "delete", _DELETE, STATUS, _DELETED, named=True)
    for name, kind in sorted(resource.subresources.items()):
        yield from ((f"{item}/{name}", operation) for operation in _subresource(make, name, kind))


def _subresource(make: _Maker, name: str, kind: GroupVersionKind) -> Iterator[Operation]:
    if name == "log":
        yield make("get", "get", "read", _LOG, None, _OK, subresource=name, kind=kind, named=True)
    elif name in _CREATE_ONLY:
        yield make("post", "post", "create", _WRITE, kind, _POSTED, subresource=name, kind=kind, named=True)
    else:
        if name != "finalize":
            yield make("get", "get", "read", (), kind, _OK, subresource=name, kind=kind, named=True)
        yield make("put", "put", "replace", _WRITE, kind, _CREATED, subresource=name, kind=kind, named=True)
        if name != "finalize":
            writes = (*_WRITE, "force")
            yield make("patch", "patch", "patch", writes, kind, _CREATED, subresource=name, kind=kind, named=True)


class _Maker:
    """Makes the operations of one resource."""

    def __init__(self, resource: Resource, custom: bool) -> None:
        self.resource = resource
        self.patch_types = PATCH_TYPES[:-1] if custom else PATCH_TYPES
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
        parameters = [PRETTY, *(_QUERY[name] for name in query)]
        if resource.namespaced:
            parameters.append(_NAMESPACE)
        if named:
            parameters.append(Parameter("name", "string", f"name of the {resource.kind}", place="path"))
        what = f"{subresource} of the specified {resource.kind}" if subresource else resource.kind
        request = {"post": response, "put": response, "patch": PATCH, "delete": DELETE_OPTIONS}.get(method)
        return Operation(
            method=method,
            action=action,
            id=f"{verb}{self.title}{'Collection' if action == 'deletecollection' else ''}{self.scope}{resource.kind}"
            f"{subresource.title()}".replace("deletecollection", "delete"),
            tag=self.tag,
            description=f"{_DESCRIPTIONS[verb]} {what}",
            kind=kind or resource.gvk,
            parameters=tuple(parameters),
            request=request,
            consumes=() if request is None else self.patch_types if method == "patch" else JSON_TYPES,
            response=response,
            codes=codes,
        )

    def listing(self, *, everywhere: bool = False) -> Operation:
        resource = self.resource
        everything = "ForAllNamespaces" if everywhere else ""
        scope = "" if everywhere else self.scope
        return Operation(
            method="get",
            action="list",
            id=f"list{self.title}{scope}{resource.kind}{everything}",
            tag=self.tag,
            description=f"list or watch objects of kind {resource.kind}",
            kind=resource.gvk,
            parameters=(
                PRETTY,
                *(_QUERY[name] for name in _LIST),
                *((_NAMESPACE,) if resource.namespaced and not everywhere else ()),
            ),
            request=None,
            consumes=(),
            response=list_kind(resource),
            codes=_OK,
        )


_DESCRIPTIONS: Final = {
    "create": "create",
    "delete": "delete",
    "deletecollection": "delete collection of",
    "patch": "partially update",
    "read": "read",
    "replace": "replace",
}


def list_kind(resource: Resource) -> GroupVersionKind:
    return GroupVersionKind(resource.group, resource.version, resource.list_kind or f"{resource.kind}List")


def group_words(group: str) -> list[str]:
    """The words of a group's name, capitalized: ``Rbac`` and ``Authorization`` for ``rbac.authorization.k8s.io``."""
    name = group.removesuffix(".k8s.io") or "core"
    return [word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name) if word]


__all__ = ["Operation", "Parameter", "group_words", "list_kind", "operations"]

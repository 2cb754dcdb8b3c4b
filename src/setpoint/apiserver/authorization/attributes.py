"""The request attributes on which authorization is based (``authorizer.Attributes`` in upstream)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.errors import forbidden as forbidden_object
from setpoint.apiserver.http_types import UserInfo
from setpoint.meta import GroupResource
from setpoint.meta.names import path_segment
from setpoint.meta.text_escaping import quote

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
_FALSE: Final = frozenset({"false", "0"})


class Attributes(msgspec.Struct, frozen=True):
    """The attributes of one request. Only a non-resource request has a ``path``; its ``group`` and ``resource`` are
    empty.

    Attributes that a request does not have are empty: a request for all namespaces has no ``namespace``, and a list
    request has no ``name``.
    """

    user: UserInfo
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def is_resource(self) -> bool:
        return not self.path

    @property
    def combined(self) -> str:
        """The resource with its subresource, if any: ``pods``, or ``pods/log``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def forbidden(attributes: Attributes, reason: str = "") -> ApiStatusError:
    """The 403 error for a refused request, worded as in kube-apiserver."""
    words = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if attributes.is_resource:
        scope = f"in the namespace {quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
        text = f"{words} resource {quote(attributes.combined)} in API group {quote(attributes.group)} {scope}"
    else:
        text = f"{words} path {quote(attributes.path)}"
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    if reason:
        text += f": {reason}"
    return forbidden_object(GroupResource(attributes.group, attributes.resource), attributes.name, text)


def requested(method: str, path: str, query: Sequence[tuple[str, str]], user: UserInfo) -> Attributes:
    """The attributes of a request, derived from its method, path and query alone; the resource need not exist."""
    parts = path.strip("/").split("/")
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Attributes(user, method.lower(), path=path or "/")
    verb = _VERBS.get(method, "")
    if rest[0] in ("proxy", "watch") and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb, name = _listed(query)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(user, verb, group, version, resource, subresource, namespace, name)


def _listed(query: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The verb (``list`` or ``watch``), and the object name that a field selector requires (empty if there is none)."""
    watch, selector = None, None
    for key, value in query:
        if key == "watch" and watch is None:
            watch = value
        elif key == "fieldSelector" and selector is None:
            selector = value
    verb = "list" if watch is None or watch.lower() in _FALSE else "watch"
    for term in (selector or "").split(","):
        field, equals, value = term.partition("=")
        if equals and field == "metadata.name":
            value = value.removeprefix("=")
            return verb, "" if path_segment(value) else value
    return verb, ""

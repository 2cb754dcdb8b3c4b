"""Priority and fairness: finds the flow schema and priority level of a request. The server does not queue requests."""

from __future__ import annotations

import logging
from math import ceil
from typing import Final

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.storage import Storage, Subscription

_log = logging.getLogger(__name__)
_GROUP: Final = "flowcontrol.apiserver.k8s.io"
_SCHEMA: Final = "x-kubernetes-pf-flowschema-uid"
_LEVEL: Final = "x-kubernetes-pf-prioritylevel-uid"
_MOST: Final = 4096
_SEATS: Final = 600
"""The seats that levels share, as in a kube-apiserver: its limits of requests in flight, 400 and 200, together."""
_SHARES: Final = 30
"""The shares of a limited level that names no number."""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Subject(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    user: _Named | None = None
    group: _Named | None = None
    service_account: _Named | None = None

    def is_of(self, user: UserInfo) -> bool:
        if self.kind == "User":
            return self.user is not None and self.user.name in ("*", user.name)
        if self.kind == "Group":
            return self.group is not None and (self.group.name == "*" or self.group.name in user.groups)
        account = self.service_account
        if self.kind != "ServiceAccount" or account is None:
            return False
        prefix = f"system:serviceaccount:{account.namespace}:"
        return user.name.startswith(prefix) if account.name == "*" else user.name == prefix + account.name


class _Resources(msgspec.Struct, frozen=True, rename="camel"):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    cluster_scope: bool = False

    def matches(self, attributes: Attributes) -> bool:
        if not (_has(self.verbs, attributes.verb) and _has(self.resources, attributes.combined)):
            return False
        if not _has(self.api_groups, attributes.group):
            return False
        return _has(self.namespaces, attributes.namespace) if attributes.namespace else self.cluster_scope


class _Urls(msgspec.Struct, frozen=True):
    verbs: tuple[str, ...] = ()
    urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")

    def matches(self, attributes: Attributes) -> bool:
        return _has(self.verbs, attributes.verb) and any(_covers(url, attributes.path) for url in self.urls)


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    subjects: tuple[_Subject, ...] | None = None
    resource_rules: tuple[_Resources, ...] | None = None
    non_resource_rules: tuple[_Urls, ...] | None = None

    def matches(self, attributes: Attributes) -> bool:
        if not any(subject.is_of(attributes.user) for subject in self.subjects or ()):
            return False
        if attributes.is_resource:
            return any(rule.matches(attributes) for rule in self.resource_rules or ())
        return any(rule.matches(attributes) for rule in self.non_resource_rules or ())


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    matching_precedence: int = 1000
    priority_level_configuration: _Named = _Named()
    rules: tuple[_Rule, ...] | None = None


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""


class _Schema(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


class _Shares(msgspec.Struct, frozen=True, rename="camel"):
    nominal_concurrency_shares: int | None = None


class _LevelSpec(msgspec.Struct, frozen=True):
    exempt: _Shares | None = None
    limited: _Shares | None = None

    @property
    def shares(self) -> int:
        part = self.limited or self.exempt or _Shares()
        default = _SHARES if self.limited else 0
        return default if part.nominal_concurrency_shares is None else part.nominal_concurrency_shares


class _Level(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _LevelSpec = _LevelSpec()


class Flows:
    """Finds the response headers that name the flow schema and the priority level of a request. A change to the stored
    objects takes effect with the next request.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._schemas: list[tuple[_Schema, dict[str, str]]] | None = None
        self._headers_by_flow: dict[tuple[object, ...], dict[str, str]] = {}
        self._following: list[Subscription] = [
            storage.subscribe(f"{kind}.{_GROUP}", storage.revision, self._forget)
            for kind in ("flowschemas", "prioritylevelconfigurations")
        ]

    def close(self) -> None:
        for subscription in self._following:
            subscription.close()
        self._following.clear()

    def headers(self, attributes: Attributes) -> dict[str, str]:
        """Headers with the uids of the flow schema that matches the request and of its priority level; empty if no
        schema matches. If several schemas match, the one with the lowest ``matchingPrecedence`` is used.
        """
        user = attributes.user
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.combined,
            attributes.namespace,
            attributes.path,
        )
        flow_headers = self._headers_by_flow.get(key)
        if flow_headers is None:
            if self._schemas is None:
                self._schemas = self._read()
            matching = (headers for schema, headers in self._schemas if _matches(schema, attributes))
            if len(self._headers_by_flow) >= _MOST:
                self._headers_by_flow.clear()
            flow_headers = self._headers_by_flow[key] = next(matching, {})
        return flow_headers

    def nominal_seats(self) -> dict[str, int]:
        """The seats of each priority level by its share of all, which is a figure only: no request waits for a seat."""
        try:
            levels = [
                msgspec.json.decode(record.value, type=_Level)
                for record in self._storage.scan(f"prioritylevelconfigurations.{_GROUP}")
            ]
        except msgspec.MsgspecError as problem:
            _log.error("a priority level can't be read: %s", problem)
            return {}
        total = sum(level.spec.shares for level in levels) or 1
        return {level.metadata.name: ceil(_SEATS * level.spec.shares / total) for level in levels}

    def _forget(self) -> None:
        self._schemas = None
        self._headers_by_flow.clear()

    def _read(self) -> list[tuple[_Schema, dict[str, str]]]:
        """The flow schemas whose priority level exists, each with its headers, in the order in which they are tried."""
        levels: dict[str, str] = {}
        schemas: list[_Schema] = []
        try:
            for record in self._storage.scan(f"prioritylevelconfigurations.{_GROUP}"):
                level = msgspec.json.decode(record.value, type=_Level)
                levels[level.metadata.name] = level.metadata.uid
            for record in self._storage.scan(f"flowschemas.{_GROUP}"):
                schemas.append(msgspec.json.decode(record.value, type=_Schema))
        except msgspec.MsgspecError as problem:
            _log.error("a flow schema or priority level can't be read: %s", problem)
        schemas.sort(key=lambda schema: (schema.spec.matching_precedence, schema.metadata.name))
        return [
            (schema, {_SCHEMA: schema.metadata.uid, _LEVEL: levels[schema.spec.priority_level_configuration.name]})
            for schema in schemas
            if schema.spec.priority_level_configuration.name in levels
        ]


def _matches(schema: _Schema, attributes: Attributes) -> bool:
    return any(rule.matches(attributes) for rule in schema.spec.rules or ())


def _has(values: tuple[str, ...], wanted: str) -> bool:
    return values == ("*",) or wanted in values


def _covers(pattern: str, path: str) -> bool:
    """Whether ``path`` equals ``pattern`` or lies below it; the pattern may end with ``*``."""
    return pattern in ("*", path) or path.startswith(pattern.removesuffix("*").removesuffix("/") + "/")

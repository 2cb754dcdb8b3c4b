"""The base of all verbs: resource names, namespaces, requests, and observers of writes."""

from __future__ import annotations

from random import Random
from typing import Any, Protocol, TypeVar

from setpoint.client.dynamic import dynamic
from setpoint.client.errors import UnreadableAnswer
from setpoint.client.identity import check_key, check_kind
from setpoint.client.options import PatchType, checked_name
from setpoint.client.requester import JSON, MAX_OBJECT, Requester
from setpoint.client.transport import Transport
from setpoint.client.write_record import WriteObserver, WriteRecord
from setpoint.meta import DecodeError, Object, ObjectKey, Resource, decode, resource_of

__all__ = ["ClientBase"]

K = TypeVar("K", bound=Object)
M = TypeVar("M")


class ResourceNames(Protocol):
    """Finds resources by the names that kubectl accepts; `setpoint.client.RestMapper` implements it."""

    async def resource(self, name: str) -> Resource: ...


class ClientBase:
    """The state that all verbs of a client share; see `setpoint.client.Client`."""

    transport: Transport
    namespace: str
    field_manager: str
    random: Random
    _requester: Requester
    _names: ResourceNames
    _observers: list[WriteObserver]

    async def _write(
        self,
        verb: str,
        method: str,
        kind: type[K],
        key: ObjectKey,
        path: str,
        body: bytes,
        *,
        query: Any,
        content_type: str = JSON,
        subresource: str = "",
        before: bytes | None = None,
        observed: bool = True,
        named_by_server: bool = False,
    ) -> K:
        resource = resource_of(kind)
        answer = await self._requester.request(
            method,
            path,
            query=tuple(query),
            body=body,
            content_type=content_type,
            accept=accept_of(kind),
            verb=verb,
            resource=named(resource, subresource),
            key=key,
            limit=MAX_OBJECT,
        )
        made = readable(
            kind,
            answer,
            verb,
            named(resource, subresource),
            key,
            subresource=subresource,
            named_by_server=named_by_server,
        )
        if observed and self._observers:
            self._observe(
                WriteRecord(
                    resource,
                    made.key,
                    made.uid,
                    made.metadata.resource_version,
                    "apply" if content_type == PatchType.APPLY.value else verb,  # type: ignore[arg-type]
                    made.labels,
                    before,
                    answer,
                    content_type,
                    body,
                )
            )
        return made

    def _observe(self, record: WriteRecord) -> None:
        for observer in tuple(self._observers):
            observer(record)

    async def _kind(self, kind: type[Any] | str) -> type[Any]:
        """The class of a kind, which may be given as a class or by name."""
        return dynamic(await self._names.resource(kind)) if isinstance(kind, str) else kind

    def _manager(self, field_manager: str | None) -> str:
        return self.field_manager if field_manager is None else field_manager

    def _namespace_of(self, resource: Resource, namespace: str | None) -> str:
        if not resource.namespaced:
            return ""
        return checked_name(namespace or self.namespace, "the namespace")

    def _key(self, resource: Resource, namespace: str | None, name: str) -> ObjectKey:
        return ObjectKey.of(
            self._namespace_of(resource, namespace), checked_name(name, f"the name of the {resource.kind}")
        )


def readable(
    kind: type[M],
    body: bytes,
    verb: str,
    resource: Resource | str,
    key: ObjectKey,
    *,
    subresource: str = "",
    named_by_server: bool = False,
) -> M:
    """The server's answer decoded as ``kind``. An object must have the kind and, unless the server chooses its name,
    the ``key`` that was asked for.

    Raises:
        UnreadableAnswer: the answer does not fit the kind, or is something else than what was asked for.
    """
    try:
        if issubclass(kind, Object):
            check_kind(body, resource_of(kind), subresource)
        made = decode(kind, body)
        if isinstance(made, Object) and not named_by_server:
            check_key(made.key, key)
    except DecodeError as problem:
        raise UnreadableAnswer(problem, verb=verb, resource=resource, key=key) from None
    return made


def scope_of(namespace: str | None) -> str:
    return checked_name(namespace, "the namespace") if namespace else ""


def named(resource: Resource, subresource: str) -> Resource | str:
    return f"{resource}/{subresource}" if subresource else resource


def accept_of(kind: type[Object], *, listed: bool = False) -> str:
    wanted = getattr(kind, "accept_list" if listed else "accept", JSON)
    return wanted if isinstance(wanted, str) else JSON

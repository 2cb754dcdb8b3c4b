"""The base of all verbs: resource names, namespaces, requests, and observers of writes."""

from __future__ import annotations

from random import Random
from typing import Any, Protocol, TypeVar

from setpoint.client.dynamic import dynamic
from setpoint.client.errors import UnreadableAnswer, error_from_status
from setpoint.client.request_info import RequestInfo
from setpoint.client.requester import JSON, MAX_OBJECT, Requester
from setpoint.client.response_checks import beginnings_of, check_key, check_kind, kind_of
from setpoint.client.transport import Request, Transport
from setpoint.client.verb_options import PatchType, checked_name
from setpoint.client.write_record import WriteObserver, WriteRecord
from setpoint.meta import DecodeError, Object, ObjectKey, Resource, Status, decode, resource_of

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
        kind: type[K],
        request: Request,
        info: RequestInfo,
        *,
        before: bytes | None = None,
        observed: bool = True,
        named_by_server: bool = False,
    ) -> K:
        """Sends a write of one object, reads the answer as ``kind`` and, if ``observed``, tells the observers."""
        answer = await self._requester.request(request, info, limit=MAX_OBJECT)
        obj = readable(kind, answer, info, named_by_server=named_by_server)
        if observed and self._observers:
            content_type = request.headers["content-type"]
            self.note_write(
                WriteRecord(
                    resource_of(kind),
                    obj.key,
                    obj.uid,
                    obj.metadata.resource_version,
                    "apply" if content_type == PatchType.APPLY.value else info.verb,  # type: ignore[arg-type]
                    obj.labels,
                    before,
                    answer,
                    content_type,
                    request.body or b"",
                )
            )
        return obj

    def note_write(self, record: WriteRecord) -> None:
        """Reports a write to the observers (`Client.on_write`), as verbs do. Call this method for a write of a single
        object that was not made by a verb, or whose answer a verb could not read.
        """
        for observer in tuple(self._observers):
            observer(record)

    async def _kind(self, name: str) -> type[Any]:
        return dynamic(await self._names.resource(name))

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
    info: RequestInfo,
    *,
    named_by_server: bool = False,
) -> M:
    """The server's answer decoded as ``kind``. An object must have the kind and, unless the server chooses its name,
    the key that was asked for.

    Raises:
        UnreadableAnswer: the answer does not fit the kind, or is something else than what was asked for.
    """
    try:
        if not body.startswith(beginnings_of(kind)) and issubclass(kind, Object):  # type: ignore[arg-type]
            own = resource_of(kind)
            check_kind(body, own, info.subresource if info.subresource and own == info.resource else "")
        model = decode(kind, body)
        if isinstance(model, Object) and not named_by_server and (key := model.key) != info.key:
            check_key(key, ObjectKey(info.key))
    except DecodeError as problem:
        raise UnreadableAnswer(problem, verb=info.verb, resource=info.target, key=info.key) from None
    return model


def status_in(body: bytes, info: RequestInfo) -> Status | None:
    """The Status that ``body`` is, or None if it is something else. Raises the error of a Status that is a Failure."""
    try:
        if kind_of(body) not in (("v1", "Status"), ("", "Status")):  # another group may have a kind of that name
            return None
    except DecodeError:
        return None  # and no object either, as its reading will say
    status = readable(Status, body, info)
    if status.status == "Failure":
        raise error_from_status(status, verb=info.verb, resource=str(info.resource), key=info.key)
    return status


def scope_of(namespace: str | None) -> str:
    return checked_name(namespace, "the namespace") if namespace else ""


def accept_of(kind: type[Object], *, listed: bool = False) -> str:
    wanted = getattr(kind, "accept_list" if listed else "accept", JSON)
    return wanted if isinstance(wanted, str) else JSON

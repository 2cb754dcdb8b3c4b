"""The verbs that delete one object or many."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from setpoint.client.base import ClientBase, accept_of, readable, status_in
from setpoint.client.dynamic import DynamicObject
from setpoint.client.object_list import decode_list
from setpoint.client.request_info import RequestInfo
from setpoint.client.requester import MAX_OBJECT, build_request
from setpoint.client.verb_options import AnyFieldSelector, AnySelector, Propagation, delete_options, list_query
from setpoint.client.write_record import WriteRecord
from setpoint.meta import Object, Status, resource_of
from setpoint.meta.shard_ranges import ShardRanges

K = TypeVar("K", bound=Object)


class Deleting(ClientBase):
    """The verbs that delete; a part of `setpoint.client.Client`."""

    @overload
    async def delete(
        self,
        obj_or_kind: K,
        name: None = None,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | Status: ...

    @overload
    async def delete(
        self,
        obj_or_kind: type[K],
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | Status: ...

    @overload
    async def delete(
        self,
        obj_or_kind: str,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> DynamicObject | Status: ...

    async def delete(
        self,
        obj_or_kind: K | type[K] | str,
        name: str | None = None,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> K | DynamicObject | Status:
        """Requests the deletion of an object, given as an object or by kind and name.

        The uid of a given object is a precondition: a newer object of the same name is not deleted. An object that
        still exists is returned with its deletion timestamp (it has finalizers or a grace period). For an object that
        is gone, the server's answer is returned: the last state of the object, or a `Status`.

        Raises:
            NotFound: the object does not exist.
            Conflict: a precondition (``uid``, ``resource_version``) does not hold.
        """
        if isinstance(obj_or_kind, Object):
            kind: type[Any] = type(obj_or_kind)
            name, namespace = obj_or_kind.name, namespace or obj_or_kind.namespace
            uid = obj_or_kind.uid if uid is None else uid
        else:
            kind = await self._kind(obj_or_kind) if isinstance(obj_or_kind, str) else obj_or_kind
            if name is None:
                raise TypeError(f"delete({kind.__name__}, ...) needs a name; delete_all deletes many")
        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        options = delete_options(uid, resource_version, propagation, grace_period_seconds, dry_run)
        path = resource.path(namespace=key.namespace, name=key.name)
        info = RequestInfo("delete", resource, key)
        body = await self._requester.request(
            build_request("DELETE", path, body=options, accept=accept_of(kind)), info, limit=MAX_OBJECT
        )
        if (status := status_in(body, info)) is not None:
            if not dry_run:
                gone_uid = uid or (status.details.uid if status.details else "")
                self.note_write(WriteRecord(resource, key, gone_uid, "", "delete"))
            return status
        answer: K = readable(kind, body, info)
        if not dry_run:
            self.note_write(
                WriteRecord(
                    resource, key, answer.uid, answer.metadata.resource_version, "delete", answer.labels, after=body
                )
            )
        return answer

    async def delete_all(
        self,
        kind: type[Object] | str,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        field_selector: AnyFieldSelector = None,
        propagation: Propagation | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float = 60.0,
    ) -> None:
        """Requests the deletion of all matching objects of a kind in one namespace (default: the client's).

        Objects with finalizers still exist afterwards. The operation is not atomic: when it raises an error, some
        objects may already be deleted.

        Raises:
            TransportError: the answer is neither a list of the kind nor a Status: it is hardly the API server's.
            TypeError: ``field_selector`` is `ShardRanges`, which many servers ignore: they would delete all objects.
        """
        if isinstance(field_selector, ShardRanges):
            raise TypeError("delete_all can't take ShardRanges: a server that ignores them would delete all objects")
        kind = await self._kind(kind) if isinstance(kind, str) else kind
        resource = resource_of(kind)
        place = self._namespace_of(resource, namespace)
        request = build_request(
            "DELETE",
            resource.path(namespace=place),
            query=list_query(selector, field_selector),
            body=delete_options(None, None, propagation, grace_period_seconds, dry_run),
            timeout=timeout,
        )
        info = RequestInfo("deletecollection", resource, f"{place}/" if place else "")
        body = await self._requester.request(request, info)
        if status_in(body, info) is None:
            decode_list(kind, body)

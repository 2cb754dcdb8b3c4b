"""The verbs that write: create, update, replace, patch, apply."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from setpoint.client.apply_configuration import configuration_of
from setpoint.client.base import ClientBase, accept_of
from setpoint.client.dynamic import DynamicObject
from setpoint.client.patches import changes
from setpoint.client.request_info import RequestInfo
from setpoint.client.requester import build_request
from setpoint.client.verb_options import (
    FieldValidation,
    Patch,
    PatchBody,
    PatchType,
    write_query,
)
from setpoint.meta import Object, ObjectKey, json_of, raw_of, resource_of, to_wire

K = TypeVar("K", bound=Object)


def _check(obj: Any, verb: str) -> None:
    """Raises TypeError for a value that is not an object, such as the dict of a manifest."""
    if isinstance(obj, Object):
        return
    if isinstance(obj, type):
        raise TypeError(f"client.{verb}: obj must be an object, not the class {obj.__name__} itself")
    raise TypeError(
        f"client.{verb}: obj must be an object of a kind such as setpoint.models.core_v1.ConfigMap, not of "
        f"{type(obj).__name__}; setpoint.meta.from_wire(ConfigMap, document) makes one of plain JSON values"
    )


class Writing(ClientBase):
    """The verbs that write; a part of `setpoint.client.Client`."""

    async def create(
        self,
        obj: K,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Stores a new object and returns it as stored. The server may generate its name (``generate_name``).

        Raises:
            AlreadyExists: the name is taken.
            Invalid: the object is not valid; `Invalid.causes` has the reasons.
        """
        _check(obj, "create")
        resource = resource_of(type(obj))
        namespace = self._namespace_of(resource, obj.namespace)
        document = to_wire(obj)
        if namespace and not obj.namespace:
            document.setdefault("metadata", {})["namespace"] = namespace
        request = build_request(
            "POST",
            resource.path(namespace=namespace),
            query=write_query(dry_run, self._manager(field_manager), field_validation),
            body=json_of(document, resource.kind, obj.name),
            accept=accept_of(type(obj)),
        )
        return await self._write(
            type(obj),
            request,
            RequestInfo("create", resource, ObjectKey.of(namespace, obj.name or obj.metadata.generate_name)),
            observed=not dry_run,
            named_by_server=not obj.name,  # or the object has no name at all, as reviews
        )

    async def update(
        self,
        obj: K,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Stores the changes made to ``obj`` since it was read; returns the object as stored.

        The request is a patch computed from the JSON that was read, so fields unknown to the model survive. The patch
        applies only to the version that was read. If nothing changed, nothing is sent and ``obj`` is returned.

        Raises:
            Conflict: another client has changed the object; read it again (`setpoint.client.retry_on_conflict`).
            ValueError: ``obj`` was created locally; use `apply`, `create` or `replace`.
        """
        _check(obj, "update")
        change = changes(obj)
        if change is None:
            return obj
        patch_type, body = change
        return await self.patch(
            type(obj),
            obj.name,
            Patch(body, patch_type, before=raw_of(obj)),
            namespace=obj.namespace,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
        )

    async def update_status(self, obj: K, *, dry_run: bool = False, field_manager: str | None = None) -> K:
        """Does the same as `update` for changes in ``obj.status``; the server ignores other changes."""
        return await self.update(obj, subresource="status", dry_run=dry_run, field_manager=field_manager)

    async def replace(
        self,
        obj: K,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K:
        """Replaces the stored object with ``obj`` (PUT). *This drops fields that the model of* ``obj`` *does not know*.

        If ``obj`` has a resource version, only that version is replaced; otherwise changes by other clients are
        overwritten.

        Raises:
            Conflict: the object has changed since it was read.
        """
        _check(obj, "replace")
        resource = resource_of(type(obj))
        key = self._key(resource, obj.namespace, obj.name)
        document = to_wire(obj)
        if key.namespace and not obj.namespace:
            document.setdefault("metadata", {})["namespace"] = key.namespace
        request = build_request(
            "PUT",
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            query=write_query(dry_run, self._manager(field_manager), field_validation),
            body=json_of(document, resource.kind, obj.name),
            accept=accept_of(type(obj)),
        )
        info = RequestInfo("update", resource, key, subresource)
        return await self._write(type(obj), request, info, observed=not dry_run)

    @overload
    async def patch(
        self,
        kind: type[K],
        name: str,
        patch: PatchBody | Patch,
        *,
        type: PatchType | None = None,
        namespace: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K: ...

    @overload
    async def patch(
        self,
        kind: str,
        name: str,
        patch: PatchBody | Patch,
        *,
        type: PatchType | None = None,
        namespace: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> DynamicObject: ...

    async def patch(
        self,
        kind: type[K] | str,
        name: str,
        patch: PatchBody | Patch,
        *,
        type: PatchType | None = None,
        namespace: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> K | DynamicObject:
        """Changes an object by a patch; returns the object as stored.

        ``type`` is the type of the patch, unless it is a `Patch`, which has one. By default a list of operations is a
        JSON patch, and anything else a merge patch.

        Raises:
            NotFound: the object does not exist (`PatchType.APPLY` creates it).
            Conflict: the patch names a resource version that is not the stored one.
            Invalid: the result is not valid, or a ``test`` of a JSON patch failed.
        """
        if isinstance(kind, str):
            kind = await self._kind(kind)
        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        if not isinstance(patch, Patch):
            patch = Patch(patch, type or PatchType.of(patch))
        elif type is not None:
            raise TypeError("client.patch: type is for a plain body; a Patch has a type of its own")
        query = write_query(dry_run, self._manager(field_manager), field_validation)
        if patch.force:
            query.append(("force", "true"))
        body = patch.body
        request = build_request(
            "PATCH",
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            query=query,
            body=body if isinstance(body, bytes) else json_of(body, "the patch of", resource.kind, key),
            content_type=patch.type.value,
            accept=accept_of(kind),
        )
        info = RequestInfo("patch", resource, key, subresource)
        return await self._write(kind, request, info, before=patch.before, observed=not dry_run)

    async def apply(
        self,
        obj: K,
        *,
        force: bool = True,
        field_manager: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        before: bytes | None = None,
    ) -> K:
        """Server-side apply (KEP-555): sets the fields of ``obj``, which this field manager then owns.

        Fields that this manager applied before and that ``obj`` no longer has are removed; all others stay. Fields that
        only the server may set (uid, resourceVersion, managedFields, status and the like) are not sent, and a Secret's
        ``string_data`` is sent as ``data``. With ``subresource="status"`` the status is sent. For ``before`` see
        `patch`.

        Raises:
            Conflict: another manager owns a field and has a different value for it (only without ``force``). The causes
                of the error name the managers and the fields.
        """
        _check(obj, "apply")
        resource = resource_of(type(obj))
        key = self._key(resource, obj.namespace, obj.name)
        query = write_query(dry_run, self._manager(field_manager), field_validation)
        if force:
            query.append(("force", "true"))
        request = build_request(
            "PATCH",
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            query=query,
            body=json_of(configuration_of(obj, key.namespace, subresource), resource.kind, key),
            content_type=PatchType.APPLY.value,
            accept=accept_of(type(obj)),
        )
        info = RequestInfo("patch", resource, key, subresource)
        return await self._write(type(obj), request, info, before=before, observed=not dry_run)

"""Subresources: scale, eviction, binding, tokens, approval and logs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from setpoint.client.base import ClientBase, readable, status_in
from setpoint.client.errors import BadRequest, UnreadableAnswer
from setpoint.client.request_info import RequestInfo
from setpoint.client.requester import MAX_OBJECT, build_request, build_stream_request
from setpoint.client.transport import Response
from setpoint.client.verb_options import PatchType, write_query
from setpoint.client.write_record import WriteRecord
from setpoint.meta import DecodeError, Object, Resource, Status, resource_of, to_wire

if TYPE_CHECKING:
    from setpoint.models.authentication_v1 import TokenRequest
    from setpoint.models.autoscaling_v1 import Scale
    from setpoint.models.certificates_v1 import CertificateSigningRequest
    from setpoint.models.core_v1 import Pod, ServiceAccount

K = TypeVar("K", bound=Object)
S = TypeVar("S", bound=Object)
_NO_EVICTION = 'no kind "Eviction" is registered for version "policy/v1"'
LOG_IDLE = 3600.0
"""Seconds without output after which the connection of a followed log counts as dead. The limit is high because a
container may write nothing for a long time.
"""


class Subresources(ClientBase):
    """The verbs for the subresources of some kinds; a part of `setpoint.client.Client`."""

    # -- scale ------------------------------------------------------------------------------------------------------

    async def get_scale(self, kind: type[Object], name: str, *, namespace: str | None = None) -> Scale:
        """The desired and the actual number of replicas of an object whose kind has a ``scale`` subresource.

        Raises:
            NotFound: the object does not exist, or its kind can't be scaled.
        """
        from setpoint.models.autoscaling_v1 import Scale

        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        path = resource.path(namespace=key.namespace, name=key.name, subresource="scale")
        info = RequestInfo("get", resource, key, "scale")
        body = await self._requester.request(build_request("GET", path), info, limit=MAX_OBJECT)
        return readable(Scale, body, info)

    async def patch_scale(
        self,
        kind: type[Object],
        name: str,
        replicas: int,
        *,
        namespace: str | None = None,
        resource_version: str = "",
        dry_run: bool = False,
    ) -> Scale:
        """Sets the desired number of replicas. With ``resource_version``, this succeeds only if the object has that
        version.

        Raises:
            Conflict: the object has a different resource version.
        """
        from setpoint.models.autoscaling_v1 import Scale

        resource = resource_of(kind)
        key = self._key(resource, namespace, name)
        patch: dict[str, Any] = {"spec": {"replicas": replicas}}
        if resource_version:
            patch["metadata"] = {"resourceVersion": resource_version}
        request = build_request(
            "PATCH",
            resource.path(namespace=key.namespace, name=key.name, subresource="scale"),
            query=write_query(dry_run, self.field_manager, None),
            body=msgspec.json.encode(patch),
            content_type=PatchType.MERGE.value,
        )
        info = RequestInfo("patch", resource, key, "scale")
        scale = readable(Scale, await self._requester.request(request, info, limit=MAX_OBJECT), info)
        if not dry_run:
            version = scale.metadata.resource_version
            self.note_write(WriteRecord(resource, key, scale.uid, version, "patch"))
        return scale

    # -- pods, service accounts and certificate requests ------------------------------------------------------------

    async def evict(
        self,
        pod: Pod | str,
        *,
        namespace: str | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Status:
        """Evicts a pod, subject to its disruption budgets. If ``pod`` is a `Pod`, its uid is a precondition.

        Servers before 1.22 support only evictions of ``policy/v1beta1``; for them, the request is repeated in that
        version.

        Raises:
            TooManyRequests: a budget does not allow the eviction now; see ``retry_after``.
        """
        options: dict[str, Any] = {}
        if not isinstance(pod, str):
            options["preconditions"] = {"uid": pod.uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if dry_run:
            options["dryRun"] = ["All"]
        body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction"}
        if options:
            body["deleteOptions"] = options
        try:
            return await self._post_action(_POD, *_named_by(pod, namespace), "eviction", body)
        except BadRequest as problem:
            if _NO_EVICTION not in problem.message:
                raise
            body["apiVersion"] = "policy/v1beta1"
            return await self._post_action(_POD, *_named_by(pod, namespace), "eviction", body)

    async def bind(self, pod: Pod | str, node: str, *, namespace: str | None = None) -> Status:
        """Assigns a pod to a node, as a scheduler does.

        Raises:
            Conflict: the pod is already assigned.
        """
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Binding",
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        if not isinstance(pod, str) and pod.uid:
            body["metadata"] = {"uid": pod.uid}
        return await self._post_action(_POD, *_named_by(pod, namespace), "binding", body)

    async def create_token(
        self,
        service_account: ServiceAccount | str,
        *,
        namespace: str | None = None,
        audiences: tuple[str, ...] = (),
        expiration_seconds: int | None = None,
    ) -> TokenRequest:
        """A new token for a service account, in ``status.token``. Do not log it."""
        from setpoint.models.authentication_v1 import TokenRequest

        spec: dict[str, Any] = {"audiences": list(audiences)}
        if expiration_seconds is not None:
            spec["expirationSeconds"] = expiration_seconds
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        place = _named_by(service_account, namespace)
        answer, info = await self._post(_SERVICE_ACCOUNT, *place, "token", body)
        granted = readable(TokenRequest, answer, info, named_by_server=True)  # older servers leave out its name
        if not granted.status.token:
            problem = DecodeError("it has no token")
            raise UnreadableAnswer(problem, verb=info.verb, resource=info.target, key=info.key)
        return granted

    async def approve(self, request: CertificateSigningRequest) -> CertificateSigningRequest:
        """Writes the conditions of ``request`` (``Approved`` or ``Denied``) through its subresource ``approval``."""
        resource = resource_of(type(request))
        key = self._key(resource, None, request.name)
        put = build_request(
            "PUT",
            resource.path(name=key.name, subresource="approval"),
            query=write_query(False, self.field_manager, None),
            body=msgspec.json.encode(to_wire(request)),
        )
        return await self._write(type(request), put, RequestInfo("update", resource, key, "approval"))

    async def logs(
        self,
        pod: Pod | str,
        *,
        namespace: str | None = None,
        container: str = "",
        previous: bool = False,
        timestamps: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        limit_bytes: int | None = None,
    ) -> str:
        """The output of a container so far. Bytes that are not valid UTF-8 are replaced."""
        query = _log_query(container, previous, timestamps, tail_lines, since_seconds, limit_bytes)
        key = self._key(_POD, *_named_by(pod, namespace))
        path = _POD.path(namespace=key.namespace, name=key.name, subresource="log")
        body = await self._requester.request(
            build_request("GET", path, query=query, accept="*/*"), RequestInfo("get", _POD, key, "log")
        )
        return body.decode("utf-8", "replace")

    def follow_logs(
        self,
        pod: Pod | str,
        *,
        namespace: str | None = None,
        container: str = "",
        previous: bool = False,
        timestamps: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        limit_bytes: int | None = None,
        idle_timeout: float | None = LOG_IDLE,
    ) -> AbstractAsyncContextManager[Response]:
        """The output of a container as a stream: ``async with ... as log: async for chunk in log.chunks()``."""
        query = _log_query(container, previous, timestamps, tail_lines, since_seconds, limit_bytes)
        key = self._key(_POD, *_named_by(pod, namespace))
        path = _POD.path(namespace=key.namespace, name=key.name, subresource="log")
        query.append(("follow", "true"))
        return self._requester.stream(
            build_stream_request(path, query=query, accept="*/*", idle_timeout=idle_timeout),
            RequestInfo("get", _POD, key, "log"),
        )

    async def _post(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        subresource: str,
        body: dict[str, Any],
    ) -> tuple[bytes, RequestInfo]:
        key = self._key(resource, namespace, name)
        metadata = {"name": key.name, "namespace": key.namespace, **body.get("metadata", {})}
        request = build_request(
            "POST",
            resource.path(namespace=key.namespace, name=key.name, subresource=subresource),
            query=write_query(False, self.field_manager, None),
            body=msgspec.json.encode({**body, "metadata": metadata}),
        )
        info = RequestInfo("create", resource, key, subresource)
        return await self._requester.request(request, info, limit=MAX_OBJECT), info

    async def _post_action(
        self, resource: Resource, namespace: str | None, name: str, subresource: str, body: dict[str, Any]
    ) -> Status:
        """The Status with which the server answers that it has carried out an action. Raises the error of a Status
        that is a Failure, which a proxy may send with the code 200.
        """
        answer, info = await self._post(resource, namespace, name, subresource, body)
        if (status := status_in(answer, info)) is None:
            problem = DecodeError("it is not a Status of v1")
            raise UnreadableAnswer(problem, verb=info.verb, resource=info.target, key=info.key)
        return status


_POD = Resource(group="", version="v1", kind="Pod", plural="pods")
_SERVICE_ACCOUNT = Resource(group="", version="v1", kind="ServiceAccount", plural="serviceaccounts")


def _named_by(obj: Object | str, namespace: str | None) -> tuple[str | None, str]:
    return (namespace, obj) if isinstance(obj, str) else (namespace or obj.namespace, obj.name)


def _log_query(
    container: str,
    previous: bool,
    timestamps: bool,
    tail_lines: int | None,
    since_seconds: int | None,
    limit_bytes: int | None,
) -> list[tuple[str, str]]:
    query = [("container", container)] if container else []
    query += [(name, "true") for name, value in (("previous", previous), ("timestamps", timestamps)) if value]
    numbers = (("tailLines", tail_lines), ("sinceSeconds", since_seconds), ("limitBytes", limit_bytes))
    query += [(name, str(number)) for name, number in numbers if number is not None]
    return query

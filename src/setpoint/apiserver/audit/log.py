"""Audit events as lines of JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from setpoint.apiserver.audit.policy import LEVELS, AuditPolicy
from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.http_types import IncomingRequest, Response, UserInfo
from setpoint.meta import format_micro_time

JsonObject = dict[str, Any]
_JSON: Final = "application/json"


class AuditLog:
    """Calls ``write`` with a line of JSON for each stage of each request that comes from the network and that
    ``policy`` selects.

    A request has the stages ``RequestReceived`` and ``ResponseComplete``; one with a streamed response, such as a
    watch, has ``ResponseStarted`` between them.
    """

    def __init__(self, policy: AuditPolicy, write: Callable[[bytes], object]) -> None:
        self._policy = policy
        self._write = write

    def note(
        self,
        request: IncomingRequest,
        attributes: Attributes,
        requester: UserInfo,
        response: Response,
        *,
        uid: str,
        received: datetime,
        now: Callable[[], datetime],
        notes: Mapping[str, str],
    ) -> None:
        """Logs a request that was received at ``received`` and is now answered with ``response``.

        ``attributes.user`` is the user for whom the request was made, and ``requester`` is its sender. For a streamed
        response, ``ResponseComplete`` is logged when the stream ends. ``notes`` are the annotations of authorization
        and admission.
        """
        decided = self._policy.decide(Attributes(requester, *_fields(attributes)))
        if decided.level == "None":
            return
        level = LEVELS.index(decided.level)
        event = _event(request, attributes, requester, decided.level, uid)

        def log(stage: str, moment: datetime, **more: Any) -> None:
            if stage not in decided.omitted:
                stamps = {
                    "requestReceivedTimestamp": format_micro_time(received),
                    "stageTimestamp": format_micro_time(moment),
                }
                self._write(msgspec.json.encode({**event, "stage": stage, **more, **stamps}) + b"\n")

        log("RequestReceived", received)
        document = _document(request.body, request.headers.get("content-type", _JSON)) if request.body else None
        if isinstance(document, dict) and "objectRef" in event:
            _complete(event["objectRef"], document.get("metadata"))
        more: JsonObject = {}
        if level >= LEVELS.index("Request") and document is not None:
            more["requestObject"] = document if decided.managed_fields else _without_managed(document)
        if notes:
            more["annotations"] = dict(notes)
        body = response.body
        if not isinstance(body, bytes):
            status = {"responseStatus": {"metadata": {}, "code": response.status}}
            log("ResponseStarted", now(), **more, **status)
            response.body = _followed(body, lambda: log("ResponseComplete", now(), **more, **status))
            return
        answer = _document(body, response.headers.get("content-type", ""))
        failed = isinstance(answer, dict) and answer.get("kind") == "Status" and answer.get("status") == "Failure"
        status_document: JsonObject = {"metadata": {}, "code": response.status}
        if failed and isinstance(answer, dict):
            fields = ("status", "message", "reason", "details")
            status_document = {
                "metadata": {},
                **{key: answer[key] for key in fields if key in answer},
                "code": response.status,
            }
        more["responseStatus"] = status_document
        if level == LEVELS.index("RequestResponse") and answer is not None:
            more["responseObject"] = answer if decided.managed_fields else _without_managed(answer)
        log("ResponseComplete", now(), **more)


def _fields(attributes: Attributes) -> tuple[str, ...]:
    return (
        *(attributes.verb, attributes.group, attributes.version, attributes.resource),
        *(attributes.subresource, attributes.namespace, attributes.name, attributes.path),
    )


def _event(request: IncomingRequest, attributes: Attributes, requester: UserInfo, level: str, uid: str) -> JsonObject:
    peer = getattr(request, "peer", None)
    query = urlencode(request.query)
    event: JsonObject = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level,
        "auditID": uid,
        "stage": "",
        "requestURI": quote(request.path) + (f"?{query}" if query else ""),
        "verb": attributes.verb,
        "user": _user(requester),
    }
    if attributes.user != requester:
        event["impersonatedUser"] = _user(attributes.user)
    if peer is not None and peer.address:
        event["sourceIPs"] = [peer.address]
    if agent := request.headers.get("user-agent"):
        event["userAgent"] = agent
    if attributes.is_resource:
        parts = {
            "resource": attributes.resource,
            "namespace": attributes.namespace,
            "name": attributes.name,
            "apiGroup": attributes.group,
            "apiVersion": attributes.version,
            "subresource": attributes.subresource,
        }
        event["objectRef"] = {key: value for key, value in parts.items() if value}
    return event


def _user(user: UserInfo) -> JsonObject:
    document: JsonObject = {"username": user.name} if user.name else {}
    if user.uid:
        document["uid"] = user.uid
    if user.groups:
        document["groups"] = list(user.groups)
    if user.extra:
        document["extra"] = {key: list(values) for key, values in user.extra.items()}
    return document


def _complete(reference: JsonObject, metadata: Any) -> None:
    """Fills in the namespace, name, uid and resourceVersion that an object reference lacks, from the body's
    ``metadata``.
    """
    if isinstance(metadata, dict):
        for name in ("namespace", "name", "uid", "resourceVersion"):
            value = metadata.get(name)
            if isinstance(value, str) and value:
                reference.setdefault(name, value)


def _document(body: bytes | None, kind: str) -> Any:
    """The JSON of a body; None if the format is not JSON or the body can't be decoded."""
    if body is None or "json" not in kind:
        return None
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None


def _without_managed(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    copy = dict(document)
    if isinstance(copy.get("metadata"), dict):
        copy["metadata"] = {key: value for key, value in copy["metadata"].items() if key != "managedFields"}
    if isinstance(copy.get("items"), list):
        copy["items"] = [_without_managed(item) for item in copy["items"]]
    return copy


async def _followed(body: AsyncIterator[bytes], ended: Callable[[], None]) -> AsyncIterator[bytes]:
    try:
        async for chunk in body:
            yield chunk
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()
        ended()

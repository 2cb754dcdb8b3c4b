"""The errors in the server's responses: `Status` objects with the wording of a kube-apiserver.

The wording is part of the interface, because tests and people compare it. It follows apimachinery's ``api/errors``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from setpoint.meta import GroupKind, GroupResource
from setpoint.schema import FieldError, to_aggregate_message, to_causes

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class ApiStatusError(Exception):
    """Ends a request with ``status``, a ``v1`` Status document, and the HTTP status ``code``."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.warnings: Sequence[str] = ()
        """Warnings for the headers of the response."""
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(metadata or {}),
            "status": "Failure",
            "message": message,
        }
        if reason:
            self.status["reason"] = reason
        if details is not None:
            self.status["details"] = {key: value for key, value in details.items() if value}
        self.status["code"] = code


def _about(resource: GroupResource, name: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "group": resource.group, "kind": resource.resource, **more}


def bad_request(message: str) -> ApiStatusError:
    return ApiStatusError(400, "BadRequest", message)


def not_found(resource: GroupResource, name: str) -> ApiStatusError:
    return ApiStatusError(404, "NotFound", f'{resource} "{name}" not found', _about(resource, name))


def no_such_path() -> ApiStatusError:
    return ApiStatusError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_supported(resource: GroupResource, verb: str) -> ApiStatusError:
    message = f'{verb} is not supported on resources of kind "{resource}"'
    return ApiStatusError(405, "MethodNotAllowed", message, _about(resource))


def no_representation(available: Iterable[str]) -> ApiStatusError:
    """The error for an Accept header that allows none of the ``available`` media types."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}"
    return ApiStatusError(406, "NotAcceptable", message, {})


def not_acceptable(accepted: Iterable[str]) -> ApiStatusError:
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return ApiStatusError(406, "NotAcceptable", message)


def already_exists(resource: GroupResource, name: str, *, is_deleting: bool = False) -> ApiStatusError:
    """The error for a name that is taken (409). ``is_deleting``: whether the existing object is being deleted."""
    message = f'{"object is being deleted: " if is_deleting else ""}{resource} "{name}" already exists'
    return ApiStatusError(409, "AlreadyExists", message, _about(resource, name))


def name_not_generated(resource: GroupResource, name: str) -> ApiStatusError:
    """The error for a generated name when every attempt produced a name that is taken."""
    message = f'{resource} "{name}" already exists, the server was not able to generate a unique name for the object'
    return ApiStatusError(409, "AlreadyExists", message, _about(resource, name, retryAfterSeconds=1))


def conflict(resource: GroupResource, name: str, reason: str = MODIFIED) -> ApiStatusError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {reason}'
    return ApiStatusError(409, "Conflict", message, _about(resource, name))


def apply_conflict(message: str, causes: Sequence[Mapping[str, str]]) -> ApiStatusError:
    return ApiStatusError(409, "Conflict", message, {"causes": list(causes)})


def expired(message: str, *, continue_: str = "") -> ApiStatusError:
    return ApiStatusError(410, "Expired", message, metadata={"continue": continue_} if continue_ else None)


def request_entity_too_large(reason: str) -> ApiStatusError:
    return ApiStatusError(413, "RequestEntityTooLarge", f"Request entity too large: {reason}")


def unsupported_media_type(accepted: Sequence[str], *, routed: bool = False) -> ApiStatusError:
    """The error for a body in another format than the ``accepted`` ones. ``routed``: upstream's router refuses it, in
    words of its own.
    """
    if routed:
        return ApiStatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return ApiStatusError(415, "UnsupportedMediaType", message)


def unsupported_encoding(encoding: str) -> ApiStatusError:
    return ApiStatusError(
        415,
        "UnsupportedMediaType",
        f"bodies encoded as {encoding!r} are not supported: send them unencoded",
    )


def invalid(kind: GroupKind, name: str, errors: Sequence[FieldError]) -> ApiStatusError:
    """The error for an invalid object (422), with a cause for each of the ``errors``."""
    text = to_aggregate_message(errors)
    message = f'{kind} "{name}" is invalid' + (f": {text}" if text else "")
    details = {"name": name, "group": kind.group, "kind": kind.kind, "causes": to_causes(errors)}
    return ApiStatusError(422, "Invalid", message, details)


def unprocessable(reason: str = "") -> ApiStatusError:
    """The error for a JSON patch that can't be applied. As with a kube-apiserver, it does not say why, unless it is for
    a limit of this server, ``reason``.
    """
    text = "the server rejected our request due to an error in our request"
    return ApiStatusError(422, "Invalid", f"{text}: {reason}" if reason else text, {})


def forbidden(
    resource: GroupResource, name: str, reason: str, causes: Sequence[Mapping[str, str]] = ()
) -> ApiStatusError:
    subject = f'{resource} "{name}" is ' if name else f"{resource} is " if resource.resource else ""
    return ApiStatusError(
        403, "Forbidden", f"{subject}forbidden: {reason}", _about(resource, name, causes=list(causes))
    )


def too_many_requests(message: str, retry_after: int) -> ApiStatusError:
    return ApiStatusError(429, "TooManyRequests", message, {"retryAfterSeconds": retry_after})


def internal_error(message: str) -> ApiStatusError:
    details = {"causes": [{"message": message}]}
    return ApiStatusError(500, "InternalError", f"Internal error occurred: {message}", details)


def timeout(message: str, *, retry_after: int = 0, causes: Sequence[Mapping[str, str]] = ()) -> ApiStatusError:
    details = {"causes": list(causes), "retryAfterSeconds": retry_after}
    return ApiStatusError(504, "Timeout", f"Timeout: {message}", details)


def too_large_resource_version(wanted: int, current: int) -> ApiStatusError:
    """The error for a read "not older than" a revision that does not exist yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return timeout(f"Too large resource version: {wanted}, current: {current}", retry_after=1, causes=[cause])

"""The errors of a client: one exception per reason."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from setpoint.client.transport import TransportError
from setpoint.meta import DecodeError, ObjectKey, Status, StatusCause, StatusDetails
from setpoint.meta.resource import Resource


class ConfigError(Exception):
    """The configuration can't be used; the message names the file, context, cluster or user, and gives the reason."""


class CredentialsError(TransportError):
    """The client can't obtain credentials: a token file is unreadable, a plugin failed or hangs, or a refresh was
    refused.

    Nothing was sent. Components that survive an outage of the server (informers, leader election) also survive an
    outage of the source of their credentials.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=False)


class UnreadableAnswer(TransportError, DecodeError):
    """The server carried out the request, but its answer does not fit the model or is nested too deeply.

    The message names the request, and the object if the answer identifies it.
    """

    def __init__(self, problem: DecodeError, *, verb: str, resource: Resource | str, key: str) -> None:
        request = " ".join(filter(None, (verb, str(resource), key)))
        super().__init__(f"{request}: the answer can't be read: {problem}", sent=True)
        self.verb = verb
        self.resource = str(resource)
        self.key = ObjectKey(key)


class ApiError(Exception):
    """The server answered with an error.

    Attributes:
        status: the server's `Status`, or one derived from the HTTP status if the answer had none.
        verb: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete`` or ``deletecollection``;
            ``connect`` or ``exec`` for a connection to a pod; the HTTP method if it corresponds to no verb.
        resource: the plural with its group and subresource, such as ``deployments.apps/scale``, or the path if there is
            no resource.
        key: ``namespace/name`` of an object, ``namespace/`` of a collection in a namespace, otherwise ``""``.
        retry_after: the number of seconds that the server says to wait before a retry, or None if it does not say.
    """

    def __init__(
        self,
        status: Status,
        *,
        verb: str = "",
        resource: str = "",
        key: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.verb = verb
        self.resource = resource
        self.key = ObjectKey(key)
        details = status.details
        if retry_after is None and details is not None and details.retry_after_seconds:
            retry_after = float(details.retry_after_seconds)
        self.retry_after = retry_after
        super().__init__(self._describe())

    @property
    def code(self) -> int:
        """The HTTP status."""
        return self.status.code

    @property
    def reason(self) -> str:
        """A machine-readable word such as ``NotFound``; ``""`` if the server sent none."""
        return self.status.reason

    @property
    def message(self) -> str:
        """The message of the server's `Status`."""
        return self.status.message

    @property
    def causes(self) -> list[StatusCause]:
        """The causes of the error that the server reported, usually one for each field at fault."""
        return self.status.details.causes if self.status.details is not None else []

    def _describe(self) -> str:
        request = " ".join(filter(None, (self.verb, self.resource, self.key)))
        name = self.reason or type(self).__name__
        text = f"{request}: " if request else ""
        text += f"{name} ({self.code}): {self.message}"
        missing = [cause for cause in self.causes if cause.message and cause.message not in self.message]
        for cause in missing[:20]:
            text += f"\n  {cause.field or '(object)'}: {cause.message}"
        if len(missing) > 20:
            text += f"\n  and {len(missing) - 20} more"
        if self.retry_after is not None:
            text += f" (retry after {self.retry_after:g} s)"
        return text


class BadRequest(ApiError):
    """The server can't interpret the request."""


class Unauthorized(ApiError):
    """The server could not authenticate the request: the credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """The user is not allowed to make this request. The message names the user, verb and resource."""


class NotFound(ApiError):
    """The object or the resource does not exist."""


class AlreadyExists(ApiError):
    """An object with this name already exists."""


class Conflict(ApiError):
    """The object has changed since it was read, a precondition failed, or another field manager owns a field."""


class Gone(ApiError):
    """The requested state no longer exists and will not come back."""


class Expired(Gone):
    """The resource version or the continue token is too old; the caller must list again."""


class Invalid(ApiError):
    """The object is not valid; `causes` has the errors by field."""


class TooManyRequests(ApiError):
    """The server refuses the request for now, because of its load or a disruption budget; see `retry_after`."""


class Timeout(ApiError):
    """The server did not finish within the request's timeout."""


class ServerTimeout(ApiError):
    """The server could not answer in time; the request may or may not have been carried out."""


class ServiceUnavailable(ApiError):
    """The server, or a server behind it, is unavailable."""


class InternalError(ApiError):
    """The server had an internal error."""


class MethodNotAllowed(ApiError):
    """The resource does not support this verb."""


class NotAcceptable(ApiError):
    """The server can't answer in the requested media type."""


class UnsupportedMediaType(ApiError):
    """The server does not accept bodies, or patches, of this media type."""


class RequestEntityTooLarge(ApiError):
    """The body is too large for the server."""


_BY_REASON: dict[str, type[ApiError]] = {
    kind.__name__: kind
    for kind in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        AlreadyExists,
        Conflict,
        Gone,
        Expired,
        Invalid,
        TooManyRequests,
        Timeout,
        ServerTimeout,
        ServiceUnavailable,
        InternalError,
        MethodNotAllowed,
        NotAcceptable,
        UnsupportedMediaType,
        RequestEntityTooLarge,
    )
}
_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: Timeout,
}
_SHOWN = 300
_status_decoder = msgspec.json.Decoder(Status)


def error_from_status(
    status: Status, *, verb: str = "", resource: str = "", key: str = "", retry_after: float | None = None
) -> ApiError:
    """The exception for a `Status`, chosen by its reason or, if that is unknown, by its code."""
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code, ApiError)
    return kind(status, verb=verb, resource=resource, key=key, retry_after=retry_after)


_NOTHING_THERE = "the server could not find the requested resource"
_NO_GROUP = b"404 page not found"
"""The answer from an API server that does not serve the group, for example if custom resources are not installed."""


def error_from(
    status_code: int,
    body: bytes,
    *,
    headers: Mapping[str, str] | None = None,
    verb: str = "",
    resource: Resource | str = "",
    key: str = "",
) -> ApiError:
    """The exception for an error answer.

    A body that is not a Status (a load balancer's page, a proxy's error) is shown in the message, shortened. API
    servers also send such a body for paths that they don't serve; in that case the message names the version and the
    resource.
    """
    headers = headers or {}
    status = _status_of(status_code, body, headers)
    if not status.code:
        status.code = status_code
    if status.code in (401, 403) and not status.message:
        status.message = "the server gives no reason"
    if status_code == 404 and (status.message == _NOTHING_THERE or body.strip() == _NO_GROUP):
        status.reason, status.message = "NotFound", _NOTHING_THERE
        if isinstance(resource, Resource):
            status.message += f": it does not serve {resource.plural} of {resource.api_version}"
    return error_from_status(status, verb=verb, resource=str(resource), key=key, retry_after=retry_after_of(headers))


def is_unserved(error: ApiError) -> bool:
    """Whether the server says that it does not serve the resource or its version, not that an object is missing."""
    return isinstance(error, NotFound) and error.message.startswith(_NOTHING_THERE)


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """The number of seconds in a ``Retry-After`` header; None if there is no such header or it contains a date (API
    servers send seconds).
    """
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() and len(value) <= 9 else None


def _status_of(code: int, body: bytes, headers: Mapping[str, str]) -> Status:
    try:
        status = _status_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        status = None
    if status is not None and (status.reason or status.message or status.code):
        return status
    text = " ".join(body[: 4 * _SHOWN].decode("utf-8", "replace").split())
    excerpt = text[:_SHOWN] + ("…" if len(text) > _SHOWN else "")
    if location := headers.get("location"):
        message = f"the server redirects to {location}; redirects are not followed: is this the API server's address?"
    elif excerpt:
        form = headers.get("content-type", "").partition(";")[0] or "unknown type"
        message = f"the answer is not a Status of an API server ({form}): {excerpt}"
    else:
        message = "the answer is empty"
    return Status(status="Failure", code=code, message=message, details=StatusDetails())

"""The errors that caches raise."""

from __future__ import annotations

from setpoint.client.errors import ApiError, Gone
from setpoint.client.transport import TransportError
from setpoint.meta import ObjectKey, Resource


class CacheError(Exception):
    """The base class of this package's errors."""


class CacheSyncError(CacheError):
    """An informer did not sync in time, or can't sync, or its handlers are behind; ``__cause__`` is the error of the
    last attempt.

    ``resource`` is the resource to list. ``last_error`` is the error of the last attempt: an `ApiError` (Forbidden, or
    NotFound if the CustomResourceDefinition is absent), a `TransportError` if the server did not answer, or None if the
    last attempt did not fail.
    """

    def __init__(self, message: str, *, resource: Resource, last_error: Exception | None) -> None:
        super().__init__(message)
        self.resource = resource
        self.last_error = last_error


class InformerStopped(CacheError):
    """The informer, its handle or its factory has been closed; nothing can be added to it."""


class UndeclaredRead(LookupError):
    """A cached read asked for a kind that the controller, admission or fleet did not declare."""


class NotFoundInCache(KeyError):
    """The cache has no object with that key. The server may have one."""

    def __init__(self, resource: Resource, key: ObjectKey) -> None:
        super().__init__(key)
        self.resource = resource
        self.key = key

    def __str__(self) -> str:
        return f'{self.resource} "{self.key}" not found in the cache'


class WatchBroken(CacheError):
    """The server's stream is not a valid watch or list; the reflector starts again."""


def is_expired(problem: Exception) -> bool:
    """Whether the error says that the server no longer has the requested version or token (410)."""
    return isinstance(problem, Gone)


def is_too_large(problem: Exception) -> bool:
    """Whether the error says that the server did not reach the requested version in time.

    Depending on its version, a server says so in the reason of a cause, in the message of a cause, or only in the
    message of the error.
    """
    if not isinstance(problem, ApiError):
        return False
    for cause in problem.causes:
        if cause.reason == "ResourceVersionTooLarge" or "Too large resource version" in cause.message:
            return True
    return "Too large resource version" in problem.message


def is_refused(problem: Exception) -> bool:
    """Whether the error shows that the request certainly did not reach the server."""
    return isinstance(problem, TransportError) and not problem.sent

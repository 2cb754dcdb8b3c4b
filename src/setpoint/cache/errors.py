"""The errors of caches."""

from __future__ import annotations

from setpoint.client.errors import ApiError, Gone
from setpoint.client.transport import TransportError
from setpoint.meta import ObjectKey, Resource


class CacheError(Exception):
    """The base class of this package's errors."""


class CacheSyncError(CacheError):
    """An informer did not sync in time, or can't: the ``__cause__`` is the server's last answer.

    ``resource`` is the resource to list and ``last_error`` the last answer: an `ApiError` (Forbidden; NotFound where
    the CustomResourceDefinition is absent), a `TransportError` if there was no answer, or None before the first.
    """

    def __init__(self, message: str, *, resource: Resource, last_error: Exception | None) -> None:
        super().__init__(message)
        self.resource = resource
        self.last_error = last_error


class InformerStopped(CacheError):
    """The informer (or its handle, or its factory) has been closed; nothing can be added to it."""


class UndeclaredRead(LookupError):
    """A cached read of a kind for which the controller, the admission or the fleet declares no cache."""


class NotFoundInCache(KeyError):
    """The cache has no object of that key. The server may have one."""

    def __init__(self, resource: Resource, key: ObjectKey) -> None:
        super().__init__(key)
        self.resource = resource
        self.key = key

    def __str__(self) -> str:
        return f'{self.resource} "{self.key}" not found in the cache'


class WatchBroken(CacheError):
    """The server's stream is not a valid watch or list; the reflector starts again."""


def is_expired(problem: Exception) -> bool:
    """Whether the server no longer has the requested version or token (410)."""
    return isinstance(problem, Gone)


def is_too_large(problem: Exception) -> bool:
    """Whether the server has not reached the requested version in time.

    Depending on their version, servers report it as a cause's reason, a cause's message, or only in the message.
    """
    if not isinstance(problem, ApiError):
        return False
    for cause in problem.causes:
        if cause.reason == "ResourceVersionTooLarge" or "Too large resource version" in cause.message:
            return True
    return "Too large resource version" in problem.message


def is_refused(problem: Exception) -> bool:
    """Whether the request certainly did not reach the server."""
    return isinstance(problem, TransportError) and not problem.sent

"""What goes wrong between an API server and a cache."""

from __future__ import annotations

from setpoint.client.errors import ApiError, Gone
from setpoint.client.transport import TransportError
from setpoint.meta import ObjectKey, Resource


class CacheError(Exception):
    """Base class of this room's errors."""


class CacheSyncError(CacheError):
    """An informer did not sync in time, or can't: the ``__cause__`` is the server's last answer.

    ``resource`` is what was to be listed and ``last_error`` the last answer: an `ApiError` (Forbidden; NotFound where
    the CustomResourceDefinition is absent), a `TransportError` where there was no answer, or None before the first.
    """

    def __init__(self, message: str, *, resource: Resource, last_error: Exception | None) -> None:
        super().__init__(message)
        self.resource = resource
        self.last_error = last_error


class InformerStopped(CacheError):
    """The informer (or its handle, or its factory) has been closed; nothing can be added to it any more."""


class NotFoundInCache(KeyError):
    """No object of that key is in the cache. The server may have one by now."""

    def __init__(self, resource: Resource, key: ObjectKey) -> None:
        super().__init__(key)
        self.resource = resource
        self.key = key

    def __str__(self) -> str:
        return f'{self.resource} "{self.key}" not found in the cache'


class WatchBroken(CacheError):
    """The server's stream is not what a watch or a list looks like; the reflector starts anew."""


def is_expired(problem: Exception) -> bool:
    """Whether the server has forgotten the version or token that was asked for (410)."""
    return isinstance(problem, Gone)


def is_too_large(problem: Exception) -> bool:
    """Whether the server has not come to the version that was asked for, and gave up waiting.

    Servers of different age say it by a cause's reason, by a cause's message, or in the message alone.
    """
    if not isinstance(problem, ApiError):
        return False
    for cause in problem.causes:
        if cause.reason == "ResourceVersionTooLarge" or "Too large resource version" in cause.message:
            return True
    return "Too large resource version" in problem.message


def is_refused(problem: Exception) -> bool:
    """Whether the request surely did not get to the server."""
    return isinstance(problem, TransportError) and not problem.sent

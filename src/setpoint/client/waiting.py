"""Waits until a condition of one object holds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

from setpoint.client.errors import Gone, InternalError, ServerTimeout, ServiceUnavailable, TooManyRequests
from setpoint.client.reading import Reading
from setpoint.client.transport import TransportError
from setpoint.meta import Object, ObjectKey, Resource, plain, raw_of, resource_of, to_wire

K = TypeVar("K", bound=Object)
PAUSE: Final = 1.0
"""Seconds before the next list, after the end of a watch or a temporary failure."""
_WORDS: Final = re.compile(r"(?:condition=)?([A-Za-z0-9][-A-Za-z0-9_./]*)(?:=([A-Za-z]+))?")
_PASSING: Final = (TransportError, Gone, InternalError, ServerTimeout, ServiceUnavailable, TooManyRequests)


class WaitFailed(Exception):
    """The condition can't become true any more: the object was deleted, or a different object now has its name.

    ``last`` is the last observed state of the object, or None if it was never observed.
    """

    def __init__(self, message: str, last: Object | None) -> None:
        super().__init__(message)
        self.last = last


class WaitTimeout(WaitFailed, TimeoutError):
    """The condition did not become true in time. The message contains the object's last state."""


class Waiting(Reading):
    """The verb that waits for a condition; a part of `setpoint.client.Client`."""

    async def wait(self, obj: K, condition: str | Callable[[K], bool], *, timeout: float | None = 60.0) -> K:
        """The object, as soon as the condition holds; if it holds already, this returns at once.

            pod = await client.wait(pod, "Ready")
            await client.wait(database, lambda found: found.status.replicas == 3, timeout=600)

        ``condition`` is a function of the object, or an expression as in kubectl: ``Ready`` or ``Ready=False`` for the
        status of a condition, ``create``, or ``delete`` (which returns the last observed state of the object). As in
        kubectl, a condition counts only if the ``observedGeneration`` beside it (or else that of the status), where
        there is one, is not older than the object's generation. The
        object is listed and watched, so the client needs the permissions for both. If ``obj`` has a uid, only the
        object with that uid counts; if it has none (because the caller made it), any object with that name counts, and
        it need not exist yet.

        Raises:
            WaitTimeout: the condition is not true after ``timeout`` seconds (None: no limit).
            WaitFailed: the object was deleted.
            ApiError: the server refuses to list or watch.
        """
        if not isinstance(obj, Object):
            raise TypeError(f"wait() takes an object, such as one that get() returned, not {obj!r}")
        resource = resource_of(type(obj))
        wait = _Wait(obj, resource, self._key(resource, obj.namespace, obj.name), condition)
        scope = asyncio.timeout(timeout)
        try:
            async with scope:
                while True:
                    try:
                        if await self._follow(wait):
                            return wait.last if wait.last is not None else obj
                    except _PASSING as problem:
                        wait.problem = problem
                    await asyncio.sleep(PAUSE)
        except TimeoutError:
            if not scope.expired():
                raise  # the condition's own
            raise WaitTimeout(f"{wait} within {timeout:g} s: {wait.state()}", wait.last) from None

    async def _follow(self, wait: _Wait[K]) -> bool:
        """Lists the object and watches it; returns True when the condition holds, False when the watch ends."""
        kind: type[K] = type(wait.wanted)
        name = {"metadata.name": wait.key.name}
        space = wait.key.namespace or None
        listed = await self.list(kind, namespace=space, field_selector=name)
        wait.problem = None
        if wait.look(next(iter(listed), None)):
            return True
        version = listed.metadata.resource_version
        async with self.watch(kind, namespace=space, field_selector=name, resource_version=version) as events:
            async for event in events:
                if (error := event.error) is not None:
                    raise error
                if event.type == "BOOKMARK":
                    continue
                obj = cast("K", event.object)
                if wait.look(obj, is_deleted=event.type == "DELETED"):
                    return True
        return False


class _Wait(Generic[K]):
    """A wait: the condition and the last observed state."""

    def __init__(self, wanted: K, resource: Resource, key: ObjectKey, condition: str | Callable[[K], bool]) -> None:
        self.wanted = wanted
        self.key = key
        self.last: K | None = None
        self.problem: Exception | None = None
        """The error of the last attempt to list or watch; None if it succeeded."""
        self._resource = resource
        self._is_there = False
        self._test: Callable[[K], bool] | None = None
        self._word = self._status = ""
        if isinstance(condition, str):
            match = _WORDS.fullmatch(condition)
            if match is None:
                raise ValueError(
                    f"wait() can't wait for {condition!r}: use Ready, Ready=False, create, delete or a function"
                )
            self._word, self._status = match[1], match[2] or "True"
        else:
            self._test = condition

    def look(self, obj: K | None, *, is_deleted: bool = False) -> bool:
        """Whether the condition holds for the current state: ``obj``, or None for a missing object.

        Raises:
            WaitFailed: the condition can't become true any more.
        """
        uid = self.wanted.uid
        self._is_there = obj is not None and not is_deleted and (not uid or obj.uid == uid)
        if obj is not None and (not uid or obj.uid == uid):
            self.last = obj
        if self._word == "delete":
            return not self._is_there
        if not self._is_there:
            if uid:
                other = "; another object has its name" if obj is not None and obj.uid != uid else ""
                raise WaitFailed(f"{self}: it was deleted{other}", self.last)
            return False
        assert obj is not None
        if self._test is not None:
            return self._test(obj)
        if self._word == "create":
            return True
        present = self._condition()
        if present is None or self._lag(present):
            return False
        return str(present.get("status", "")).lower() == self._status.lower()

    def state(self) -> str:
        """The object's last state, and the reason why no newer one is known."""
        if not self._is_there:
            text = "there is no such object"
        elif self._test is None and self._word not in ("create", "delete"):
            present = self._condition()
            text = f"it has no condition {self._word}" if present is None else f"it is {_text(present)}"
            if present is not None and (lag := self._lag(present)):
                text += f", {lag}"
        else:
            assert self.last is not None
            conditions = ", ".join(map(_text, _conditions(self.last)))
            text = f"it is at version {self.last.metadata.resource_version}" + (
                f" with {conditions}" if conditions else ""
            )
        return text + (f"; the request to the server failed: {self.problem}" if self.problem is not None else "")

    def __str__(self) -> str:
        if self._test is not None:
            wanted = f"{getattr(self._test, '__name__', self._test)} did not hold"
        elif self._word in ("create", "delete"):
            wanted = f"it was not {self._word}d"
        else:
            wanted = f"condition {self._word} did not become {self._status}"
        return f"{self._resource} {self.key}: {wanted}"

    def _condition(self) -> dict[str, Any] | None:
        conditions = _conditions(self.last) if self.last is not None else []
        return next(
            (condition for condition in conditions if str(condition.get("type", "")).lower() == self._word.lower()),
            None,
        )

    def _lag(self, condition: dict[str, Any]) -> str:
        """The generations in words if the condition is about an earlier one than the object's; otherwise ``""``."""
        document = _document(self.last) if self.last is not None else {}
        metadata, status = (_mapping(document.get(part)) for part in ("metadata", "status"))
        observed = condition.get("observedGeneration", status.get("observedGeneration"))
        generation = metadata.get("generation")
        if not isinstance(observed, int) or not isinstance(generation, int) or observed >= generation:
            return ""
        return f"but for generation {observed}, and the object has generation {generation}"


def _document(obj: Object) -> dict[str, Any]:
    raw = raw_of(obj)
    return _mapping(plain(raw) if raw is not None else to_wire(obj))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _conditions(obj: Object) -> list[dict[str, Any]]:
    conditions = _mapping(_document(obj).get("status")).get("conditions")
    return (
        [condition for condition in conditions if isinstance(condition, dict)] if isinstance(conditions, list) else []
    )


def _text(condition: dict[str, Any]) -> str:
    why = ": ".join(str(condition[name]) for name in ("reason", "message") if condition.get(name))
    return f"{condition.get('type')}={condition.get('status')}" + (f" ({why})" if why else "")

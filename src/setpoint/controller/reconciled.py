"""Reconciled: the interface that the parts of a context use."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from setpoint.cache import Lister
from setpoint.client import Client
from setpoint.controller.log import BoundLogger
from setpoint.meta import GroupVersionResource, Object, ObjectKey, Selector

T = TypeVar("T", bound=Object)


class Reconciled(Protocol):
    """One reconcile, as the parts of a context see it: its object, its reads and requests so far, and its methods.
    `Context` implements it.
    """

    object: Object
    key: ObjectKey
    live: dict[GroupVersionResource, list[Any]] | None
    kept: list[tuple[GroupVersionResource, Selector, list[dict[str, str]]]]
    age: float | None
    failures: int

    @property
    def client(self) -> Client: ...
    @property
    def log(self) -> BoundLogger: ...
    def lister(self, kind: type[T]) -> Lister[T]: ...
    def owned(self, kind: type[T]) -> list[T]: ...
    async def delete(self, obj: Object, *, propagation: str | None = None) -> None: ...
    async def ensure_current(self) -> None: ...

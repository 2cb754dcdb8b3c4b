"""WatchedKind: one declared cache of a controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from setpoint.controller.handlers import Handler, MapFunction
from setpoint.controller.predicates import Test
from setpoint.meta import FieldSelector, LabelSelector, Object, Selector

AnySelector: TypeAlias = str | Mapping[str, str] | LabelSelector | Selector | None
AnyFieldSelector: TypeAlias = str | Mapping[str, str] | FieldSelector | None


class WatchedKind(NamedTuple):
    """One declared cache: the objects in it, and the effect of their changes on the controller's keys."""

    kind: type[Object]
    role: Literal["for", "owns", "watches", "reads"]
    owners: Handler | None = None
    """The handler of ``owns``, which maps the heads of a child to the keys of its owners."""
    map: MapFunction | None = None
    """The mapping function of ``watches``."""
    predicates: tuple[Test, ...] = ()
    namespace: str | None = None
    selector: AnySelector = None
    field_selector: AnyFieldSelector = None
    metadata_only: bool = False

    @property
    def cache(self) -> tuple[Any, ...]:
        """The options of the cache: two watches of the same kind must have the same options."""
        return (self.namespace, self.selector, self.field_selector, self.metadata_only)

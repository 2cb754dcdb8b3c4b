"""KindList: the base of the generated classes of lists, such as ``PodList``."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import field

from setpoint.meta import ApiModel, ListMeta, Object

K = TypeVar("K", bound=Object)


class KindList(ApiModel, Generic[K]):
    """A page of objects of one kind. ``items`` are the objects; ``metadata`` has the version of the collection, and
    where the next page continues.
    """

    items: list[K]
    metadata: ListMeta = field(default_factory=ListMeta)

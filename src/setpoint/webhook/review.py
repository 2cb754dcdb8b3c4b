"""Review: one admission request as functions see it, with the methods by which they answer."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Generic, Literal, Protocol, TypeVar

from setpoint.cache import Lister, UndeclaredRead
from setpoint.meta import Object, Selector
from setpoint.models.authentication_v1 import UserInfo
from setpoint.schema.validation_result import Verdict

K = TypeVar("K", bound=Object)
T = TypeVar("T", bound=Object)
Operation = Literal["create", "update", "delete", "connect"]


class Reads(Protocol):
    """The cached reads of the kinds that an admission declares."""

    async def lister(self, kind: type[T], /) -> Lister[T]:
        """Waits until the cache of ``kind`` has synced and returns its lister. Raises `UndeclaredRead`."""
        ...


class _NoReads:
    async def lister(self, kind: type[T], /) -> Lister[T]:
        raise UndeclaredRead(
            f"{kind.__name__} can't be read here: declare it with Admission(...).reads({kind.__name__}) and give the "
            "webhooks a factory of informers"
        )


NO_READS = _NoReads()


class Review(Verdict, Generic[K]):
    """One request for admission.

    The request: ``operation``; ``old``, the stored object (on update only, None otherwise); ``user``; ``dry_run`` (if
    it is true, nothing will be stored, and functions must not change external state); ``namespace`` and ``name``
    (``""`` if absent; ``name`` is also ``""`` if the server will generate it); ``subresource``; the request's ``uid``;
    and ``options``, the options of the operation as plain JSON values.

    The answer: `invalid` and similar methods name a field and may be called many times; `deny` refuses the request as a
    whole; `warn` shows a text to the user without refusing. A request that no function refuses is allowed.
    """

    __slots__ = (
        "dry_run",
        "name",
        "namespace",
        "old",
        "operation",
        "options",
        "reads",
        "subresource",
        "uid",
        "user",
    )

    def __init__(
        self,
        operation: Operation = "create",
        *,
        old: K | None = None,
        user: UserInfo | None = None,
        dry_run: bool = False,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        uid: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.operation: Operation = operation
        self.old = old
        self.user = user or UserInfo()
        self.dry_run = dry_run
        self.namespace = namespace
        self.name = name
        self.subresource = subresource
        self.uid = uid
        self.options = options or {}
        self.reads: Reads = NO_READS

    # -- reads of kinds that the Admission declares -------------------------------------------------------------------

    async def get(self, kind: type[T], name: str, *, namespace: str | None = None) -> T | None:
        """The object from the cache of a declared kind, by default in the request's namespace; None if there is none.

        Waits until the cache has synced, but not beyond the request's deadline.

        Raises:
            UndeclaredRead: ``kind`` was not declared.
        """
        lister = await self.reads.lister(kind)
        return lister.try_get(name, self._namespace(kind, namespace))

    async def list(
        self, kind: type[T], *, namespace: str | None = None, selector: str | Mapping[str, str] | Selector | None = None
    ) -> builtins.list[T]:
        """Like `get`, but for all objects that match ``selector``; ``namespace=""`` means all namespaces."""
        lister = await self.reads.lister(kind)
        return lister.list(namespace=self._namespace(kind, namespace) or None, selector=selector)

    def _namespace(self, kind: type[Object], namespace: str | None) -> str:
        if not kind.resource.namespaced:
            return ""
        return self.namespace if namespace is None else namespace

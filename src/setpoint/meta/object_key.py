"""The key of an object in queues and caches."""

from __future__ import annotations


class ObjectKey(str):
    """``namespace/name``, or ``name`` alone if there is no namespace.

    A key is a ``str``: it hashes, compares, logs and serialises like any string, and any string of that form may be
    used in its place.

    >>> ObjectKey("default/web-0").namespace
    'default'
    >>> ObjectKey.of("", "node-1")
    'node-1'
    """

    __slots__ = ()

    @classmethod
    def of(cls, namespace: str | None, name: str) -> ObjectKey:
        return cls(f"{namespace}/{name}" if namespace else name)

    @property
    def namespace(self) -> str:
        """The namespace, or ``""`` if there is none."""
        namespace, slash, _ = self.partition("/")
        return namespace if slash else ""

    @property
    def name(self) -> str:
        _, slash, name = self.partition("/")
        return name if slash else str(self)

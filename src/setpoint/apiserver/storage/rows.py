"""A row of the database: one version of one object, with a checksum of the whole row."""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from setpoint.apiserver.depth_limit import TOO_DEEP, is_too_deep


class Row(NamedTuple):
    """A row as it is stored. ``checksum`` is None in rows of format 1."""

    revision: int
    resource: str
    namespace: str
    name: str
    deleted: int
    value: bytes
    checksum: int | None

    @property
    def subject(self) -> str:
        """The resource, namespace and name of the object, for messages."""
        return f"{self.resource} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


class _Named(msgspec.Struct):
    name: str


class _Object(msgspec.Struct):
    metadata: _Named


def sealed(revision: int, resource: str, namespace: str, name: str, deleted: bool, value: bytes) -> Row:
    return Row(
        revision, resource, namespace, name, int(deleted), value,
        _checksum(revision, resource, namespace, name, int(deleted), value),
    )  # fmt: skip


def wrong(row: Row) -> str:
    """The reason why the row is damaged; ``""`` if it is intact."""
    if not isinstance(row.value, bytes):  # whatever the type of its column is, a damaged row has any
        return "its value is not what was stored"
    return "" if row.checksum == _checksum(*row[:6]) else "its checksum is wrong"


def wrong_in_format_1(row: Row) -> str:
    """As `wrong`, for a row without a checksum: what can be read counts as intact."""
    if row.deleted:
        return ""
    try:
        if is_too_deep(msgspec.json.decode(row.value)):
            return TOO_DEEP
        named = msgspec.json.decode(row.value, type=_Object).metadata.name
    except (TypeError, ValueError, RecursionError) as problem:
        return str(problem)
    return "" if named == row.name else f"it is stored as {row.name!r}, and its metadata.name is {named!r}"


def fact_checksum(name: str, value: int) -> int:
    """The checksum of a row in the table of facts."""
    return crc32(f"{name}\0{value}".encode())


def _checksum(revision: int, resource: str, namespace: str, name: str, deleted: int, value: bytes) -> int:
    head: Any = f"{revision}\0{resource}\0{namespace}\0{name}\0{deleted}\0"
    return crc32(value, crc32(head.encode()))

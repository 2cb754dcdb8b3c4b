"""Histories: the latest versions of an object that the storage still has, and the changes from one to the next."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from setpoint.apiserver.storage import Change, Compacted, Record, Storage
from setpoint.manager.debug_pages.yaml_page import HIDDEN, is_secret

VERSIONS: Final = 20
"""The maximum number of versions in one history."""
CHANGES: Final = 100
"""The maximum number of changed fields that are listed for one version."""
LONGEST: Final = 300
"""The maximum number of characters of a value. Only the beginning of a longer value is shown."""
_TURN: Final = 2000
_UNTOLD: Final = frozenset({"managedFields", "resourceVersion"})
_PLAIN: Final = re.compile(r"[\w-]+")
_ABSENT: Final = object()


class Changed(msgspec.Struct, rename="camel", kw_only=True):
    """A field with its old and its new value as JSON; None stands for a value that does not exist."""

    path: str
    before: str | None
    after: str | None


class Version(msgspec.Struct, rename="camel", kw_only=True):
    """A version of an object. ``by`` has the field managers that wrote it, and ``at`` is the time of the write; both
    come from the object's managed fields. ``more`` is the number of changed fields that are not listed.
    """

    revision: int
    type: str
    at: str
    by: list[str]
    changes: list[Changed]
    more: int


class History:
    """The histories of the objects in one storage.

    The last answers about a few objects are cached, since an open page repeats its requests.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._cache: dict[tuple[str, str, str], tuple[int, list[Version], Record | None]] = {}

    async def of(self, collection: str, namespace: str, name: str) -> tuple[list[Version], Record | None]:
        """The last versions that the storage still has (at most `VERSIONS`), the newest first, and the last record of
        the object, even if the object has been deleted. The record is None if the storage does not have one. Other
        tasks may run during the call.
        """
        place = collection, namespace, name
        revision = self._storage.changed_since(collection)
        cached = self._cache.get(place)
        if cached is not None and cached[0] == revision:
            return cached[1:]
        changes = await self._changes(place)
        versions = [_version(change) for change in reversed(changes[-VERSIONS:])]
        last = changes[-1].record if changes else self._storage.get(*place)
        if len(self._cache) > 20:
            self._cache.clear()
        self._cache[place] = revision, versions, last
        return versions, last

    async def _changes(self, place: tuple[str, str, str]) -> list[Change]:
        collection, namespace, name = place
        relevant: list[Change] = []
        since = 0
        while True:
            try:
                reader = self._storage.subscribe(collection, since, _nothing)
            except Compacted as problem:
                since = problem.oldest
                continue
            try:
                while changes := reader.read(_TURN):
                    since = changes[-1].revision
                    relevant += [
                        change
                        for change in changes
                        if change.record.name == name and change.record.namespace == namespace
                    ]
                    await asyncio.sleep(0)
            except Compacted as problem:  # what was not read yet is gone meanwhile
                since = problem.oldest
            else:
                return relevant
            finally:
                reader.close()


def _nothing() -> None:
    """Does nothing, as no task waits for further changes."""


def _version(change: Change) -> Version:
    after: dict[str, Any] = msgspec.json.decode(change.record.value)
    before: dict[str, Any] = {} if change.previous is None else msgspec.json.decode(change.previous.value)
    new = _entries(after)
    old = _entries(before)
    writers = [entry for key, entry in new.items() if old.get(key) != entry]
    differing = list(compared(before, after)) if before and change.type == "MODIFIED" else []
    if not writers:  # entries name a second, so the second write of one does not change them
        writers = [entry for entry in new.values() if any(_owns(entry, path) for path, _, _ in differing)]
    hides = is_secret(after)
    changes: list[Changed] = []
    for path, was, is_ in differing[:CHANGES]:
        hidden = hides and _hides(path)
        texts = (None if value is _ABSENT else HIDDEN if hidden else _value_text(value) for value in (was, is_))
        changes.append(Changed(path=_dotted(path), before=next(texts), after=next(texts)))
    return Version(
        revision=change.revision,
        type=change.type,
        at=max((str(entry.get("time", "")) for entry in writers), default=""),
        by=sorted({_writer(entry) for entry in writers}),
        changes=changes,
        more=len(differing) - len(changes),
    )


Path = tuple[str, ...]


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    """The paths of the fields that differ, with their old and new values (``_ABSENT`` for a value that does not exist).
    Items of a list are matched by their ``name`` or ``type`` if these are distinct for all items, otherwise by
    position. The depth is not limited here, because the server limits the depth of documents.
    """
    return _compared((), before, after)


def _compared(path: Path, before: Any, after: Any) -> Iterator[tuple[Path, Any, Any]]:
    if isinstance(before, list) and isinstance(after, list):
        for field in ("name", "type"):
            if _named_by(field, before) and _named_by(field, after):
                before, after = ({f"[{item[field]}]": item for item in items} for items in (before, after))
                break
        else:
            before, after = ({f"[{at}]": item for at, item in enumerate(items)} for items in (before, after))
    if not (isinstance(before, dict) and isinstance(after, dict)):
        if before != after or type(before) is not type(after):
            yield path, before, after
        return
    for name in [*before, *(name for name in after if name not in before)]:
        if path == ("metadata",) and name in _UNTOLD:
            continue
        yield from _compared((*path, name), before.get(name, _ABSENT), after.get(name, _ABSENT))


def _named_by(field: str, items: list[Any]) -> bool:
    names = [item.get(field) if isinstance(item, dict) else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _dotted(path: Path) -> str:
    text = ""
    for part in path:
        if part.startswith("["):
            text += part
        else:
            plain = part if _PLAIN.fullmatch(part) else f"[{part}]"
            text += plain if not text or plain.startswith("[") else f".{plain}"
    return text


def _value_text(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text):,} characters)"


def _entries(obj: Mapping[str, Any]) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    """The managed fields, indexed by manager, operation and subresource."""
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return {
        (str(entry.get("manager")), str(entry.get("operation")), str(entry.get("subresource"))): entry
        for entry in entries or ()
        if isinstance(entry, dict)
    }


def _owns(entry: Mapping[str, Any], path: Path) -> bool:
    """Whether a field manager's entry contains the field or, for an item of a list or set, the whole list."""
    fields = entry.get("fieldsV1")
    for part in path:
        if part.startswith("["):
            return True
        if not isinstance(fields, dict) or f"f:{part}" not in fields:
            return False
        fields = fields[f"f:{part}"]
    return True


def _writer(entry: Mapping[str, Any]) -> str:
    part = f" ({entry['subresource']})" if entry.get("subresource") else ""
    return f"{entry.get('manager', '')}{part}"


# -- hidden fields -----------------------------------------------------------------------------------------------------


def _hides(path: Path) -> bool:
    return path[0] in ("data", "stringData") or path[:2] == ("metadata", "annotations")

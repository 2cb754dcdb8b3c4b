"""ObjectParser: turns the bytes of one object from the server into an item of the store, decoding only the metadata.

The Go server writes typed objects in a fixed order: kind, apiVersion, metadata (with managedFields last), then the
rest. For these, the head is cut out, ``managedFields`` is dropped, and the rest is copied without parsing. All other
objects (custom resources have sorted keys; other servers use other orders) are parsed once. Both ways give the same
result.

The cut is exact for these reasons. It is made only when the document starts with the expected prefix, and when the text
between the prefix and ``,"managedFields":[{`` is a complete JSON object once a ``}`` is added; so the cut begins inside
the object's own metadata. It ends at the first ``}]},"`` that is followed by a letter, and only if no ``}],"`` comes
before (otherwise managedFields is not the last field of the metadata). In valid JSON a quote before a letter opens a
string and never closes one, so the end of the cut is outside any string; and field sets contain no arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from setpoint.meta import DecodeError, Resource, TooDeep, decode, encode, head_in, members, mended, plain
from setpoint.meta.object_head import Head

Transform = Callable[[dict[str, Any]], dict[str, Any]]

_MANAGED = b',"managedFields":[{'
_BARE = b'{"metadata":'
_BRACKETS = 64
"""The number of closing brackets that are examined to find the end of ``managedFields``, whose keys may contain
brackets (``k:{"name":"[x]"}``). If none of them is the end, the whole object is parsed.
"""
_IDENTITY = frozenset(("apiVersion", "kind", "metadata"))
_decode_head = msgspec.json.Decoder(Head).decode


class UnexpectedKind(ValueError):
    """The document is not of this cache's kind, so it is skipped."""


class Item(NamedTuple):
    """An object that is about to enter the store.

    ``document`` is its JSON: kind, apiVersion and metadata first, in this order, then the rest.
    ``end`` is the position in the document where the metadata ends. ``problem`` is ``""``, or the reason why the object
    could not be transformed or projected; decoding the document of an object with a problem will fail.
    """

    head: Head
    document: bytes
    end: int
    problem: str = ""


class ObjectParser:
    """Parses the objects of one resource.

    ``metadata_only`` keeps only apiVersion, kind and metadata; ``projection`` keeps these and the fields of the
    projection. ``transform`` receives and returns plain JSON values, once for each object from the server and before a
    projection; it must not change the object's name. ``managedFields`` are dropped unless ``keep_managed_fields`` is
    set.
    """

    def __init__(
        self,
        resource: Resource,
        *,
        metadata_only: bool = False,
        projection: type[Any] | None = None,
        transform: Transform | None = None,
        keep_managed_fields: bool = False,
    ) -> None:
        self._kind = resource.kind
        self._api_version = resource.api_version
        self._kinds = {resource.kind, "PartialObjectMetadata"} if metadata_only else {resource.kind}
        self._prefix = b'{"kind":%b,"apiVersion":%b,"metadata":' % (
            msgspec.json.encode(resource.kind),
            msgspec.json.encode(resource.api_version),
        )
        self._metadata_only = metadata_only
        self._projection = projection
        self._transform = transform
        self._keep = keep_managed_fields
        self._fast = not (metadata_only or projection is not None or transform is not None or keep_managed_fields)

    def read(self, raw: bytes) -> Item:
        """The object in ``raw``. An object that is nested too deeply is neither transformed nor projected, and one that
        does not fit the projection is not projected; in both cases the item has a ``problem``, unless only metadata is
        kept.

        Raises:
            DecodeError: ``raw`` is not an object with a name in its metadata, or the transform failed for it.
            UnexpectedKind: the object is of a different kind.
        """
        if self._fast:
            prefix = self._prefix
            if raw.startswith(prefix):
                skip = len(prefix)
            elif raw.startswith(_BARE):  # an item of a typed list, which has the kind once for all items
                skip = len(_BARE)
            else:
                return self._read_any(raw)
            cut = raw.find(_MANAGED, skip)
            if cut > 0 and (end := _end_of_managed(raw, cut)):
                metadata = raw[skip:cut] + b"}"
                try:
                    head = _decode_head(metadata)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    return self._read_any(raw)
                return Item(head, b"%b%b%b" % (prefix, metadata, raw[end:]), len(prefix) + len(metadata))
        return self._read_any(raw)

    def head_of(self, document: bytes, end: int) -> Head:
        """The head of a stored document."""
        return head_in(document[len(self._prefix) : end])

    def _read_any(self, raw: bytes) -> Item:
        """The object in a document whose keys are in any order, or that is unusual in any other way that Go's decoder
        tolerates.
        """
        try:
            members, problem = _members(raw)
        except DecodeError as malformed:
            raise DecodeError(f"not a {self._kind}: {malformed}") from None
        kind = _decode_text(members.get("kind"))
        if kind and (kind not in self._kinds or not self._same_group(_decode_text(members.get("apiVersion")))):
            raise UnexpectedKind(
                f"the server sent {kind} ({_decode_text(members.get('apiVersion'))}) "
                f"instead of {self._kind} ({self._api_version})"
            )
        if self._transform is not None and not problem:
            raw, members, problem = self._transformed(raw, members, self._transform)
        metadata = bytes(members.pop("metadata", b"{}"))
        try:
            if not self._keep and b'"managedFields"' in metadata:
                fields, _ = _members(metadata)
                fields.pop("managedFields", None)
                metadata = _encode(fields)
            head = head_in(metadata)
        except DecodeError as unreadable:
            raise DecodeError(f"{self._kind} with unreadable metadata: {unreadable}") from None
        if not head.name:
            raise DecodeError(f"a {self._kind} without a name: {raw[:200]!r}")
        if self._metadata_only:
            members, problem = {}, ""
        elif self._projection is not None and not problem:
            try:
                members, _ = _members(encode(decode(self._projection, raw)))
            except DecodeError as unfit:
                problem = str(unfit)
        rest = _encode({name: value for name, value in members.items() if name not in _IDENTITY})[1:]
        separator = b"" if rest == b"}" else b","
        document = b"%b%b%b%b" % (self._prefix, metadata, separator, rest)
        return Item(head, document, len(self._prefix) + len(metadata), problem)

    def _transformed(self, raw: bytes, members: _Members, transform: Transform) -> tuple[bytes, _Members, str]:
        """The object after the transform, and the results of `_members` for it. If the object is nested too deeply, it
        is returned unchanged, with its ``members`` and a message that gives this reason.
        """
        try:
            document = plain(raw)
            document.setdefault("kind", self._kind)
            document.setdefault("apiVersion", self._api_version)
            changed = _encode(transform(document))
            return changed, *_members(changed)
        except (TooDeep, RecursionError):
            return raw, members, _TOO_DEEP
        except Exception as problem:
            raise DecodeError(
                f"the transform failed for a {self._kind}: {problem!r}; it was {raw[:200]!r}"
            ) from problem

    def _same_group(self, api_version: str) -> bool:
        return api_version in (self._api_version, "", "meta.k8s.io/v1")


_Members = dict[str, msgspec.Raw]
_decode_members = msgspec.json.Decoder(_Members).decode
_encode = msgspec.json.encode
_TOO_DEEP = "nested too deeply to be decoded"


def _members(raw: bytes) -> tuple[_Members, str]:
    """The members of an object, and the reason why they can't be decoded, or ``""`` if they can.

    Raises:
        DecodeError: ``raw`` is not an object.
    """
    try:
        return _decode_members(raw), ""
    except RecursionError:
        return {name: msgspec.Raw(value) for name, value in members(raw).items()}, _TOO_DEEP
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        better = mended(raw)
        if better is None:
            raise DecodeError(str(problem)) from None
    return _members(better)


def _end_of_managed(raw: bytes, start: int) -> int:
    """The position after the brace that ends the metadata, or 0 if it can't be found."""
    bracket = start
    for _ in range(_BRACKETS):
        bracket = raw.find(b"]", bracket + 1)  # a search for one byte is many times as fast as for several
        if bracket < 0:
            return 0
        if raw.startswith(b'}]},"', bracket - 1):
            return bracket + 2 if raw[bracket + 4 : bracket + 5].isalpha() else 0
        if raw.startswith(b'}],"', bracket - 1):  # in no string, where the quote would be escaped:
            return 0  # managedFields ends here, and more follows
        if bracket + 3 == len(raw) and raw.startswith(b"}]}}", bracket - 1):
            return bracket + 2
    return 0


def _decode_text(raw: msgspec.Raw | None) -> str:
    if raw is None:
        return ""
    value = plain(raw)
    return value if isinstance(value, str) else ""

"""ObjectParser: turns the bytes of one object from the server into an item of the store, decoding only the metadata.

Most servers write compact JSON in one of three orders: kind, apiVersion, metadata (typed objects of the Go server),
apiVersion, kind, metadata (custom objects, and the embedded server), or metadata first (items of a typed list). From
these, the metadata is cut out, ``managedFields`` are dropped, and the rest is copied without parsing. All other objects
are parsed once. Both ways give the same result.

The cut is exact: a text that begins where the metadata begins, and is a complete JSON object, is the metadata. Its end
is guessed: in front of the field that followed the metadata in the last object that was parsed, or at its
``managedFields`` (see `setpoint.meta.managed_fields`). If the guess is wrong, decoding fails, and the object is parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from setpoint.cache.object_record import version_number
from setpoint.meta import (
    DecodeError,
    Resource,
    TooDeep,
    decode,
    decode_as_read,
    encode,
    head_in,
    members,
    plain,
    with_valid_unicode,
)
from setpoint.meta.json_document import excerpt
from setpoint.meta.managed_fields import MANAGED_FIELDS, end_of_managed_fields, is_complete
from setpoint.meta.object_head import Head

P = TypeVar("P")

Transform = Callable[[dict[str, Any]], dict[str, Any]]

_BARE = b'{"metadata":'
_CLOSING = ord("}")
_IDENTITY = frozenset(("apiVersion", "kind", "metadata"))
_decode_head = msgspec.json.Decoder(Head).decode


class UnexpectedKind(ValueError):
    """The document is not of this cache's kind, so it is skipped."""


class Item(Struct, frozen=True, gc=False):
    """An object that is about to enter the store.

    ``document`` is its JSON: kind, apiVersion and metadata first, in this order, then the rest. ``end`` is the position
    in the document where the metadata ends, and ``version`` the `version_number`. ``problem`` is ``""``, or the reason
    why the object could not be transformed or projected; decoding the document of an object with a problem will fail.
    """

    head: Head
    document: bytes
    end: int
    version: int
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
        self._start = len(self._prefix)
        """The position where the metadata begins in every document."""
        self._sorted = b'{"apiVersion":%b,"kind":%b,"metadata":' % (
            msgspec.json.encode(resource.api_version),
            msgspec.json.encode(resource.kind),
        )
        self._boundary = MANAGED_FIELDS
        """The text at which the head of the next object is expected to end."""
        self._metadata_only = metadata_only
        self._projection = projection
        self._transform = transform
        self._keep = keep_managed_fields
        self.decode: Callable[[type[Any], bytes], Any] = _as_read if metadata_only else decode
        """Returns the object of a class in a document of the cache; raises `DecodeError` if the document does not fit
        the class. Where only metadata is kept, other fields may be absent.
        """
        self._fast = not (metadata_only or projection is not None or transform is not None or keep_managed_fields)

    def read(self, raw: bytes) -> Item:
        """The object in ``raw``. An object that is nested too deeply is neither transformed nor projected, and one that
        does not fit the projection is not projected; in both cases the item has a ``problem``, unless only metadata is
        kept.

        Raises:
            DecodeError: ``raw`` is not an object with a name in its metadata, or the transform failed for it.
            UnexpectedKind: the object is of a different kind.
        """
        if not self._fast:
            return self._read_any(raw)
        prefix, boundary = self._prefix, self._boundary
        if raw.startswith(prefix):
            start = self._start
        elif raw.startswith(self._sorted):
            start = self._start  # this prefix is as long
        elif raw.startswith(_BARE):
            start = len(_BARE)
        else:
            return self._read_any(raw)
        end = raw.find(boundary, start)
        if boundary is MANAGED_FIELDS:
            metadata, end = _cut(raw, start, end)
        else:
            metadata = raw[start : end + 1]
            if b'"managedFields"' in metadata:
                return self._read_any(raw)
        try:
            head = _decode_head(metadata)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._read_any(raw)
        if not head.name:
            return self._read_any(raw)
        document = b"%b%b%b" % (prefix, metadata, raw[end + 1 :])
        return Item(head, document, self._start + len(metadata), version_number(head.resource_version))

    def head_of(self, document: bytes, end: int) -> Head:
        """The head of a stored document."""
        return head_in(document[self._start : end])

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
        if self._fast:
            self._boundary = _boundary_after(members) or self._boundary
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
            raise DecodeError(f"a {self._kind} without a name: {excerpt(raw)}")
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
        end, version = self._start + len(metadata), version_number(head.resource_version)
        return Item(head, document, end, version, problem)

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
            subject = self._described(members)
            if self._kind == "Secret":  # the message of an error may quote a value
                raise DecodeError(f"the transform failed for {subject}: {type(problem).__name__}") from None
            raise DecodeError(f"the transform failed for {subject}: {problem!r}") from problem

    def _described(self, members: _Members) -> str:
        """The kind and, if it can be read, the key. Values are left out: they may be those of a Secret."""
        try:
            head = head_in(bytes(members.get("metadata", b"{}")))
        except DecodeError:
            return f"a {self._kind}"
        return f"{self._kind} {head.key}"

    def _same_group(self, api_version: str) -> bool:
        return api_version in (self._api_version, "", "meta.k8s.io/v1")


def _as_read(kind: type[P], document: bytes) -> P:
    return decode_as_read(kind, document)[0]


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
        better = with_valid_unicode(raw)
        if better is None:
            raise DecodeError(str(problem)) from None
    return _members(better)


def _cut(raw: bytes, start: int, cut: int) -> tuple[bytes, int]:
    """The metadata that begins at ``start``, without its managedFields, which begin at ``cut``; and the position of its
    last byte. The metadata is empty if it can't be told from other text.
    """
    end = end_of_managed_fields(raw, cut) if cut > 0 else 0
    if not end:
        return b"", 0
    metadata = raw[start:cut] + b"}"
    if raw[end] == _CLOSING:
        return metadata, end
    stop = raw.find(b'},"', end)  # more of the metadata follows
    if stop < 0 or not is_complete(metadata):
        return b"", 0
    return raw[start:cut] + raw[end : stop + 1], stop


def _boundary_after(fields: _Members) -> bytes:
    """The text at which the head of an object with these members ends; empty if it can't be told from other text."""
    metadata = fields.get("metadata")
    if metadata is not None and MANAGED_FIELDS in bytes(metadata):
        return MANAGED_FIELDS
    names = iter(fields)
    following = next(names, "") if "metadata" in names else ""  # this search ends behind the metadata
    return b"},%b:" % _encode(following) if following and following not in _IDENTITY else b""


def _decode_text(raw: msgspec.Raw | None) -> str:
    if raw is None:
        return ""
    value = plain(raw)
    return value if isinstance(value, str) else ""

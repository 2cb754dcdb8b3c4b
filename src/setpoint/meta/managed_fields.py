"""Managed fields: the place of ``metadata.managedFields`` in an object's JSON, found without decoding the object.

The place is exact for these reasons. The text from the beginning of the metadata to ``,"managedFields":[{`` must be a
complete JSON object once a ``}`` is added, so this is a field of the metadata itself. Field sets contain no arrays, so
the list ends at its first ``]`` outside a string. In valid JSON a quote before a letter opens a string and never closes
one, so a ``]`` with ``,"`` and a letter behind it, or with ``},"`` and a letter, is outside any string.
"""

from __future__ import annotations

from typing import Final

import msgspec

from setpoint.meta.json_document import DecodeError, members

MANAGED_FIELDS: Final = b',"managedFields":[{'
"""The text with which the field begins in compact JSON."""
_BRACKETS: Final = 64
"""The number of closing brackets that are examined to find the end of the list, since keys in it may contain brackets
(``k:{"name":"[x]"}``).
"""
_decode_whole = msgspec.json.Decoder(msgspec.Raw).decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def end_of_managed_fields(raw: bytes, start: int) -> int:
    """The position after the list that begins with `MANAGED_FIELDS` at ``start``; 0 if its end can't be found."""
    bracket = start
    for _ in range(_BRACKETS):
        bracket = raw.find(b"]", bracket + 1)  # a search for one byte is many times as fast as for several
        if bracket < 0:
            return 0
        if raw.startswith(b'}]},"', bracket - 1):  # the metadata ends, too
            return bracket + 1 if raw[bracket + 4 : bracket + 5].isalpha() else 0
        if raw.startswith(b'}],"', bracket - 1):  # more of the metadata follows
            return bracket + 1 if raw[bracket + 3 : bracket + 4].isalpha() else 0
        if bracket + 3 == len(raw) and raw.startswith(b"}]}}", bracket - 1):  # the object ends, too
            return bracket + 1
    return 0


def is_complete(json: bytes) -> bool:
    try:
        _decode_whole(json)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def without_managed_fields(obj: bytes, metadata: int) -> bytes:
    """The JSON of an object without its managedFields. ``metadata`` is the position where the metadata begins if the
    JSON is compact; elsewhere than there, and in other JSON, the field is found by decoding.

    Raises:
        DecodeError: ``obj`` is not a JSON object, or its metadata is not one.
    """
    start = obj.find(MANAGED_FIELDS, metadata)
    if start > 0 and (end := end_of_managed_fields(obj, start)) and is_complete(obj[metadata:start] + b"}"):
        return obj[:start] + obj[end:]
    if b'"managedFields"' not in obj:
        return obj
    fields = _members(obj)
    if "metadata" in fields:
        inner = _members(bytes(fields["metadata"]))
        inner.pop("managedFields", None)
        fields["metadata"] = msgspec.Raw(msgspec.json.encode(inner))
    return msgspec.json.encode(fields)


def _members(raw: bytes) -> dict[str, msgspec.Raw]:
    try:
        return _decode_members(raw)
    except RecursionError:
        return {name: msgspec.Raw(value) for name, value in members(raw).items()}
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise DecodeError(f"malformed JSON: {problem}") from None

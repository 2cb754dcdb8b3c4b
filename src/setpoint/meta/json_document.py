"""Documents: the JSON of one object, which may be nested too deeply for a parser, or contain values that only Go
tolerates.

An API server accepts JSON with 10,000 levels; msgspec, like any recursive parser, fails at about the depth of
Python's stack. So code that only has to find a part of a document counts brackets instead (`members`), and code that
has to decode the whole document raises `TooDeep`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec


class DecodeError(ValueError):
    """A document is not JSON, or does not match its model; the message names the kind, the key and the field as far as
    they are known.
    """


class TooDeep(DecodeError):
    """A document is nested too deeply to be decoded or encoded: the limit is several hundred levels, and fewer if the
    call stack is already deep.
    """


_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:{}\[\]"]+')
_SPACE = re.compile(rb"[ \t\r\n]*")
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_LONE = re.compile(
    rb"(?P<kept>\\[uU][dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^uU])"
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


_KIND = re.compile(rb'"kind"[ \t\r\n]*:[ \t\r\n]*"(\w{1,100})"')


def excerpt(raw: bytes) -> str:
    """A description of data that could not be read, for messages and logs: the beginning of other text than JSON, such
    as a proxy's page of HTML. Of JSON it is the size and the first kind only, because values may be those of a Secret.
    """
    if raw.lstrip()[:1] not in (b"{", b"[", b'"'):
        return f"{len(raw)} bytes that begin with {raw[:200]!r}"
    kind = _KIND.search(raw[:10_000])
    return f"{len(raw)} bytes of JSON" + (f" with the kind {kind[1].decode('ascii', 'replace')}" if kind else "")


def plain(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """The plain JSON values in a document: dicts, lists, strings, numbers.

    Raises:
        TooDeep: the document is nested too deeply.
        DecodeError: the document is not JSON.
    """
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise TooDeep("nested too deeply to be decoded") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        better = with_valid_unicode(bytes(raw))
        if better is None:
            raise DecodeError(f"malformed JSON: {problem}") from None
    return plain(better)


def with_valid_unicode(raw: bytes) -> bytes | None:
    """``raw`` with U+FFFD in place of text that is not Unicode, as in Go's decoder; None if all text is Unicode.

    Text that is not Unicode is a byte that is not UTF-8, or the escape of an unpaired surrogate.
    """
    try:
        raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace").encode()
    else:
        text = raw
    text = _LONE.sub(lambda match: match["kept"] or rb"\ufffd", text)
    return None if text == raw else text


def members(raw: bytes) -> dict[str, bytes]:
    """The members of a JSON object by name, each value as raw JSON. Values may be nested to any depth and are not
    checked.

    Raises:
        DecodeError: ``raw`` is not a JSON object, or its brackets, keys or separators are malformed.
    """
    position = _past_space(raw, 0)
    if raw[position : position + 1] != b"{":
        raise DecodeError(f"not a JSON object but {excerpt(raw)}")
    values: dict[str, bytes] = {}
    position = _past_space(raw, position + 1)
    while raw[position : position + 1] != b"}":
        key = _STRING.match(raw, position)
        colon = _COLON.match(raw, key.end()) if key is not None else None
        end = end_of_value(raw, colon.end()) if colon is not None else -1
        if key is None or colon is None or end < 0:
            raise DecodeError(f"malformed JSON at byte {position} of {len(raw)}")
        values[plain(key.group())] = raw[colon.end() : end]
        position = _past_separator(raw, end, b"}")
    return values


def elements(raw: bytes) -> list[bytes]:
    """The elements of a JSON array, each as raw JSON. Elements may be nested to any depth and are not checked.

    Raises:
        DecodeError: ``raw`` is not a JSON array, or its brackets or separators are malformed.
    """
    position = _past_space(raw, 0)
    if raw[position : position + 1] != b"[":
        raise DecodeError(f"not a JSON array but {excerpt(raw)}")
    items: list[bytes] = []
    position = _past_space(raw, position + 1)
    while raw[position : position + 1] != b"]":
        end = end_of_value(raw, position)
        if end < 0:
            raise DecodeError(f"malformed JSON at byte {position} of {len(raw)}")
        items.append(raw[position:end])
        position = _past_separator(raw, end, b"]")
    return items


def end_of_value(raw: bytes, position: int) -> int:
    """The index after the JSON value that begins at ``position``, or -1 if it has no end. Nothing else is checked."""
    if raw[position : position + 1] not in (b"{", b"["):
        scalar = _STRING.match(raw, position) or _SCALAR.match(raw, position)
        return scalar.end() if scalar is not None else -1
    depth = 0
    for token in _TOKEN.finditer(raw, position):
        character = raw[token.start()]
        if character in b"{[":
            depth += 1
        elif character in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _past_space(raw: bytes, position: int) -> int:
    space = _SPACE.match(raw, position)
    return position if space is None else space.end()


def _past_separator(raw: bytes, position: int, closing: bytes) -> int:
    """The position of the next element, or of ``closing`` if there is none. Raises `DecodeError` if neither follows."""
    position = _past_space(raw, position)
    if raw[position : position + 1] == b",":
        return _past_space(raw, position + 1)
    if raw[position : position + 1] != closing:
        raise DecodeError(f"malformed JSON at byte {position} of {len(raw)}")
    return position

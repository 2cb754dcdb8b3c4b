"""Conversion between bytes, plain JSON values and models.

`decode` is strict about types at first, because that is fast. Input that only Go's lenient decoder would accept is
repaired and decoded again (`setpoint.meta.lenient_decoding`), so every answer from a real server can be read.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from setpoint.meta.duration import Duration
from setpoint.meta.json_document import DecodeError, TooDeep, members, plain, with_valid_unicode
from setpoint.meta.lenient_decoding import repaired, zero_value
from setpoint.meta.model import ApiModel, Object, resource_of
from setpoint.meta.model_fields import alternatives, fields_of, has_foreign, is_foreign, is_pydantic
from setpoint.meta.quantity import Quantity
from setpoint.meta.time_format import MicroTime, format_micro_time, parse_time
from setpoint.meta.user_classes import make_pydantic, prepare

M = TypeVar("M")
_RAW = "_raw"


def decode(kind: type[M], raw: bytes | memoryview | msgspec.Raw) -> M:
    """A new instance of ``kind`` from JSON. An `Object` remembers ``raw`` for later patches (see `raw_of`).

    Invalid UTF-8 and unpaired surrogates are read as U+FFFD, as in Go.

    Raises:
        TooDeep: the JSON is nested too deeply.
        DecodeError: ``raw`` is not JSON, or a value is not valid for its field.
    """
    raw = bytes(raw)  # its own copy: an object must not keep alive the whole list that it came in
    hashable: Any = kind
    decoder = _decoder(hashable)
    decoded: M
    try:
        decoded = decoder.decode(raw)
    except msgspec.ValidationError:
        decoded = _repaired(kind, raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        better = with_valid_unicode(raw)
        if better is None:
            raise DecodeError(f"not a {kind.__name__} but malformed JSON: {problem}") from None
        return decode(kind, better)
    except RecursionError:
        raise TooDeep(f"{_described(kind, raw)}: nested too deeply to be decoded") from None
    except Exception:  # noqa: BLE001 - validators and __post_init__ of users' classes may raise anything
        decoded = _repaired(kind, raw)
    if isinstance(decoded, Object):
        vars(decoded)[_RAW] = raw
    return decoded


def from_wire(kind: type[M], value: Any) -> M:
    """A new instance of ``kind`` from plain JSON values (dicts, lists, strings, numbers).

    Raises:
        TooDeep: the values are nested too deeply.
        DecodeError: a value is not valid for its field.
        ValueError: a string contains an unpaired surrogate, or a number is not finite; see `json_of`.
    """
    raw = json_of(value, kind.__name__)
    return decode(kind, raw)


def raw_of(obj: Object) -> bytes | None:
    """The JSON from which ``obj`` was decoded, or None for an object that was created locally."""
    raw = vars(obj).get(_RAW)
    return raw if isinstance(raw, bytes) else None


def remember_raw(obj: Object, raw: bytes) -> None:
    vars(obj)[_RAW] = raw


def to_wire(value: Any) -> Any:
    """The plain JSON values of a model, or of a container of models. Absent fields are left out, never null.

    The result for an `Object` starts with ``apiVersion`` and ``kind``. A ``metadata``, ``spec`` or ``status`` that
    equals the class's default is left out, as is one that was absent when the object was read and has not changed
    since. An object inside of another one, such as a claim template, has all three,
    and neither ``apiVersion`` nor ``kind``: Go writes it in this way.

    Raises:
        TooDeep: ``value`` is nested too deeply.
    """
    try:
        return _to_wire(value)
    except RecursionError:
        subject = f"{type(value).__name__} {value.key}" if isinstance(value, Object) else type(value).__name__
        raise TooDeep(f"{subject}: nested too deeply to be encoded") from None


def _to_wire(value: Any) -> Any:
    if isinstance(value, Object):
        if own := getattr(type(value), "__wire__", None):  # a kind without a model of its own
            return own(value)
        resource = resource_of(type(value))
        document: dict[str, Any] = {"apiVersion": resource.api_version, "kind": resource.kind}
        fields = _struct_to_wire(value)
        zeros, absent = _zeros(type(value)), _read_as_absent(type(value))
        for name, content in fields.items():
            if name in zeros and content == zeros[name]:
                continue
            if name in absent and content == absent[name] and _is_absent(value, name):
                continue
            document[name] = content
        raw = raw_of(value)
        if raw is not None and getattr(type(value), "__keeps_unknown__", False):
            declared = {"apiVersion", "kind", *(item.encode_name for item in fields_of(type(value)))}
            document |= {name: plain(part) for name, part in members(raw).items() if name not in declared}
        if raw is not None and getattr(type(value), "__of_others__", False):
            _drop_added(document, plain(raw))
        return document
    if isinstance(value, Struct) or is_foreign(type(value)):
        return _struct_to_wire(value)
    if isinstance(value, Mapping):
        return {key: _to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_wire(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_to_wire(item) for item in value), key=str)  # its own order differs between processes
    return msgspec.to_builtins(value, enc_hook=_encode_hook)


def encode(value: Any) -> bytes:
    """The JSON of a model; see `to_wire`.

    Raises:
        TooDeep: ``value`` is nested too deeply.
        ValueError: a string contains an unpaired surrogate, or a number is not finite; see `json_of`.
    """
    return json_of(to_wire(value), type(value).__name__)


def json_of(value: Any, *subject: str) -> bytes:
    """The JSON of plain values; ``subject`` (kind, key) names them in the error message.

    Raises:
        TooDeep: the values are nested too deeply.
        ValueError: a string contains an unpaired surrogate, or a number is infinite or NaN; the message names it.
    """
    raw = b""
    try:
        raw = msgspec.json.encode(value)
        problem = _not_json(value) if b"null" in raw else None  # which msgspec writes for nan and inf
    except RecursionError:
        raise TooDeep(f"{' '.join(subject)}: nested too deeply to be encoded") from None
    except UnicodeEncodeError:
        problem = _not_json(value)
    if problem is None:
        return raw
    path, odd = problem
    reason = f"the text {odd!r} holds half of a surrogate pair" if isinstance(odd, str) else f"the number is {odd}"
    reason += ", which JSON can't represent"
    raise ValueError(": ".join(part for part in (" ".join(subject), path, reason) if part)) from None


def _not_json(value: Any) -> tuple[str, str | float] | None:
    """The first string that contains half of a surrogate pair, or number that is not finite, with its path: a value, or
    a key of the map at that path. None if there is none.
    """
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, str):
            if not _is_unicode(part):
                return path, part
        elif isinstance(part, float):
            if not math.isfinite(part):
                return path, part
        elif isinstance(part, Mapping):
            for key in part:
                if isinstance(key, str) and not _is_unicode(key):
                    return path, key
            inner = [(f"{path}.{key}" if path else str(key), item) for key, item in part.items()]
            pending.extend(reversed(inner))
        elif isinstance(part, (list, tuple)):
            pending.extend(reversed([(f"{path}[{index}]", item) for index, item in enumerate(part)]))
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _struct_to_wire(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    if _by_msgspec(kind):
        plain: dict[str, Any] = msgspec.to_builtins(value, enc_hook=_encode_hook)
        return plain
    document: dict[str, Any] = {}
    for attribute, name, nullable in _fields(kind):
        content = getattr(value, attribute)
        if content is UNSET or (content is None and not nullable):
            continue
        document[name] = _to_wire(content)
    return document


@cache
def _by_msgspec(kind: Any) -> bool:
    """Whether msgspec encodes this class correctly on its own: its ``omit_defaults`` leaves out absent fields."""
    if issubclass(kind, ApiModel):
        return True
    return issubclass(kind, Struct) and kind.__struct_config__.omit_defaults and not has_foreign(kind)


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    return tuple((item.name, item.encode_name, UnsetType in alternatives(item.type)) for item in fields_of(kind))


@cache
def _zeros(kind: type[Object]) -> dict[str, Any]:
    """The wire forms of the class's defaults for ``metadata``, ``spec`` and ``status``, by wire name."""
    zeros = {}
    for item in msgspec.structs.fields(kind):
        factory = item.default_factory
        if factory is not msgspec.NODEFAULT and item.encode_name in ("metadata", "spec", "status"):
            zeros[item.encode_name] = to_wire(factory())
    return zeros


@cache
def _read_as_absent(kind: type[Object]) -> dict[str, Any]:
    """The wire forms of the required fields of an object that was read without them, by wire name."""
    required = [item for item in msgspec.structs.fields(kind) if item.required]
    if not required:
        return {}
    try:
        empty = decode(kind, b"{}")
    except DecodeError:
        return {}
    return {item.encode_name: _to_wire(getattr(empty, item.name)) for item in required}


def _drop_added(document: Any, read: Any) -> None:
    """Removes the empty metadata and status of inner objects, such as templates, that were read without them."""
    if isinstance(document, dict) and isinstance(read, dict):
        for name in ("metadata", "status"):
            if document.get(name) == {} and name not in read:
                del document[name]
        for name, part in document.items():
            _drop_added(part, read.get(name))
    elif isinstance(document, list) and isinstance(read, list):
        for part, other in zip(document, read, strict=False):
            _drop_added(part, other)


def _is_absent(obj: Object, name: str) -> bool:
    raw = raw_of(obj)
    return raw is not None and name not in members(raw)


def _encode_hook(value: Any) -> Any:
    if isinstance(value, MicroTime):
        return format_micro_time(value)
    if isinstance(value, Quantity | Duration):
        return str(value)
    if isinstance(value, str):  # an ObjectKey or another subclass of str, which msgspec does not accept as str
        return str.__str__(value)
    if isinstance(value, msgspec.Raw):
        return plain(value)
    if is_foreign(type(value)):
        return to_wire(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is MicroTime:
        return MicroTime.of(parse_time(value))
    if kind is Quantity:
        return Quantity(value)
    if kind is Duration:
        return Duration.parse(value)
    if is_pydantic(kind):
        return make_pydantic(kind, value, _convert)
    raise NotImplementedError(f"{kind.__name__} has no JSON form")


@cache
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any] | _ForeignDecoder:
    return _ForeignDecoder(kind) if has_foreign(kind) else _native(kind)


@cache
def _native(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast("Any", kind), dec_hook=_decode_hook)


class _ForeignDecoder:
    """Decodes a type that contains dataclasses or pydantic models. It takes two steps because the names of their fields
    differ from those on the wire.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._native = _native_of(kind)

    def decode(self, raw: bytes | memoryview | msgspec.Raw) -> Any:
        # by way of JSON again, because msgspec.convert can't make a Raw
        return self._native.decode(msgspec.json.encode(prepare(self._kind, msgspec.json.decode(raw))))


def _native_of(kind: Any) -> msgspec.json.Decoder[Any]:
    try:
        return _native(cast("Hashable", kind))
    except TypeError:  # a field's metadata may be unhashable
        return _native.__wrapped__(kind)


def _convert(value: Any, kind: Any) -> Any:
    return _native_of(kind).decode(msgspec.json.encode(value))


# -- the slow attempts ------------------------------------------------------------------------------------------------


def _repaired(kind: type[M], raw: bytes) -> M:
    """Decodes a document that does not fit ``kind``, as Go's decoder would."""
    document: Any = None
    try:
        document = plain(raw)
        return cast("M", convert(kind, document))
    except DecodeError as problem:
        is_of_others = getattr(kind, "__of_others__", False) and isinstance(document, dict)
        if is_of_others and (read := _with_zeros(kind, document)) is not None:
            return read
        raise type(problem)(f"{_described(kind, raw)}: {problem}") from problem.__cause__


def _with_zeros(kind: type[M], document: dict[str, Any]) -> M | None:
    """An object without some of the required fields of its class, which get zero values, even if the fields' bounds
    refuse these. None if that is not what is wrong with the document.
    """
    values: dict[str, Any] = {}
    try:
        for item in fields_of(kind):
            content = document.get(item.encode_name)
            if content is not None:
                values[item.name] = convert(item.type, content)
            elif item.required:
                values[item.name] = zero_value(item.type)
    except DecodeError:
        return None
    return kind(**values)


def convert(annotation: Any, value: Any) -> Any:
    """The value of a field with this annotation from plain JSON values, as Go's decoder would understand them.

    Raises:
        TooDeep: the values are nested too deeply.
        DecodeError: a value is not valid for its field.
    """
    decoder = _native_of(annotation)
    try:
        return decoder.decode(msgspec.json.encode(prepare(annotation, repaired(annotation, value))))
    except msgspec.ValidationError as problem:
        raise DecodeError(str(problem)) from None
    except RecursionError:
        raise TooDeep("nested too deeply to be decoded") from None
    except Exception as problem:
        raise DecodeError(f"{type(problem).__name__}: {problem}") from problem


def _described(kind: type, raw: bytes) -> str:
    """The kind and, if the document has a readable one, the key."""
    try:
        metadata = members(members(raw).get("metadata", b"{}"))
        namespace, name = (plain(metadata.get(part, b'""')) for part in ("namespace", "name"))
    except DecodeError:
        return kind.__name__
    if not isinstance(name, str) or not name:
        return kind.__name__
    return (
        f"{kind.__name__} {namespace}/{name}" if namespace and isinstance(namespace, str) else f"{kind.__name__} {name}"
    )

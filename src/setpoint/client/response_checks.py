"""The identity of an answer: whether it is the object or the list that was asked for, and not, for example, a Status
that a proxy sends with the code 200.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from setpoint.meta import DecodeError, Object, ObjectKey, Resource, Status, decode, members, plain, resource_of

_PARTIAL = "meta.k8s.io/"
_SAME_KIND = frozenset(("", "status"))
"""The subresources whose objects always have the kind of their parent."""


class _Kind(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None


_kinds = msgspec.json.Decoder(_Kind)


def kind_of(body: bytes) -> tuple[str, str]:
    """The apiVersion and the kind of a document, each ``""`` if it has none.

    Raises:
        DecodeError: ``body`` is not a JSON object, or one of the two is not a string.
    """
    try:
        type_meta = _kinds.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # unusual, or nested too deeply to be skipped
        fields = members(body)
        values = [plain(fields.get(name, b'""')) for name in ("apiVersion", "kind")]
        if not all(isinstance(value, str | None) for value in values):
            raise DecodeError("apiVersion and kind must be strings") from None
        return values[0] or "", values[1] or ""
    return type_meta.api_version or "", type_meta.kind or ""


@cache
def beginnings_of(kind: type[Any]) -> tuple[bytes, ...]:
    """The first bytes of objects of the kind as servers in Go write them: built-in ones, and custom ones. A body that
    begins with them needs no `check_kind`. Empty for classes that are not kinds of objects.
    """
    if not issubclass(kind, Object):
        return ()
    resource = resource_of(kind)
    name, api_version = f'"kind":"{resource.kind}"', f'"apiVersion":"{resource.api_version}"'
    return f"{{{name},{api_version},".encode(), f"{{{api_version},{name},".encode()


def check_kind(body: bytes, resource: Resource, subresource: str = "") -> None:
    """Checks that ``body`` is a JSON object of the resource's kind. An object without a kind counts as one, as in Go's
    typed clients; so does an object of another kind in a subresource, such as a Scale, but never a Status.

    Raises:
        DecodeError: it is something else.
    """
    api_version, kind = kind_of(body)
    if not kind or (kind == resource.kind and api_version in ("", resource.api_version)):
        return
    if kind == "PartialObjectMetadata" and api_version.startswith(_PARTIAL):
        return
    if subresource not in _SAME_KIND and (api_version, kind) != ("v1", "Status"):
        return
    raise DecodeError(f"it is {_described(body, api_version, kind)}, not a {resource.kind} of {resource.api_version}")


def check_key(key: ObjectKey, wanted: ObjectKey) -> None:
    """Checks that an answer's object has the key of the object that was asked for. A namespace that the answer leaves
    out does not count.

    Raises:
        DecodeError: it is another object, or it has no name.
    """
    if key == wanted or (not key.namespace and key.name == wanted.name):
        return
    raise DecodeError(f"it is the object {key}, not {wanted}" if key else f"it has no name, but {wanted} was requested")


def check_list(resource: Resource, api_version: str, kind: str, *, has_items: bool) -> None:
    """Checks that an answer with this apiVersion and kind is a list of the resource. A list without a kind counts as
    one. Custom resources may call their lists anything that ends in ``List``.

    Raises:
        DecodeError: it is something else, or it has no ``items``, not even null.
    """
    wanted = resource.list_kind or f"{resource.kind}List"
    is_custom = "." in resource.group and not resource.group.endswith(".k8s.io")
    is_partial = kind == "PartialObjectMetadataList" and api_version.startswith(_PARTIAL)
    if kind and not is_partial:
        is_wanted = kind == wanted or (is_custom and kind.endswith("List"))
        if not is_wanted or api_version not in ("", resource.api_version):
            type_text = f"{api_version} {kind}".strip()
            raise DecodeError(f"it is a {type_text}, not a {resource.api_version} {wanted}")
    if not has_items:
        raise DecodeError("it has no items")


def _described(body: bytes, api_version: str, kind: str) -> str:
    type_text = f"a {kind}{f' of {api_version}' if api_version else ''}"
    if (api_version, kind) != ("v1", "Status"):
        return type_text
    try:
        status = decode(Status, body)
    except DecodeError:
        return type_text
    text = ": ".join(filter(None, (status.reason, status.message)))
    return f"{type_text} ({text})" if text else type_text

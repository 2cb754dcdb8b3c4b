"""Redaction: replaces secret values with stand-ins. They show only which values are equal."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SECRETS: Final = ("data.*", "stringData.*", "metadata.annotations.*")


class Redactor:
    """Replaces texts and numbers with stand-ins. Equal values get equal stand-ins, and all stand-ins of texts have the
    same length. Of the other values, true and false both become false, and null is kept.

    Args:
        key: the key of the stand-ins. Readers without it can't find a value by trying candidates. A recording has to be
            continued with the same key.
        fields: the fields to replace, each as a collection and a path, such as ``"configmaps data.password"``. ``*``
            stands for every collection (``"* spec.token"``) and, in a path, for every name and every index of a list.
            Values of Secrets are always replaced, also those of their annotations, where many tools keep copies.

    Raises:
        ValueError: a field does not have that form.
    """

    def __init__(self, key: bytes, fields: Iterable[str] = ()) -> None:
        self._key = key
        self._fields: list[tuple[str, Sequence[str]]] = [("secrets", path.split(".")) for path in _SECRETS]
        for field in fields:
            collection, _, path = field.strip().partition(" ")
            if not collection or not path.strip():
                raise ValueError(
                    f"{field!r}: give a collection and a path, as in 'configmaps data.password' or '* spec.token'"
                )
            self._fields.append((collection, path.strip().split(".")))

    def redacted(self, collection: str, document: dict[str, Any]) -> dict[str, Any]:
        """The object without secret values and without annotations that hold a whole object (which contains them), such
        as the last applied configuration. Its managed fields keep only the manager, the operation, the subresource and
        the time.
        """
        meta = {name: value for name, value in document.get("metadata", {}).items() if name != "managedFields"}
        if managers := [
            {name: entry[name] for name in ("manager", "operation", "subresource", "time") if name in entry}
            for entry in document.get("metadata", {}).get("managedFields") or ()
        ]:
            meta["managedFields"] = managers
        if annotations := meta.get("annotations"):
            meta["annotations"] = {name: text for name, text in annotations.items() if not _holds_object(name, text)}
        redacted: Any = {**document, "metadata": meta}
        for wanted, path in self._fields:
            if wanted in ("*", collection):
                redacted = self._at(redacted, path, encoded=collection == "secrets" and path[0] == "data")
        result: dict[str, Any] = redacted
        return result

    def _at(self, value: Any, path: Sequence[str], *, encoded: bool) -> Any:
        if not path:
            return self._replaced(value, encoded=encoded)
        name, *rest = path
        if isinstance(value, list):
            return [self._at(item, rest if name == "*" else path, encoded=encoded) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: self._at(item, rest, encoded=encoded) if name in ("*", key) else item for key, item in value.items()
        }

    def _replaced(self, value: Any, *, encoded: bool) -> Any:
        if isinstance(value, dict):
            return {key: self._replaced(item, encoded=encoded) for key, item in value.items()}
        if isinstance(value, list):
            return [self._replaced(item, encoded=encoded) for item in value]
        if value is None:
            return None
        digest = hmac.new(self._key, f"{type(value).__name__} {value}".encode(), sha256)
        if isinstance(value, bool):
            return False
        if isinstance(value, int | float):
            return int.from_bytes(digest.digest()[:4]) % 1_000_000
        text = f"stand-in-{digest.hexdigest()[:16]}"
        return base64.b64encode(text.encode()).decode() if encoded else text


def _holds_object(name: str, text: Any) -> bool:
    """Whether an annotation is a copy of an object, as kubectl and kapp keep it of what they applied."""
    if name == _APPLIED:
        return True
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and {"apiVersion", "kind"} <= content.keys()

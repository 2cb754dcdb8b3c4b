"""The configuration that server-side apply sends for an object."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

from setpoint.meta import Object, json_of, to_wire

_SERVER_OWNED: Final = (
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)


def configuration_of(obj: Object, namespace: str, subresource: str) -> dict[str, Any]:
    """The body that `Writing.apply` sends for ``obj``: the object without the fields that only the server may set."""
    document: dict[str, Any] = to_wire(obj)
    metadata = {name: value for name, value in document.get("metadata", {}).items() if name not in _SERVER_OWNED}
    if namespace:
        metadata["namespace"] = namespace
    document["metadata"] = metadata
    if not subresource:
        document.pop("status", None)
    if "stringData" in document and (document.get("apiVersion"), document.get("kind")) == ("v1", "Secret"):
        # Write-only: the server would turn it into ``data``, so every apply would change the object.
        json_of(document, type(obj).__name__, str(obj.key))  # raises for what is not Unicode, and says where
        texts = {name: b64encode(text.encode()).decode() for name, text in document.pop("stringData").items()}
        document["data"] = {**document.get("data", {}), **texts}
    return document

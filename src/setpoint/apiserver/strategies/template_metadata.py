"""The metadata of claim templates: only labels and annotations, because a claim is given its own values for all other
metadata.
"""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.label_selectors import labels_errors
from setpoint.meta.names import qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid

_EVEN_EMPTY: Final = frozenset({"deletionGracePeriodSeconds", "finalizers", "managedFields", "ownerReferences"})
_NOT_SET: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


def template_metadata_errors(metadata: JsonObject, path: str) -> list[FieldError]:
    """The errors in the metadata of a claim template: invalid labels and annotations, and other fields that are set.
    Some of these other fields are refused even if they are empty or zero.
    """
    errors: list[FieldError] = []
    for key in metadata.get("annotations") or ():
        errors += [invalid(f"{path}.annotations", key, text) for text in qualified_name(key.lower())]
    errors += labels_errors(metadata.get("labels"), f"{path}.labels")
    for name in _NOT_SET:
        if metadata.get(name) or (name in _EVEN_EMPTY and name in metadata):
            errors.append(forbidden(f"{path}.{'uID' if name == 'uid' else name}", "cannot be set"))
    return errors

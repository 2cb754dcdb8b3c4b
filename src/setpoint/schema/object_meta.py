"""The schema of ``metadata``, which every object has, even if its own schema does not declare it."""

from __future__ import annotations

from typing import Final

from .schema_node import ANYTHING, Schema

_TEXT: Final = Schema(type="string")
_TEXTS: Final = Schema(type="object", additional=_TEXT)
_TIME: Final = Schema(type="string", format="date-time")
_COUNT: Final = Schema(type="integer", format="int64")
_FLAG: Final = Schema(type="boolean")

OBJECT_META: Final = Schema(
    type="object",
    properties={
        "annotations": _TEXTS,
        "creationTimestamp": Schema(type="string", format="date-time", nullable=True),
        "deletionGracePeriodSeconds": _COUNT,
        "deletionTimestamp": _TIME,
        "finalizers": Schema(type="array", items=_TEXT, list_type="set", patch_strategy=("merge",)),
        "generateName": _TEXT,
        "generation": _COUNT,
        "labels": _TEXTS,
        "managedFields": Schema(
            type="array",
            list_type="atomic",
            items=Schema(
                type="object",
                properties={
                    "apiVersion": _TEXT,
                    "fieldsType": _TEXT,
                    "fieldsV1": ANYTHING,
                    "manager": _TEXT,
                    "operation": _TEXT,
                    "subresource": _TEXT,
                    "time": _TIME,
                },
            ),
        ),
        "name": _TEXT,
        "namespace": _TEXT,
        "ownerReferences": Schema(
            type="array",
            list_type="map",
            list_map_keys=("uid",),
            patch_strategy=("merge",),
            patch_merge_key="uid",
            items=Schema(
                type="object",
                map_type="atomic",
                required=("apiVersion", "kind", "name", "uid"),
                properties={
                    "apiVersion": _TEXT,
                    "blockOwnerDeletion": _FLAG,
                    "controller": _FLAG,
                    "kind": _TEXT,
                    "name": _TEXT,
                    "uid": _TEXT,
                },
            ),
        ),
        "resourceVersion": _TEXT,
        "selfLink": _TEXT,
        "uid": _TEXT,
    },
)
"""ObjectMeta of built-in kinds."""


def with_object_meta(schema: Schema) -> Schema:
    """``schema`` with the standard ``apiVersion``, ``kind`` and ``metadata`` of a whole object. Fields of ``metadata``
    that ``schema`` declares itself, such as a limit on the name, are kept.
    """
    properties = dict(schema.properties) | {"apiVersion": _TEXT, "kind": _TEXT}
    own = schema.properties.get("metadata")
    if own is None or not own.properties:
        properties["metadata"] = OBJECT_META
    else:
        properties["metadata"] = OBJECT_META.replace(
            properties={**OBJECT_META.properties, **own.properties}, required=own.required
        )
    return schema.replace(properties=properties)

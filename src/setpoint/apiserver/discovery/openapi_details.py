"""The parts of upstream's OpenAPI documents that the models' schemas lack, such as enums, defaults and the texts of
parameters. ``tools/openapi_details.py`` writes them from a kube-apiserver's documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pkgutil import get_data
from typing import Any, Final, TypedDict

import msgspec

from setpoint import zstd
from setpoint.patch.merge_patch import apply

FILE: Final = "openapi_details.json.zst"


class ParameterText(TypedDict):
    """The type (string, integer or boolean) and the description of a parameter."""

    type: str
    description: str


class _Details(TypedDict):
    definitions: dict[str, dict[str, Any]]
    parameters: dict[str, ParameterText]


def parameters() -> Mapping[str, ParameterText]:
    """The parameters by name. A name such as ``patch/fieldManager`` has a text for one action or subresource."""
    return _details()["parameters"]


def amended(name: str, schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """``schema``, the models' schema of definition ``name``, as upstream's OpenAPI 3 documents have it; None if
    no definition has this name.
    """
    patch = _details()["definitions"].get(name)
    return schema if patch is None else apply(schema, patch)


@cache
def _details() -> _Details:
    packed = get_data("setpoint.apiserver.discovery", FILE)
    assert packed is not None
    return msgspec.json.decode(zstd.decompress(packed), type=_Details)

"""Packs the definitions for the embedded server: ``schema.json.zst``."""

from __future__ import annotations

import json

import zstandard

from tools.models.inputs import Definition

_LEVEL = 19
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"

# As in the API server's own OpenAPI v3, where these two say what they are.
_SPECIAL: dict[str, Definition] = {
    _INT_OR_STRING: {
        "description": "IntOrString holds an int or a string: a port number or name, a count or percentage.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
    _QUANTITY: {
        "description": "Quantity is a fixed-point number with a suffix, such as 100m, 1.5Gi or 2e3.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
}


def pack(definitions: dict[str, Definition]) -> bytes:
    """``{"definitions": {NAME: definition}}`` with bare names as references; the same bytes for the same input."""
    document = {"definitions": definitions | _SPECIAL}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(text.encode())

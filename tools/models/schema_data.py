"""Packs the definitions, a file for each of their packages: ``schemas/PACKAGE.json.zst``."""

from __future__ import annotations

import json

from tools import zstd
from tools.models.inputs import Definition

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


def pack(definitions: dict[str, Definition]) -> dict[str, bytes]:
    """The files by package, such as ``io.k8s.api.core.v1``. Each holds ``{NAME: definition}`` with bare names as
    references; the same bytes for the same input.
    """
    packages: dict[str, dict[str, Definition]] = {}
    for name, definition in (definitions | _SPECIAL).items():
        packages.setdefault(name.rpartition(".")[0], {})[name] = definition
    return {package: _packed(content) for package, content in sorted(packages.items())}


def _packed(content: dict[str, Definition]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return zstd.packed(text.encode())

"""Writes the parts of a kube-apiserver's OpenAPI 3 documents that the models' schemas lack, to the file that the
embedded server reads.

    python tools/openapi_details.py KUBECONFIG

The server should serve the groups and versions that are on by default.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # run as a script, the folder above is not on the path

from setpoint.apiserver.discovery.openapi_details import FILE
from setpoint.client import Client
from setpoint.models import schemas
from setpoint.patch.merge_patch import diff
from tools import zstd

TARGET = Path(__file__).parents[1] / "src/setpoint/apiserver/discovery" / FILE
PREFIX = "#/components/schemas/"
KINDS = "x-kubernetes-group-version-kind"


def main() -> None:
    documents = asyncio.run(read(Path(sys.argv[1])))
    content = {"definitions": definitions(documents), "parameters": parameters(documents)}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    TARGET.write_bytes(zstd.packed(text.encode()))
    print(f"{len(content['definitions'])} definitions and {len(content['parameters'])} parameters in {TARGET}")


async def read(kubeconfig: Path) -> list[Any]:
    """Every OpenAPI 3 document of the server."""
    async with Client.from_kubeconfig(kubeconfig) as client:
        index = json.loads(await client.request("GET", "/openapi/v3"))
        return [json.loads(await client.request("GET", f"/openapi/v3/{path}")) for path in sorted(index["paths"])]


def definitions(documents: Iterable[Any]) -> dict[str, Any]:
    """The merge patch of each definition that differs from the models' schema."""
    published: dict[str, Any] = {}
    for document in documents:
        for name, schema in document["components"].get("schemas", {}).items():
            kinds = published.get(name, {}).get(KINDS, [])
            published[name] = bare(schema)
            if KINDS in schema:  # a document names only the kinds of its own group
                own = [kind for kind in schema[KINDS] if kind not in kinds]
                published[name][KINDS] = sorted([*kinds, *own], key=lambda kind: (kind["group"], kind["version"]))
    patches = {}
    for name, schema in sorted(published.items()):
        base = schemas().get(name, {})
        if KINDS in base:
            schema[KINDS] = base[KINDS]
        if patch := diff(base, schema):
            patches[name] = patch
    return patches


def bare(node: Any) -> Any:
    """The schema with references as in the models: names only, beside other keywords."""
    if isinstance(node, list):
        return [bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node.get("allOf", ())) == 1 and node["allOf"][0].keys() == {"$ref"}:
        node = {**{key: value for key, value in node.items() if key != "allOf"}, **node["allOf"][0]}
    return {
        key: value.removeprefix(PREFIX) if key == "$ref" and isinstance(value, str) else bare(value)
        for key, value in node.items()
    }


def parameters(documents: Iterable[Any]) -> dict[str, Any]:
    """The type and description of each parameter by name; by ``ACTION/NAME`` or ``SUBRESOURCE/NAME`` where there are
    several.
    """
    texts: dict[str, Any] = {}
    for document in documents:
        for path, item in sorted(document["paths"].items()):
            for method, operation in item.items():
                listed = operation if method == "parameters" else operation.get("parameters", ())
                variant = "patch" if method == "patch" else path.rpartition("/")[2]
                for parameter in listed:
                    name = parameter["name"]
                    if name == "name" or "/proxy" in path:
                        continue
                    text = {"type": parameter["schema"]["type"], "description": parameter["description"]}
                    if texts.setdefault(name, text) != text:
                        texts[f"{variant}/{name}"] = text
    return texts


if __name__ == "__main__":
    main()

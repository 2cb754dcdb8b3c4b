"""The served form of the versions that a CustomResourceDefinition defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from setpoint.apiserver.custom_resources.conversion import ConversionWebhook
from setpoint.apiserver.discovery.groups import version_order
from setpoint.apiserver.resources.registry import CustomParts, ScalePaths, ServedResource
from setpoint.apiserver.state import State
from setpoint.apiserver.strategies.custom import CustomStrategy
from setpoint.meta import GroupVersionKind, Resource
from setpoint.schema import ANYTHING, Schema, structural
from setpoint.schema.object_meta import with_object_meta

JsonObject = dict[str, Any]
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")


def served_versions(
    state: State, crd: JsonObject, on_deletion: Callable[[], None], loaded: Mapping[bytes, Schema]
) -> list[ServedResource]:
    """All versions of a CRD as served resources, with the stored version first. ``on_deletion`` is called
    after an object has been deleted; ``loaded`` maps the bytes of schema documents to their parsed
    schemas.
    """
    spec = crd["spec"]
    names = full_names(spec["names"]) | (crd["status"].get("acceptedNames") or {})
    resources: list[ServedResource] = []
    schemas: dict[bytes, Schema] = {}
    for version in sorted(spec["versions"], key=lambda item: not item.get("storage")):
        subresources = version.get("subresources") or {}
        kind = GroupVersionKind(spec["group"], version["name"], names["kind"])
        resource = Resource(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular", ""),
            list_kind=names.get("listKind", ""),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources={
                **({"status": kind} if subresources.get("status") is not None else {}),
                **({"scale": _SCALE} if subresources.get("scale") is not None else {}),
            },
        )
        document = (version.get("schema") or {}).get("openAPIV3Schema")
        text = msgspec.json.encode(document)
        if text not in schemas:  # versions that share a schema need no conversion
            schemas[text] = _schema(document, loaded, preserve=bool(spec.get("preserveUnknownFields")))
        warning = ""
        if version.get("deprecated"):
            warning = version.get("deprecationWarning") or _deprecation(spec, resource)
        resources.append(
            ServedResource(
                resource,
                schemas[text],
                CustomStrategy(resource, on_deletion),
                stored_as=resources[0] if resources else None,
                collection=crd["metadata"]["name"],
                custom=CustomParts(
                    document or {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    version.get("additionalPrinterColumns") or (),
                    tuple(item["jsonPath"] for item in version.get("selectableFields") or ()),
                ),
                scale=_scale_paths(subresources.get("scale")),
                warning=warning,
            )
        )
    if len(resources) > 1:
        conversion = spec.get("conversion") or {}
        siblings = {item.resource.api_version: item for item in resources}
        webhook = ConversionWebhook(state, conversion["webhook"]) if conversion.get("strategy") == "Webhook" else None
        for item in resources:
            item.siblings = siblings
            if webhook is not None:
                item.convert_by(webhook.convert)
    return resources


def _schema(document: JsonObject | None, schemas: Mapping[bytes, Schema], *, preserve: bool) -> Schema:
    if document:
        schema = schemas.get(msgspec.json.encode(document)) or structural.load(document)
    else:
        schema = with_object_meta(ANYTHING)
    return schema.replace(preserve_unknown=True) if preserve else schema


def _scale_paths(scale: JsonObject | None) -> ScalePaths | None:
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath")
    return ScalePaths(
        _steps(scale["specReplicasPath"]),
        _steps(scale["statusReplicasPath"]),
        _steps(selector) if selector else None,
    )


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split("."))


def full_names(names: JsonObject) -> JsonObject:
    """``spec.names`` with defaults for the missing names."""
    return {
        "plural": names["plural"],
        "singular": names.get("singular") or names["kind"].lower(),
        **({"shortNames": names["shortNames"]} if names.get("shortNames") else {}),
        "kind": names["kind"],
        "listKind": names.get("listKind") or f"{names['kind']}List",
        **({"categories": names["categories"]} if names.get("categories") else {}),
    }


def _deprecation(spec: JsonObject, resource: Resource) -> str:
    """The warning for a deprecated version; it names a newer version to use instead, if there is one."""
    text = f"{resource.api_version} {resource.kind} is deprecated"
    served = [
        version["name"] for version in spec["versions"] if version.get("served") and not version.get("deprecated")
    ]
    newest = min(served, key=version_order, default="")
    if newest and version_order(newest) < version_order(resource.version):
        text += f"; use {resource.group}/{newest} {resource.kind}"
    return text

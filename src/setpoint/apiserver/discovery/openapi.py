"""OpenAPI documents: one at ``/openapi/v2``, and below ``/openapi/v3`` one for each group version and one for every
other root path (``/version``, ``/apis/apps`` and others).

A document is built when it is first requested. It depends only on the resources and is cached by their digest: two
servers in one process share the documents of the built-in groups. A change to a CRD causes only two documents to be
built again: that of its group version, and ``/openapi/v2``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

from setpoint.apiserver.discovery.openapi_definitions import (
    METADATA,
    PREFIX,
    DescribedResource,
    Form,
    built_in,
    custom,
    schema_name,
)
from setpoint.apiserver.discovery.openapi_operations import Operation, Parameter, operations
from setpoint.apiserver.discovery.openapi_roots import Reading, root_documents
from setpoint.meta import GroupVersionKind
from setpoint.models.history import NEWEST

JSON: Final = "application/json"
PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PROTOBUF_TYPES: Final = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
"""The media types of protobuf documents. The second is an older name, with a character that is invalid in
media types.
"""
_CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SECURITY: Final = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}


def respond(
    path: str,
    registry: Iterable[DescribedResource],
    *,
    minor: int = NEWEST,
    protobuf: bool = False,
    issuer: bool = False,
) -> tuple[bytes, str, str] | None:
    """The response to a GET of ``path``: body, entity tag (quoted) and content type; None if there is no such document.

    ``minor`` is the minor version of Kubernetes whose fields are described. With ``protobuf``, the document of version
    2 is in protobuf; all others are JSON. ``issuer`` says whether this server publishes keys that verify its tokens.
    """
    path = "/" + path.strip("/")
    items = tuple(registry)
    if path == "/openapi/v2":
        everything = _Contents.of("v2", minor, items, root_documents(items, issuer=issuer).values())
        if protobuf:
            return _in_protobuf(everything), everything.etag, PROTOBUF
        return _document(everything), everything.etag, JSON
    places = _places(items, issuer)
    if path == "/openapi/v3":
        return _index(places, minor)
    root = path.removeprefix("/openapi/v3")
    if root == path or root not in places:
        return None
    contents = _Contents.of("v3", minor, *places[root])
    return _document(contents), contents.etag, JSON


_Place = tuple[Sequence[DescribedResource], Sequence[Reading]]


def _places(registry: Sequence[DescribedResource], issuer: bool) -> dict[str, _Place]:
    """The contents of each OpenAPI 3 document, by the path that it describes."""
    groups: dict[str, list[DescribedResource]] = {}
    for item in registry:
        groups.setdefault(item.resource.root, []).append(item)
    roots = root_documents(registry, issuer=issuer)
    return {
        root: (groups.get(root, ()), (roots[root],) if root in roots else ()) for root in groups.keys() | roots.keys()
    }


def _index(places: Mapping[str, _Place], minor: int) -> tuple[bytes, str, str]:
    paths = {
        root.removeprefix("/"): {
            "serverRelativeURL": f"/openapi/v3{root}?hash={_Contents.of('v3', minor, *places[root]).digest}"
        }
        for root in sorted(places)
    }
    body = msgspec.json.encode({"paths": paths})
    return body, f'"{hashlib.sha256(body).hexdigest().upper()}"', JSON


@dataclass(frozen=True, slots=True)
class _Contents:
    """The input of a document; equal contents produce equal documents."""

    form: Form
    minor: int
    digest: str
    described: tuple[DescribedResource, ...] = field(compare=False)
    readings: tuple[Reading, ...]

    @classmethod
    def of(
        cls, form: Form, minor: int, described: Iterable[DescribedResource], readings: Iterable[Reading]
    ) -> _Contents:
        items = tuple(described)
        digest = hashlib.sha256(f"{form} 1.{minor}".encode())
        for item in items:
            digest.update(msgspec.json.encode((item.resource, item.schema_document, tuple(item.selectable_fields))))
        plain = tuple(readings)
        digest.update(msgspec.json.encode(plain))
        return cls(form, minor, digest.hexdigest().upper(), items, plain)

    @property
    def etag(self) -> str:
        return f'"{self.digest}"'


@lru_cache(maxsize=128)
def _document(contents: _Contents) -> bytes:
    return msgspec.json.encode(_v2(contents) if contents.form == "v2" else _v3(contents))


@lru_cache(maxsize=16)
def _in_protobuf(contents: _Contents) -> bytes:
    from setpoint.apiserver.discovery.openapi_protobuf import encode

    return encode(_v2(contents))


def _paths(contents: _Contents) -> dict[str, dict[str, Any]]:
    grouped: dict[str, list[Operation]] = {}
    for item in contents.described:
        for path, operation in operations(item.resource, custom=item.schema_document is not None):
            grouped.setdefault(path, []).append(operation)
    paths = {path: _path_item(items, contents.form) for path, items in grouped.items()}
    for reading in contents.readings:
        paths[reading.path] = {"get": reading.operation(contents.form)}
    return dict(sorted(paths.items()))


def _path_item(items: Sequence[Operation], form: Form) -> dict[str, Any]:
    """The operations on one path; the parameters that all of them have are those of the path."""
    shared = [parameter for parameter in items[0].parameters if all(parameter in item.parameters for item in items)]
    render, describe = (_operation_v2, _parameter_v2) if form == "v2" else (_operation_v3, _parameter_v3)
    methods: dict[str, Any] = {
        item.method: render(item, [parameter for parameter in item.parameters if parameter not in shared])
        for item in items
    }
    return methods | ({"parameters": [describe(parameter) for parameter in shared]} if shared else {})


def _definitions(contents: _Contents) -> dict[str, Any]:
    names = {item.schema for item in contents.readings}
    for item in contents.described:
        if item.schema_document is not None:
            names.update(METADATA)
        for _, operation in operations(item.resource, custom=item.schema_document is not None):
            names.update(schema_name(kind) for kind in (operation.request, operation.response) if kind is not None)
    definitions = built_in(names, contents.form, _own(contents), contents.minor)
    for item in contents.described:
        if item.schema_document is not None:
            definitions |= custom(item, contents.form)
    return definitions


def _own(contents: _Contents) -> tuple[str, str] | None:
    """The group and version of a version 3 document of built-in resources."""
    if contents.form == "v2" or not contents.described or contents.described[0].schema_document is not None:
        return None
    resource = contents.described[0].resource
    return resource.group, resource.version


def _common(operation: Operation) -> dict[str, Any]:
    return {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.id,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": _kind(operation.kind),
    }


def _response(operation: Operation, form: Form) -> dict[str, str]:
    return (
        {"type": "string"} if operation.response is None else {"$ref": PREFIX[form] + schema_name(operation.response)}
    )


def _kind(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}


def _info(contents: _Contents) -> dict[str, str]:
    return {"title": "Kubernetes", "version": f"1.{contents.minor}"}


# -- version 3 --------------------------------------------------------------------------------------------------------


def _v3(contents: _Contents) -> dict[str, Any]:
    components = {"schemas": schemas} if (schemas := _definitions(contents)) else {}
    custom = bool(contents.described) and contents.described[0].schema_document is not None
    return {
        "openapi": "3.0.0",
        "info": _CUSTOM_INFO if custom else _info(contents),
        "paths": _paths(contents),
        "components": components if custom else components | {"securitySchemes": _SECURITY},
    }


def _parameter_v3(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        **({"required": True} if parameter.place == "path" else {}),
        "schema": {"type": parameter.type, "uniqueItems": True},
    }


def _operation_v3(operation: Operation, parameters: Sequence[Parameter]) -> dict[str, Any]:
    result = _common(operation)
    if parameters:
        result["parameters"] = [_parameter_v3(parameter) for parameter in parameters]
    if operation.request is not None:
        schema = {"$ref": PREFIX["v3"] + schema_name(operation.request)}
        result["requestBody"] = {
            "content": {type_: {"schema": schema} for type_ in operation.consumes},
            **({"required": True} if operation.method != "delete" else {}),
        }
    content = {type_: {"schema": _response(operation, "v3")} for type_ in operation.produces}
    result["responses"] = {
        **{str(code): {"description": text, "content": content} for code, text in operation.codes.items()},
        "401": {"description": "Unauthorized"},
    }
    return result


# -- version 2 --------------------------------------------------------------------------------------------------------


def _v2(contents: _Contents) -> dict[str, Any]:
    return {
        "swagger": "2.0",
        "info": _info(contents),
        "paths": _paths(contents),
        "definitions": _definitions(contents),
        "securityDefinitions": _SECURITY,
        "security": [{"BearerToken": []}],
    }


def _parameter_v2(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "type": parameter.type,
        "uniqueItems": True,
        **({"required": True} if parameter.place == "path" else {}),
    }


def _operation_v2(operation: Operation, own: Sequence[Parameter]) -> dict[str, Any]:
    result = _common(operation)
    parameters = [_parameter_v2(parameter) for parameter in own]
    if operation.request is not None:
        body: dict[str, Any] = {
            "name": "body",
            "in": "body",
            "schema": {"$ref": PREFIX["v2"] + schema_name(operation.request)},
        }
        parameters.insert(0, {**body, "required": True} if operation.method != "delete" else body)
    response = _response(operation, "v2")
    return {
        **result,
        "consumes": list(operation.consumes) or ["*/*"],
        "produces": list(operation.produces),
        "schemes": ["https"],
        **({"parameters": parameters} if parameters else {}),
        "responses": {
            **{str(code): {"description": text, "schema": response} for code, text in operation.codes.items()},
            "401": {"description": "Unauthorized"},
        },
    }

"""The flag ``--for``: kinds and fields of a program that clusters of an older version of Kubernetes lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import yaml

from setpoint.apps.error_reports import UsageError
from setpoint.crd import CustomResource
from setpoint.meta import GroupVersionKind, Object, resource_of
from setpoint.models.history import VersionError, minor_of, missing_fields, missing_kind, newer_fields_of


def missing_in(version: str, documents: str, kinds: Iterable[type[Object]]) -> list[str]:
    """The lines about kinds and fields that a cluster of ``version`` (``1.33``) lacks or drops by default: about
    ``kinds``, then about the objects in ``documents``, which is a stream of YAML.

    Raises:
        UsageError: ``version`` is not a version that is known.
    """
    try:
        minor = minor_of(version)
    except VersionError as problem:
        raise UsageError(f"--for: {problem}") from None
    lines = []
    for gvk in dict.fromkeys(resource_of(kind).gvk for kind in kinds):
        if reason := missing_kind(gvk, minor):
            lines.append(f"{gvk.kind} of {gvk.api_version} {reason}")
    for document in yaml.load_all(documents, yaml.CSafeLoader):
        lines += _of_document(document, minor)
    return lines


def newer_parts(version: str, kinds: Iterable[type[Object]]) -> list[str]:
    """A line for each custom kind whose class contains models of Kubernetes with fields that a cluster of ``version``
    drops or refuses in its own objects: users can set them in the custom object, where they stay.

    Raises:
        VersionError: ``version`` is not a version that is known.
    """
    minor, lines = minor_of(version), []
    for kind in dict.fromkeys(kinds):
        if issubclass(kind, CustomResource):
            parts = dict.fromkeys(_classes_in(msgspec.inspect.type_info(kind)))
            fields = [field for part in parts for field in newer_fields_of(part, minor)]
            if fields:
                name = f"{kind.__name__} of {resource_of(kind).gvk.api_version}"
                lines.append(f"{name} takes fields that 1.{minor} lacks in its own kinds: {', '.join(sorted(fields))}")
    return lines


def _classes_in(node: object) -> Iterator[type]:
    """The classes below a type in msgspec's description of it. A class that contains itself is described by one object,
    so an object is looked at once.
    """
    ahead, identities = [node], set[int]()
    while ahead:
        node = ahead.pop()
        if isinstance(node, (list, tuple)):
            ahead += node
        elif isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)) and id(node) not in identities:
            identities.add(id(node))
            if isinstance(node, msgspec.inspect.StructType):
                yield node.cls
            ahead += [getattr(node, name) for name in node.__struct_fields__]


def _of_document(document: dict[str, Any], minor: int) -> list[str]:
    group, _, version = document["apiVersion"].rpartition("/")
    metadata = document.get("metadata", {})
    name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
    if reason := missing_kind(GroupVersionKind(group, version, document["kind"]), minor):
        return [f"{document['kind']} {name} {reason}"]
    return [f"{document['kind']} {name}: {field}" for field in missing_fields(document, minor)]

"""The flag ``--for``: kinds and fields of a program that clusters of an older version of Kubernetes lack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from setpoint.apps.error_reports import UsageError
from setpoint.meta import GroupVersionKind, Object, resource_of
from setpoint.models.history import VersionError, minor_of, missing_fields, missing_kind


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


def _of_document(document: dict[str, Any], minor: int) -> list[str]:
    group, _, version = document["apiVersion"].rpartition("/")
    metadata = document.get("metadata", {})
    name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
    if reason := missing_kind(GroupVersionKind(group, version, document["kind"]), minor):
        return [f"{document['kind']} {name} {reason}"]
    return [f"{document['kind']} {name}: {field}" for field in missing_fields(document, minor)]

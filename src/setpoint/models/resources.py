"""Kinds and resources by name. A model is loaded only when it is asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from setpoint.meta import GroupVersionKind, Object
from setpoint.models._table import BUILTIN, KUBERNETES, PACKAGES

__all__ = ["BUILTIN", "UnknownKindError", "definition_name", "kind_for", "schemas"]

_META_V1 = "io.k8s.apimachinery.pkg.apis.meta.v1"
_META_KINDS = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Status", "WatchEvent"})


class UnknownKindError(KeyError):
    """There is no built-in kind of that name; the message says whether the group, the version or the kind
    is missing.
    """

    def __str__(self) -> str:
        return str(self.args[0])


def kind_for(gvk: GroupVersionKind) -> type[Object]:
    """The class of a built-in kind; imports its module.

    Raises:
        UnknownKindError: the kind is not built in (it may be a custom resource), or it has no ``metadata`` (a list,
            options).
    """
    made = getattr(_module(gvk), gvk.kind, None)
    if isinstance(made, type) and issubclass(made, Object) and made is not Object:
        return made
    raise UnknownKindError(f"no model of {gvk}: {gvk.api_version} has no such kind in Kubernetes {KUBERNETES}")


def definition_name(gvk: GroupVersionKind) -> str:
    """The name of a built-in kind's definition in `schemas`, such as ``io.k8s.api.apps.v1.Deployment``.

    Raises:
        UnknownKindError: the kind is not built in.
    """
    package = PACKAGES.get(gvk.group)
    name = f"{package}.{gvk.version}.{gvk.kind}"
    if package is not None and name in schemas():
        return name
    if gvk.kind in _META_KINDS:  # every group has its own name for these
        return f"{_META_V1}.{gvk.kind}"
    raise UnknownKindError(f"no definition of {gvk} in Kubernetes {KUBERNETES}")


@cache
def schemas() -> dict[str, Any]:
    """Every OpenAPI definition by name, for `setpoint.schema.Schemas`; references are bare names.

    The definitions are read on the first call and kept. All callers share them, so treat them as constant.
    """
    from importlib.resources import files  # noqa: PLC0415 - most programs never need these three

    import msgspec  # noqa: PLC0415
    import zstandard  # noqa: PLC0415

    packed = files("setpoint.models").joinpath("schema.json.zst").read_bytes()
    definitions: dict[str, Any] = msgspec.json.decode(zstandard.ZstdDecompressor().decompress(packed))["definitions"]
    return definitions


def _module(gvk: GroupVersionKind) -> Any:
    package = PACKAGES.get(gvk.group)
    if package is None:
        raise UnknownKindError(f"no model of {gvk}: Kubernetes {KUBERNETES} has no group {gvk.group!r}")
    name = f"setpoint.models.{package.rpartition('.')[2]}_{gvk.version}"
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not name.startswith(missing.name):
            raise
        problem = f"no model of {gvk}: group {gvk.group or 'core'!r} has no version {gvk.version!r}"
        raise UnknownKindError(problem) from None

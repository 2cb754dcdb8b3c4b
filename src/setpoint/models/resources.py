"""Kinds and resources by name. A model is loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from setpoint.meta import GroupVersionKind, Object
from setpoint.models._table import BUILTIN, DEFINITIONS, KUBERNETES, PACKAGES

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
    cls = getattr(_module(gvk), gvk.kind, None)
    if isinstance(cls, type) and issubclass(cls, Object) and cls is not Object:
        return cls
    raise _unknown(gvk, f"{gvk.api_version} has no such kind in Kubernetes {KUBERNETES}")


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


class Definitions(Mapping[str, dict[str, Any]]):
    """Every OpenAPI definition by name. A package's definitions are read when one of them is asked for, and kept."""

    def __init__(self) -> None:
        self._packages: dict[str, dict[str, dict[str, Any]]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        return self._package(name.rpartition(".")[0])[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._package(name.rpartition(".")[0])

    def __iter__(self) -> Iterator[str]:
        for package in DEFINITIONS:
            yield from self._package(package)

    def __len__(self) -> int:
        return sum(len(self._package(package)) for package in DEFINITIONS)

    def _package(self, package: str) -> dict[str, dict[str, Any]]:
        if package not in self._packages:
            if package not in DEFINITIONS:
                return {}
            self._packages[package] = _read(package)
        return self._packages[package]


def _read(package: str) -> dict[str, dict[str, Any]]:
    from pkgutil import get_data  # noqa: PLC0415 - most programs need none of these

    import msgspec  # noqa: PLC0415

    from setpoint import zstd  # noqa: PLC0415

    packed = get_data("setpoint.models", f"schemas/{package}.json.zst")
    assert packed is not None
    return msgspec.json.decode(zstd.decompress(packed), type=dict[str, dict[str, Any]])


@cache
def schemas() -> Definitions:
    """Every OpenAPI definition by name, for `setpoint.schema.Schemas`; references are bare names. All callers share
    them, so treat them as constant.
    """
    return Definitions()


def _module(gvk: GroupVersionKind) -> Any:
    package = PACKAGES.get(gvk.group)
    if package is None:
        raise _unknown(gvk, f"Kubernetes {KUBERNETES} has no group {gvk.group!r}")
    name = f"setpoint.models.{package.rpartition('.')[2]}_{gvk.version}"
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not name.startswith(missing.name):
            raise
        raise _unknown(gvk, f"group {gvk.group or 'core'!r} has no version {gvk.version!r}") from None


def _unknown(gvk: GroupVersionKind, problem: str) -> UnknownKindError:
    """The error about a kind without a model; a kind that Kubernetes had until a version is reached without one."""
    from setpoint.models._history_table import last_version  # noqa: PLC0415 - for an error only

    until = last_version(gvk)
    hint = f"; clusters up to {until} have it: reach it with dynamic(await client.rest_mapper.for_kind(kind))"
    return UnknownKindError(f"no model of {gvk}: {problem}{hint if until else ''}")

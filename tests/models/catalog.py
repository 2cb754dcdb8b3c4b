"""Facts about the generated modules, for the tests of this package."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import msgspec

import setpoint.meta
import setpoint.models
from setpoint.meta import Object
from setpoint.models import schemas

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

# Definitions that are plain Python types, not classes.
PLAIN = {
    META + "Time",
    META + "MicroTime",
    META + "FieldsV1",
    META + "Patch",
    EXTENSIONS + "JSON",
    EXTENSIONS + "JSONSchemaPropsOrArray",
    EXTENSIONS + "JSONSchemaPropsOrBool",
    EXTENSIONS + "JSONSchemaPropsOrStringArray",
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
}

MODULES = sorted(
    info.name
    for info in pkgutil.iter_modules(setpoint.models.__path__)
    if not info.name.startswith("_") and info.name not in ("history", "resources")
)


def module(name: str) -> Any:
    return importlib.import_module(f"setpoint.models.{name}")


def structs(name: str) -> dict[str, type[msgspec.Struct]]:
    """The classes that a module defines, by name."""
    items = vars(module(name)).items()
    return {key: item for key, item in items if isinstance(item, type) and item.__module__ == f"setpoint.models.{name}"}


def objects(name: str) -> list[type[Object]]:
    return [item for item in structs(name).values() if issubclass(item, Object)]


def class_of(definition: str) -> type[msgspec.Struct]:
    """The class of a definition, generated or hand-written."""
    package, _, name = definition.rpartition(".")
    group, version = package.split(".")[-2:]
    where = f"{group}_{version}"
    if definition == "io.k8s.apimachinery.pkg.version.Info":
        where, name = "meta_v1", "VersionInfo"
    member: type[msgspec.Struct] = vars(module(where))[name]
    return member


CLASSES = {name: class_of(name) for name in sorted(schemas()) if name not in PLAIN}

"""From names on the wire to names in Python."""

from __future__ import annotations

import builtins
import keyword

from setpoint.meta import Object, wire_name
from setpoint.scaffold.classes.attributes import snake_case

# Names in generated annotations: a field of such a name would hide the type from the fields beside it.
_TYPES = frozenset({"bool", "bytes", "datetime", "dict", "float", "int", "list", "msgspec", "str"})
assert frozenset({"bool", "bytes", "dict", "float", "int", "list", "str"}) <= set(dir(builtins))

# Attributes of every Object. ``metadata`` is the only field among them.
_OBJECT = frozenset(name for name in (*dir(Object), "resource") if not name.startswith("__")) - {"metadata"}


def attribute_name(wire: str, *, on_object: bool) -> str:
    """The attribute for a field: `snake_case`, with ``_`` behind it where the plain word means something else."""
    name = snake_case(wire)
    if keyword.iskeyword(name) or name in _TYPES or (on_object and name in _OBJECT):
        return name + "_"
    return name


def needs_wire_name(attribute: str, wire: str) -> bool:
    """Whether the renaming rule of `setpoint.meta.Model` would put something else on the wire."""
    return wire_name(attribute) != wire


def module_name(definition: str) -> str:
    """The module of a definition: ``io.k8s.api.rbac.v1.Role`` lives in ``rbac_v1``."""
    package = definition.rpartition(".")[0]
    if package.startswith("io.k8s.apimachinery."):
        return "meta_v1"
    group, version = package.split(".")[-2:]
    return f"{group}_{version}"


def class_name(definition: str) -> str:
    """The class of a definition; the server's version would be plain ``Info``, which says too little."""
    return "VersionInfo" if definition == "io.k8s.apimachinery.pkg.version.Info" else definition.rpartition(".")[2]


def constant_name(group: str, version: str, kind: str) -> str:
    """The name of a kind's `Resource` in the table: ``APPS_V1_DEPLOYMENT``, ``CORE_V1_CONFIG_MAP``."""
    return f"{group.partition('.')[0] or 'core'}_{version}_{snake_case(kind)}".upper().replace("-", "_")

"""Names in Python for names on the wire."""

from __future__ import annotations

import keyword
import re
from collections.abc import Container, Iterable

from setpoint.crd import CustomResource
from setpoint.meta import wire_name

_PLURAL_ACRONYM = re.compile(r"([A-Z]{2,})s(?=[A-Z]|$)")
_BEFORE_WORD = re.compile(r"([A-Z]+)([A-Z][a-z])")
_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_NOT_WORD = re.compile(r"\W+", re.ASCII)
_IN_ANNOTATIONS = frozenset(
    {"Annotated", "Any", "Literal", "bool", "bytes", "date", "datetime", "dict", "float", "int", "list", "msgspec"}
    | {"sp", "str"}
)
"""Names in the annotations and defaults of a class: an attribute of that name would hide them from the lines below."""
_OBJECT = frozenset(name for name in (*dir(CustomResource), "resource", "definition") if not name.startswith("__"))


def snake_case(wire: str) -> str:
    """``clusterIPs`` is ``cluster_ips``, ``fsGroup`` is ``fs_group``, ``$ref`` is ``ref``. Keywords stay."""
    name = wire.lstrip("$").replace("-", "_")
    name = _PLURAL_ACRONYM.sub(lambda match: f"_{match[1].lower()}s_", name)
    name = _BEFORE_WORD.sub(r"\1_\2", name)
    name = _HUMP.sub(r"\1_\2", name)
    return re.sub("_+", "_", name).strip("_").lower()


def attributes_of(
    wires: Iterable[str], *, on_object: bool = False, reserved_names: Container[str] = ()
) -> dict[str, str]:
    """An attribute for each wire name of one class. ``on_object``: the class is a kind, whose own attributes such as
    ``labels`` stay free. ``reserved_names`` are names of classes that the module uses.

    The attribute ends in ``_`` where the plain word means something else, and in a number where two wire names would
    have the same one.
    """
    attributes: dict[str, str] = {}
    used: set[str] = set()
    for wire in wires:
        name = snake_case(_NOT_WORD.sub("_", wire)) or "field"
        if name[0].isdigit():
            name = f"field_{name}"
        reserved = on_object and name in _OBJECT and name != "metadata"
        if keyword.iskeyword(name) or name in _IN_ANNOTATIONS or name in reserved_names or reserved:
            name += "_"
        number, free = 2, name
        while free in used:
            free, number = f"{name}{number}", number + 1
        used.add(free)
        attributes[wire] = free
    return attributes


def class_word(wire: str) -> str:
    """A wire name as a part of a class's name: ``DnsNames`` for ``dnsNames``, ``XFoo`` for ``x-foo``."""
    word = wire_name(_NOT_WORD.sub("_", wire).strip("_")) or "Field"
    return word[:1].upper() + word[1:]

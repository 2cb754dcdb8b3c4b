"""Finds the newest class of a kind, which lists the conversions, from any of the kind's versions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from setpoint.crd.custom_resource import CustomResource
from setpoint.crd.errors import DefinitionError


def newest_of(kind: type[CustomResource]) -> type[CustomResource]:
    """The newest version of ``kind``: the last class in the chain of conversions that begins with ``kind``; ``kind``
    itself if no class lists a conversion from it.

    Only global classes of modules that have been imported are found.

    Raises:
        DefinitionError: two classes list a conversion from the same older class.
    """
    newer = [subclass for subclass in _below(CustomResource) if _converts(subclass, kind)]
    if len(newer) > 1:
        names = " and ".join(f"{subclass.__module__}.{subclass.__name__}" for subclass in newer)
        raise DefinitionError(f"{names} both have a conversion from {kind.__name__}: versions form one line")
    return newest_of(newer[0]) if newer else kind


def _converts(newer: Any, older: type) -> bool:
    conversions = newer.definition.conversions if hasattr(newer, "definition") else ()
    if not any(conversion.older is older for conversion in conversions):
        return False
    return getattr(sys.modules.get(newer.__module__), newer.__qualname__, None) is newer


def _below(kind: type[CustomResource]) -> Iterator[type[CustomResource]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _below(subclass)

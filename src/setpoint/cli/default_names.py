"""The default names of a program's objects in a cluster.

No other program may have the same name: two programs with one name overwrite each other's webhook configurations and
roles, and compete for one Lease. Common names (a file ``main.py``, a controller of pods) are not unique; the name of
the program's own API group is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

from setpoint.apps.error_reports import UsageError
from setpoint.controller import Controller
from setpoint.controller.declaration import MANAGER_LENGTH
from setpoint.crd import CustomResource
from setpoint.meta import resource_of
from setpoint.meta.names import dns1123_subdomain
from setpoint.webhook import Admission, Converter

_SAY = "give the program a name with --name, or with name= of sp.main or sp.Operator, such as pod-labeler.example.com"
_LONGEST_LABEL = 63


def checked(name: str) -> str:
    """Returns ``name`` if objects can have this name; raises `UsageError` otherwise."""
    if problems := dns1123_subdomain(name):
        raise UsageError(f"the name {name!r}: {problems[0]}")
    return name


def webhook_name(served: Iterable[Admission[Any] | Converter], name: str | None = None) -> str:
    """The name of the webhook configurations: ``name``, or by default the API group of the webhooks' kinds.

    Raises:
        UsageError: the name is not valid; or there is none, and the kinds are built in or belong to several groups.
    """
    if name is not None:
        return checked(name)
    kinds: dict[Any, None] = {}
    for handler in served:
        kinds |= dict.fromkeys([handler.kind] if isinstance(handler, Admission) else handler.classes)
    groups = sorted({resource_of(kind).group for kind in kinds if issubclass(kind, CustomResource)})
    if len(groups) == 1:
        return groups[0]
    why = f"these are {', '.join(groups)}" if groups else "all of these kinds are built in"
    raise UsageError(f"webhook configurations are named after the API group, and {why}: {_SAY}")


def program_name(
    controllers: Sequence[Controller[Any]],
    name: str | None = None,
    served: Sequence[Admission[Any] | Converter] = (),
) -> str:
    """The name of a program's role and Lease: ``name`` or, by default, the name of the first controller, followed by
    the API group if its kind is a custom resource. By default, a program without controllers has the name of its
    webhook configurations.

    Raises:
        UsageError: the name is not valid. Or ``name`` is None, and either the first controller is for a built-in kind
            and has the default name, or there are no controllers and `webhook_name` finds no default.
    """
    if name is not None:
        return checked(name)
    if not controllers:
        return webhook_name(served)
    first = controllers[0]
    if issubclass(first.kind, CustomResource):
        return checked(first.full_name)
    if first.name != first.resource.kind.lower():
        return first.name  # the author chose it
    raise UsageError(f"other programs may also have a controller of {first.resource.plural}: {_SAY}")


def manager_name(
    controllers: Sequence[Controller[Any]],
    name: str | None = None,
    served: Sequence[Admission[Any] | Converter] = (),
) -> str:
    """The field manager of the writes that a program makes outside its reconciles' contexts.

    Raises:
        UsageError: as `program_name`.
    """
    if name is None and controllers:
        return controllers[0].field_manager
    return program_name(controllers, name, served)[:MANAGER_LENGTH]


def shard_group(name: str) -> str:
    """``name`` as a label value of at most 63 characters: the end of a longer name is replaced by a checksum."""
    if len(name) <= _LONGEST_LABEL:
        return name
    return f"{name[: _LONGEST_LABEL - 9].rstrip('.-')}-{crc32(name.encode()):08x}"

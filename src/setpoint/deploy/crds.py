"""The CustomResourceDefinitions of a program's custom resource classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from setpoint.controller import Controller, watched_kinds
from setpoint.crd import CustomResource, crd_for
from setpoint.crd.newest_version import newest_of
from setpoint.meta import GroupKind, resource_of
from setpoint.webhook import Admission, ServiceTarget, UrlTarget
from setpoint.webhook.conversion import CONVERT_PATH

Document = dict[str, Any]
Target = ServiceTarget | UrlTarget


class _Anywhere:
    """A placeholder for the address of a webhook, which is ignored when definitions are compared."""

    def client_config(self, path: str) -> Document:
        return {}


ANYWHERE: Final = _Anywhere()


def own_kinds(
    kinds: Iterable[type[Any]], controllers: Iterable[Controller[Any]], admissions: Iterable[Admission[Any]]
) -> list[type[Any]]:
    """The ``kinds`` that a controller reconciles or an admission decides on, in whatever version, and those that no
    controller declares. The others are only owned, watched or read: their definitions may belong to other projects.
    Kinds with ``installed_by`` are never among them.
    """
    controllers = list(controllers)
    own = {_group_kind(controller.kind) for controller in controllers}
    own |= {_group_kind(admission.kind) for admission in admissions}
    foreign = {_group_kind(kind) for kind in watched_kinds(controllers)} - own
    return [kind for kind in kinds if _group_kind(kind) not in foreign and not installed_by(kind)]


def installed_by(kind: type[Any]) -> str:
    """The project that installs the kind, as its class says; ``""`` for an own or a built-in kind."""
    return kind.definition.installed_by if issubclass(kind, CustomResource) else ""


def _group_kind(kind: type[Any]) -> GroupKind:
    resource = resource_of(kind)
    return GroupKind(resource.group, resource.kind)


def definitions_of(kinds: Iterable[type[Any]], target: Target | _Anywhere | None = None) -> list[Document]:
    """The CustomResourceDefinitions of the custom resources among ``kinds``, ordered by name.

    ``target`` is the address of the webhook that converts between versions, if a kind needs one.

    Raises:
        DefinitionError: a class does not have a valid definition.
    """
    versions: dict[GroupKind, list[type[CustomResource]]] = defaultdict(list)
    for kind in kinds:
        if issubclass(kind, CustomResource):
            newest = newest_of(kind)
            # The newest class first, as it lists the conversions; a kind without conversions stays alone.
            classes = versions[_group_kind(kind)]
            classes += [version for version in (newest, kind) if version not in classes]
            classes.sort(key=lambda version: -len(version.definition.conversions))
    config = target.client_config(CONVERT_PATH) if target is not None else None
    documents = (crd_for(*kinds, conversion_client_config=config) for kinds in versions.values())
    return sorted(documents, key=lambda crd: str(crd["metadata"]["name"]))

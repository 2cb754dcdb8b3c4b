"""A controller's objects in its cluster, as YAML: its CustomResourceDefinitions and the permissions it declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from setpoint.controller import Controller, watched_kinds
from setpoint.crd import CustomResource, crd_for
from setpoint.crd.family import newest_of
from setpoint.meta import GroupKind, resource_of
from setpoint.webhook import ServiceTarget, UrlTarget
from setpoint.webhook.conversion import CONVERT_PATH

Document = dict[str, Any]
Target = ServiceTarget | UrlTarget


class _Anywhere:
    """A placeholder for a webhook, which the comparison of definitions ignores."""

    def client_config(self, path: str) -> Document:
        return {}


ANYWHERE: Final = _Anywhere()

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "patch", "update")


def definitions(controllers: Iterable[Controller[Any]], target: Target | None = None) -> list[Document]:
    """The CustomResourceDefinitions of every custom resource class that the controllers name, ordered by name.

    ``target`` is the address of the webhook that converts between versions, if they need one.

    Raises:
        DefinitionError: a class can't be a definition.
    """
    return definitions_of(watched_kinds(controllers), target)


def definitions_of(kinds: Iterable[type[Any]], target: Target | _Anywhere | None = None) -> list[Document]:
    """As `definitions`, for the custom resources among ``kinds``."""
    versions: dict[GroupKind, list[type[CustomResource]]] = defaultdict(list)
    for kind in kinds:
        if issubclass(kind, CustomResource):
            resource, newest = resource_of(kind), newest_of(kind)
            # The newest class first, as it lists the conversions; a kind without conversions stays alone.
            found = versions[GroupKind(resource.group, resource.kind)]
            found += [each for each in (newest, kind) if each not in found]
            found.sort(key=lambda each: -len(each.definition.conversions))
    config = target.client_config(CONVERT_PATH) if target is not None else None
    documents = (crd_for(*kinds, conversion_client_config=config) for kinds in versions.values())
    return sorted(documents, key=lambda crd: str(crd["metadata"]["name"]))


def cluster_role(controllers: Sequence[Controller[Any]], name: str) -> dict[str, Any]:
    """A ClusterRole with the minimal permissions for the controllers' declarations.

    Read access to everything that is watched or read; write access to owned kinds; the status and finalizers of the
    controllers' own kinds; events; leases for leader election and shards; token and access reviews for metrics and
    debug pages.
    """
    verbs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for controller in controllers:
        own = controller.resource
        for watch in controller.watched:
            resource = resource_of(watch.kind)
            verbs[resource.group, resource.plural].update(_READ)
            if watch.role == "owns":
                verbs[resource.group, resource.plural].update(_WRITE)
        verbs[own.group, own.plural].update(("patch", "update"))
        # Setting blockOwnerDeletion needs permission to update the owner's finalizers.
        verbs[own.group, f"{own.plural}/finalizers"].add("update")
        if "status" in own.subresources:
            verbs[own.group, f"{own.plural}/status"].update(("get", "patch", "update"))
    verbs["events.k8s.io", "events"].update(("create", "patch"))
    # An update is sent as a patch; shards list each other's leases, and delete those of the dead.
    verbs["coordination.k8s.io", "leases"].update(("create", "delete", "get", "list", "patch", "update"))
    verbs["authentication.k8s.io", "tokenreviews"].add("create")
    verbs["authorization.k8s.io", "subjectaccessreviews"].add("create")
    rules: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, plural), allowed in verbs.items():
        rules[group, tuple(sorted(allowed))].append(plural)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": sorted(plurals), "verbs": list(allowed)}
            for (group, allowed), plurals in sorted(rules.items())
        ],
    }

"""Permissions: the RBAC rules that the declarations of a program's controllers need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from setpoint.client.permission_needs import VERBS, Need
from setpoint.controller import Controller
from setpoint.crd import CustomResource
from setpoint.meta import resource_of
from setpoint.webhook import Admission, Converter

Document = dict[str, Any]
READ: Final = ("get", "list", "watch")
WRITE: Final = ("create", "delete", "patch", "update")
EVERYBODY: Final = (
    *("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"),
    *("/healthz", "/livez", "/readyz", "/version", "/version/"),
)
"""The URLs that every account may read in a cluster: those of ``system:discovery`` and
``system:public-info-viewer``."""
_ANY: Final = "*"


class Grant(NamedTuple):
    """One verb on one resource or on one non-resource URL.

    ``resource`` may include a subresource, as in ``pods/log``; an empty ``name`` means all objects. As in RBAC rules,
    ``*`` stands for every group, resource or verb, ``*/scale`` for that subresource of every resource, and a ``url``
    that ends with ``*`` for every URL with that beginning.
    """

    group: str
    resource: str
    verb: str
    name: str = ""
    url: str = ""

    def covers(self, other: Grant) -> bool:
        """Whether this grant allows everything that ``other`` allows. A grant for one named object does not cover a
        grant for all objects.
        """
        if self.verb not in (_ANY, other.verb):
            return False
        if self.url or other.url:
            prefix = self.url.removesuffix(_ANY)
            return other.url == self.url or (prefix != self.url and other.url.startswith(prefix) and bool(other.url))
        _, _, subresource = other.resource.partition("/")
        return (
            self.group in (_ANY, other.group)
            and self.resource in (_ANY, other.resource, f"{_ANY}/{subresource}" if subresource else _ANY)
            and self.name in ("", other.name)
        )


def declared(controllers: Iterable[Controller[Any]], served: Iterable[Admission[Any] | Converter] = ()) -> set[Grant]:
    """The grants that the declarations need: read access to every kind that controllers or admissions watch or read;
    write access to the kinds that controllers own; the grants of `of_the_framework`; and those that
    `Controller.needs` declares.
    """
    everywhere, confined = by_namespace(controllers, served)
    return everywhere.union(*confined.values())


def by_namespace(
    controllers: Iterable[Controller[Any]], served: Iterable[Admission[Any] | Converter] = ()
) -> tuple[set[Grant], dict[str, set[Grant]]]:
    """The grants of `declared` in two parts: those that are needed in all namespaces, and by namespace those that are
    needed only there: kinds that are read or watched with a ``namespace``, and nowhere else.
    """
    controllers = list(controllers)
    grants = of_the_framework(controllers)
    confined: defaultdict[str, set[Grant]] = defaultdict(set)
    for controller in controllers:
        for watch in controller.watched:
            resource = resource_of(watch.kind)
            verbs = (*READ, *WRITE) if watch.role == "owns" else READ
            is_confined = watch.role in ("reads", "watches") and watch.namespace is not None and resource.namespaced
            place = confined[str(watch.namespace)] if is_confined else grants
            place.update(Grant(resource.group, resource.plural, verb) for verb in verbs)
        for need in controller.needed:
            grants |= _of_need(need)
    for webhook in served:
        for kind in getattr(webhook, "read_kinds", ()):
            resource = resource_of(kind)
            grants.update(Grant(resource.group, resource.plural, verb) for verb in READ)
    rest = {namespace: inside - grants for namespace, inside in sorted(confined.items())}
    return grants, {namespace: inside for namespace, inside in rest.items() if inside}


def of_the_framework(controllers: Iterable[Controller[Any]]) -> set[Grant]:
    """The grants that every controller needs, whatever its function does: ``patch`` and ``update`` on the kind that it
    reconciles, access to the status and finalizers of that kind, and ``create`` and ``patch`` on events.

    For a built-in kind, the status is included only if the controller has ``owns_status``, because otherwise it belongs
    to another program, and the finalizers only if the controller may create objects that it owns.
    """
    controllers = list(controllers)
    grants = {Grant("events.k8s.io", "events", verb) for verb in ("create", "patch") if controllers}
    for controller in controllers:
        own, is_custom = controller.resource, issubclass(controller.kind, CustomResource)
        grants.update(Grant(own.group, own.plural, verb) for verb in ("patch", "update"))
        # Setting blockOwnerDeletion needs permission to update the owner's finalizers.
        if is_custom or _makes_children(controller):
            grants.add(Grant(own.group, f"{own.plural}/finalizers", "update"))
        if "status" in own.subresources and (is_custom or controller.owns_status):
            grants.update(Grant(own.group, f"{own.plural}/status", verb) for verb in ("get", "patch", "update"))
    return grants


def _of_need(need: Need) -> set[Grant]:
    objects = {
        Grant(group, resource, verb, name)
        for group in need.groups
        for resource in need.resources
        for verb in need.verbs
        for name in need.names or ("",)
    }
    return objects | {Grant("", "", verb, url=url) for url in need.urls for verb in need.verbs}


def _makes_children(controller: Controller[Any]) -> bool:
    """Whether the declarations allow the controller to create or apply objects that it owns."""
    owns = any(watch.role == "owns" for watch in controller.watched)
    return owns or any(
        {"create", "patch", _ANY} & {*need.verbs} and any("/" not in resource for resource in need.resources)
        for need in controller.needed
    )


def declaration(grant: Grant, verbs: Sequence[str], kind: str) -> str:
    """The call that declares these verbs on the resource or URL of a grant: ``.needs(Pod, "get", subresource="log")``.

    ``kind`` is the name of the resource's class.
    """
    quoted = ", ".join(f'"{verb}"' for verb in verbs)
    if grant.url:
        return f'.needs(PolicyRule(non_resource_urls=["{grant.url}"], verbs=[{quoted}]))'
    if {*verbs} - {*VERBS}:
        return f'.needs(PolicyRule(api_groups=["{grant.group}"], resources=["{grant.resource}"], verbs=[{quoted}]))'
    subresource = grant.resource.partition("/")[2]
    return f".needs({kind}, {quoted}" + (f', subresource="{subresource}")' if subresource else ")")


def leases() -> set[Grant]:
    """The grants for a leader election and for shards, whose members list each other's Leases and delete those of dead
    members. The grants for events about the Leases, in their namespace, are included.
    """
    # An update is sent as a patch.
    verbs = ("create", "delete", "get", "list", "patch", "update")
    events = {Grant("events.k8s.io", "events", verb) for verb in ("create", "patch")}
    return events | {Grant("coordination.k8s.io", "leases", verb) for verb in verbs}


def pause_switch(name: str) -> set[Grant]:
    """The grants with which a program follows the ConfigMap that pauses its controllers, in its own namespace."""
    return {Grant("", "configmaps", verb, name) for verb in READ}


def access_reviews() -> set[Grant]:
    """The grants with which a program checks whether a caller may see its metrics and debug pages."""
    reviews = (("authentication.k8s.io", "tokenreviews"), ("authorization.k8s.io", "subjectaccessreviews"))
    return {Grant(group, resource, "create") for group, resource in reviews}


def certificates(secret: str) -> set[Grant]:
    """The grants with which a program keeps its own certificates in the Secret with the name ``secret``."""
    # A name is not known to the authorizer at a create.
    return {Grant("", "secrets", "create"), *(Grant("", "secrets", verb, secret) for verb in ("get", "patch"))}


def injection(trusting: Sequence[tuple[str, str]]) -> set[Grant]:
    """The grants for the injection of a CA bundle into these kinds and names; see `setpoint.webhook.ca_injection`."""
    places = {
        "MutatingWebhookConfiguration": ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        "CustomResourceDefinition": ("apiextensions.k8s.io", "customresourcedefinitions"),
    }
    return {Grant(*places[kind], verb, name) for kind, name in trusting for verb in ("get", "patch")}


def registrations(configuration: str, definitions: Iterable[str]) -> set[Grant]:
    """The grants with which the webhook configurations of that name, and these definitions' conversions, are removed.

    ``configuration`` is empty for a program without admissions.
    """
    group, definition = "admissionregistration.k8s.io", "customresourcedefinitions"
    kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations") if configuration else ()
    grants = {Grant(group, kind, "delete", configuration) for kind in kinds}
    return grants | {
        Grant("apiextensions.k8s.io", definition, verb, name) for name in definitions for verb in ("get", "patch")
    }


def rules(grants: Iterable[Grant]) -> list[Document]:
    """The rules of a role that allows exactly the grants, sorted; resources with the same verbs share a rule."""
    verbs: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    reached: dict[str, set[str]] = defaultdict(set)
    for grant in grants:
        if grant.url:
            reached[grant.url].add(grant.verb)
        else:
            verbs[grant.group, grant.name, grant.resource].add(grant.verb)
    # Names of one resource with the same verbs share a rule; so do resources without names.
    named: dict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    plain: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, name, resource), allowed in verbs.items():
        if name:
            named[group, resource, tuple(sorted(allowed))].append(name)
        else:
            plain[group, tuple(sorted(allowed))].append(resource)
    rules: list[Document] = [
        {"apiGroups": [group], "resources": sorted(resources), "verbs": list(allowed)}
        for (group, allowed), resources in sorted(plain.items())
    ]
    rules += [
        {"apiGroups": [group], "resources": [resource], "resourceNames": sorted(names), "verbs": list(allowed)}
        for (group, resource, allowed), names in sorted(named.items())
    ]
    urls: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for url, allowed in reached.items():
        urls[tuple(sorted(allowed))].append(url)
    rules += [{"nonResourceURLs": sorted(paths), "verbs": list(allowed)} for allowed, paths in sorted(urls.items())]
    return rules

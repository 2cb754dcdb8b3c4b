"""The built-in resources of a version of Kubernetes, as a server with the default configuration serves them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from setpoint.apiserver.objects.go_form import complete, shorten
from setpoint.apiserver.replay import Replay
from setpoint.apiserver.resources.builtin_schemas import built_in_schemas
from setpoint.apiserver.resources.registry import Convert, Registry, ScalePaths, ServedResource
from setpoint.apiserver.strategies import Strategy, strategy_for
from setpoint.meta import GroupResource, Resource
from setpoint.models import BUILTIN, definition_name
from setpoint.models.history import is_known_kind

_NOT_GENERALLY_AVAILABLE: Final = re.compile(r"v\d+(alpha|beta)\d+")
# The version to store, where there are several.
_STORED_AS: Final = {"horizontalpodautoscalers.autoscaling": "v2"}
# Both groups serve the same events, which are stored in one collection.
_DEPRECATED: Final = {
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
}
_SAME_PLACE: Final = {"events.events.k8s.io": GroupResource("", "events")}


def add_builtin(registry: Registry) -> None:
    """Adds the generally available built-in resources of the registry's version of Kubernetes; alpha and beta versions
    are off by default.
    """
    for served in _served(registry.minor):
        registry.add(served)


@cache
def _served(minor: int) -> tuple[ServedResource, ...]:
    """These resources in the order of discovery. All servers in a process share them: only custom resources change."""
    schemas = built_in_schemas(minor)
    served: dict[tuple[str, str, str], ServedResource] = {}
    for resource in sorted(BUILTIN, key=_stored_first):
        if _NOT_GENERALLY_AVAILABLE.fullmatch(resource.version) or not is_known_kind(resource.gvk, minor):
            continue
        stored_as = _SAME_PLACE.get(str(resource.group_resource))
        key = (
            stored_as.group if stored_as else resource.group,
            stored_as.resource if stored_as else resource.plural,
        )
        stored = next((item for (g, _, p), item in served.items() if (g, p) == key), None)
        strategy = strategy_for(resource.group_resource)
        served_resource = ServedResource(
            resource,
            schemas[definition_name(resource.gvk)],
            strategy,
            stored_as=stored,
            collection=str(GroupResource(*key)),
            scale=ScalePaths() if "scale" in resource.subresources else None,
            warning=_DEPRECATED.get(str(resource.group_resource), ""),
            convert=_converter(strategy) if stored is not None or _several(resource) else None,
        )
        served_resource.computed = resource.plural == "componentstatuses"
        served[resource.group, resource.version, resource.plural] = served_resource
    order = ((resource.group, resource.version, resource.plural) for resource in BUILTIN)
    return tuple(served[place] for place in order if place in served)


def _converter(strategy: Strategy) -> Convert:
    def convert(obj: dict[str, Any], target: ServedResource, _: Replay | None) -> dict[str, Any]:
        converted = strategy.convert(obj, target.resource)
        shorten(target, converted)
        complete(target, converted)
        return converted

    return convert


def _several(resource: Resource) -> bool:
    name = str(resource.group_resource)
    return name in _STORED_AS or name in {str(item) for item in _SAME_PLACE.values()}


def _stored_first(resource: Resource) -> bool:
    name = str(resource.group_resource)
    return name in _SAME_PLACE or _STORED_AS.get(name, resource.version) != resource.version

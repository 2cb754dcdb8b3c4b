"""The chain: which plugins look at which resources, in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from setpoint.apiserver.plugins.attributes import Attributes
from setpoint.apiserver.plugins.classes import default_ingress_class, default_storage_class, resize_claim
from setpoint.apiserver.plugins.limit_ranger import check_limits, default_limits
from setpoint.apiserver.plugins.priority import prioritize, validate_priority_class
from setpoint.apiserver.plugins.protection import PROTECTED, protect
from setpoint.apiserver.plugins.quotas import check_quotas
from setpoint.apiserver.plugins.runtime_class import apply_runtime_class, validate_overhead
from setpoint.apiserver.plugins.tolerations import tolerate

__all__ = ["mutate", "mutates", "validate"]

Plugin = Callable[[Attributes], None]

# Upstream's order: kubeapiserver/options/plugins.go
MUTATING: Final[Mapping[str, tuple[Plugin, ...]]] = {
    "pods": (default_limits, prioritize, tolerate, apply_runtime_class),
    "persistentvolumeclaims": (default_storage_class, protect),
    **{collection: (protect,) for collection in PROTECTED if collection != "persistentvolumeclaims"},
    "ingresses.networking.k8s.io": (default_ingress_class,),
}
VALIDATING: Final[Mapping[str, tuple[Plugin, ...]]] = {
    "pods": (check_limits, validate_overhead),
    "persistentvolumeclaims": (check_limits, resize_claim),
    "priorityclasses.scheduling.k8s.io": (validate_priority_class,),
}


def mutates(attributes: Attributes) -> bool:
    """Whether any plugin may change the object."""
    return str(attributes.resource) in MUTATING


def mutate(attributes: Attributes) -> None:
    """Before webhooks mutate. Raises ApiStatusError."""
    for plugin in MUTATING.get(str(attributes.resource), ()):
        plugin(attributes)


def validate(attributes: Attributes) -> None:
    """After everything has mutated; quotas come last, since they count. Raises ApiStatusError."""
    for plugin in VALIDATING.get(str(attributes.resource), ()):
        plugin(attributes)
    check_quotas(attributes)

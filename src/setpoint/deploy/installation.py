"""Installation: the description of a program, from which the program's objects in a cluster are made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias
from zlib import crc32

from setpoint.controller import Controller
from setpoint.crd import CustomResource
from setpoint.deploy.container_resources import GUESSED, Resources
from setpoint.meta import Resource, resource_of
from setpoint.webhook import Admission, Converter, Policy, ServiceTarget

Document = dict[str, Any]
Certificates: TypeAlias = Literal["own", "cert-manager", "olm"]
METRICS_PORT: Final = 8080
HEALTH_PORT: Final = 8081
WEBHOOK_PORT: Final = 9443
_LONGEST: Final = 40
"""The maximum length of a short name: with the suffixes that are appended, a name must fit into the 63 characters of a
label.
"""
_SEMANTIC: Final = re.compile(r"v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)")


def short_name(program: str) -> str:
    """The first part of a program's name, as a DNS label with room for suffixes: ``shop`` for ``shop.example.com``."""
    first = program.partition(".")[0]
    if len(first) <= _LONGEST:
        return first
    return f"{first[: _LONGEST - 9].rstrip('-')}-{crc32(first.encode()):08x}"


@dataclass(frozen=True, slots=True)
class WebhookCallers:
    """The clients that may call the webhooks: the flags of ``run`` without ``webhook_``, with the authorities as PEM,
    and the ``networks`` (CIDR) from which a NetworkPolicy lets them come; none for all.
    """

    client_ca: str = ""
    client_names: Sequence[str] = ()
    tokens: str = "ignore"
    networks: Sequence[str] = ()


@dataclass(frozen=True)
class Installation:
    """The description from which all documents are made.

    ``program`` is a name that is unique in the cluster; names in the program's namespace begin with
    ``short``, and names of objects without a namespace begin with ``wide``.
    """

    program: str
    image: str
    controllers: Sequence[Controller[Any]]
    served: Sequence[Admission[Any] | Converter] = ()
    configuration: str = ""
    """The name of the webhook configurations; empty without admissions."""
    kinds: Sequence[type[Any]] = ()
    """The custom resource classes whose CustomResourceDefinitions are included."""
    namespace: str = "default"
    watch_namespace: str | None = None
    """The only namespace whose objects the controllers see; None means all."""
    certificates: Certificates = "own"
    callers: WebhookCallers = WebhookCallers()
    replicas: int = 2
    shards: bool = False
    shards_by: Literal["key", "namespace"] = "key"
    resources: Resources = GUESSED
    service: str = ""
    """The name of the webhooks' Service, if it differs from the default."""
    name_given: str = ""
    """The name with which the program is started (``--name``), if it differs from the program's
    default.
    """
    short: str = ""
    wide: str = ""
    instance: str = ""
    release: str = ""
    """The version, such as ``1.2.3``; by default the one in the image's tag."""
    managed_by: str = "setpoint"
    policies: Sequence[Policy] = ()
    options: Mapping[str, str | bool | float] = field(default_factory=dict)
    """Values of the program's own options, by the names of their flags."""
    option_names: Sequence[str] = ()
    """The names of all flags of the program's own options."""

    @cached_property
    def name(self) -> str:
        """The beginning of the names of objects in the operator's namespace."""
        return self.short or short_name(self.program)

    @cached_property
    def cluster_name(self) -> str:
        """The beginning of the names of cluster-scoped objects, which no other program in the cluster may use."""
        return self.wide or self.program

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """The only namespaces whose objects the program sees; empty means all. Without a ``watch_namespace`` they are
        those that the controllers declare, if all of them declare one.
        """
        if self.watch_namespace is not None:
            return (self.watch_namespace,)
        everywhere = any(controller.watched[0].namespace is None for controller in self.controllers)
        if everywhere or any(getattr(served, "read_kinds", ()) for served in self.served):
            return ()
        watched = [watch.namespace for controller in self.controllers for watch in controller.watched]
        return tuple(sorted({namespace for namespace in watched if namespace is not None}))

    @property
    def elects(self) -> bool:
        """Whether the replicas elect a leader: true if there are controllers, unless their objects are shared among all
        replicas.
        """
        return bool(self.controllers) and not self.shards

    @cached_property
    def version(self) -> str:
        """The version, for labels; empty if it is neither given nor in the image's tag."""
        if self.release:
            return self.release
        tag = self.image.rpartition("/")[2].partition("@")[0].partition(":")[2]
        match = _SEMANTIC.fullmatch(tag)
        return match[1] if match else ""

    @cached_property
    def selector(self) -> dict[str, str]:
        """The labels that select the operator's pods. They never change, because a Deployment's selector is
        immutable.
        """
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/instance": self.instance or self.name}

    def labels(self, component: str) -> dict[str, str]:
        """The labels that Kubernetes recommends for shared tooling."""
        labels = {**self.selector, "app.kubernetes.io/component": component}
        if self.version:
            labels["app.kubernetes.io/version"] = self.version
        return labels | {"app.kubernetes.io/part-of": self.name, "app.kubernetes.io/managed-by": self.managed_by}

    def metadata(self, ending: str, component: str, *, wide: bool = False, **more: Any) -> Document:
        """The metadata of an object: its name, its namespace unless the object is ``wide`` (cluster-scoped), its
        labels, and ``more`` fields.
        """
        start = self.cluster_name if wide else self.name
        metadata: Document = {"name": f"{start}-{ending}" if ending else start}
        if not wide:
            metadata["namespace"] = self.namespace
        return metadata | {"labels": self.labels(component)} | more

    @cached_property
    def target(self) -> ServiceTarget:
        """The Service that API servers call."""
        return ServiceTarget(self.service or f"{self.name}-webhook", self.namespace)

    @cached_property
    def secret(self) -> str:
        """The name of the Secret with the webhooks' certificates."""
        return f"{self.target.name}-tls"

    @cached_property
    def own_resources(self) -> list[Resource]:
        """The custom resources of the operator that its users write, without duplicates."""
        resources: dict[tuple[str, str], Resource] = {}
        for kind in (*self.kinds, *(controller.kind for controller in self.controllers)):
            if isinstance(kind, type) and issubclass(kind, CustomResource) and not kind.definition.installed_by:
                resource = resource_of(kind)
                resources.setdefault((resource.group, resource.plural), resource)
        return [resources[key] for key in sorted(resources)]

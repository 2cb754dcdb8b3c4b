"""The objects that register webhooks with API servers: webhook configurations and the conversions of CRDs. They are
made from the declarations that the server serves.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from setpoint.meta import Resource, resource_of
from setpoint.meta.names import dns1035_label, dns1123_label, dns1123_subdomain
from setpoint.webhook.admission import Admission, Role, selector_document
from setpoint.webhook.ca_injection import Trusting
from setpoint.webhook.conversion import CONVERT_PATH, Converter
from setpoint.webhook.version_translation import called_version

Document = dict[str, Any]
_API: Final = "admissionregistration.k8s.io/v1"
_KINDS: Final[dict[Role, str]] = {
    "mutate": "MutatingWebhookConfiguration",
    "validate": "ValidatingWebhookConfiguration",
}


class TargetError(ValueError):
    """API servers do not accept this address, or this name for webhook configurations; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class ServiceTarget:
    """The address of webhooks behind a Service. Raises `TargetError` if the Service's name, namespace or port is
    invalid.
    """

    name: str
    namespace: str
    port: int = 443

    def __post_init__(self) -> None:
        for field_name, word, problems in (
            ("name", self.name, dns1035_label(self.name)),
            ("namespace", self.namespace, dns1123_label(self.namespace)),
        ):
            if problems:
                raise TargetError(f"the Service's {field_name} {word!r}: {problems[0]}")
        if not 1 <= self.port <= 65535:
            raise TargetError(f"the Service's port must be 1 to 65535, not {self.port}")

    def client_config(self, path: str) -> Document:
        service = {"name": self.name, "namespace": self.namespace, "path": path, "port": self.port}
        return {"service": service}


@dataclass(frozen=True, slots=True)
class UrlTarget:
    """The address of webhooks that API servers reach directly: for development against a remote cluster.

    Raises `TargetError` for URLs that API servers refuse: those not of the form ``https://HOST[:PORT][/PATH]``.
    """

    url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise TargetError(
                f"{self.url!r} must be of the form https://HOST[:PORT][/PATH]: API servers accept no other"
            )

    def client_config(self, path: str) -> Document:
        return {"url": self.url.rstrip("/") + path}


Target = ServiceTarget | UrlTarget


def address_of(target: Target) -> str:
    """The beginning of the audiences of tokens for webhooks at ``target`` (KEP-6060); the path of a webhook follows."""
    if isinstance(target, ServiceTarget):
        return f"https://{target.name}.{target.namespace}.svc:{target.port}"
    return target.url.rstrip("/")


def configurations(
    served: Iterable[Admission[Any] | Converter],
    name: str,
    target: Target,
    *,
    bundle: bytes = b"",
    labels: Mapping[str, str] | None = None,
) -> list[Document]:
    """The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration with this ``name``; one without webhooks
    is left out.

    ``served`` are the declarations, or a `Webhooks` that contains them. Conversions are ignored here; see
    `conversion`. ``bundle`` (PEM) is the CA bundle; without one, ``caBundle`` is left for another program to inject.

    Raises:
        TargetError: the name is not valid.
    """
    if problems := dns1123_subdomain(name):
        raise TargetError(f"the name {name!r} of the webhook configurations: {problems[0]}")
    admissions = [webhook for webhook in served if isinstance(webhook, Admission)]
    documents: list[Document] = []
    for role, kind in _KINDS.items():
        called = [admission for admission in admissions if admission.functions(role)]
        entries = [
            _entry(admission, role, called_version(admission, admissions), target, bundle) for admission in called
        ]
        _distinguish(entries)
        if entries:
            metadata: Document = {"name": name}
            if labels:
                metadata["labels"] = dict(labels)
            documents.append({"apiVersion": _API, "kind": kind, "metadata": metadata, "webhooks": entries})
    return documents


def conversion(target: Target, *, bundle: bytes = b"") -> Document:
    """The ``spec.conversion`` of a CustomResourceDefinition whose versions the webhooks convert.

    The ``clientConfig`` in it can also be passed to `setpoint.crd.crd_for`, as ``conversion_client_config``.
    """
    return {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": _trusted(target.client_config(CONVERT_PATH), bundle),
            "conversionReviewVersions": ["v1"],
        },
    }


def trusting(served: Iterable[Admission[Any] | Converter], name: str) -> list[Trusting]:
    """The kinds and names of all objects that must have the server's CA bundle: see `setpoint.webhook.ca_injection`."""
    webhooks = list(served)
    admissions = [it for it in webhooks if isinstance(it, Admission)]
    configurations_and_names: list[Trusting] = [
        (kind, name) for role, kind in _KINDS.items() if any(admission.functions(role) for admission in admissions)
    ]
    configurations_and_names += [("CustomResourceDefinition", definition_name(it)) for it in converters_of(webhooks)]
    return configurations_and_names


def converters_of(served: Iterable[Admission[Any] | Converter]) -> list[Converter]:
    return [webhook for webhook in served if not isinstance(webhook, Admission)]


def definition_name(converter: Converter) -> str:
    """The name of the CustomResourceDefinition whose versions ``converter`` converts."""
    resource = resource_of(converter.classes[0])
    return f"{resource.plural}.{resource.group}"


def _entry(admission: Admission[Any], role: Role, version: str, target: Target, bundle: bytes) -> Document:
    resource = admission.resource
    entry: Document = {
        "name": _name(admission, role),
        "clientConfig": _trusted(target.client_config(admission.path(role, version)), bundle),
        "rules": [
            {
                "apiGroups": [resource.group],
                "apiVersions": [version],
                "operations": [operation.upper() for operation in admission.operations(role)],
                "resources": [f"{resource.plural}/{admission.subresource}".rstrip("/")],
                "scope": "Namespaced" if resource.namespaced else "Cluster",
            }
        ],
        "admissionReviewVersions": ["v1"],
        "failurePolicy": admission.failure_policy,
        "matchPolicy": admission.match.policy,
        "sideEffects": admission.side_effects,
        "timeoutSeconds": admission.timeout,
    }
    if role == "mutate":
        entry["reinvocationPolicy"] = admission.reinvocation
    namespaces = selector_document(admission.match.namespace_selector)
    if namespaces is None:
        namespaces = _spared(resource, target)
    if namespaces:
        entry["namespaceSelector"] = namespaces
    if objects := selector_document(admission.match.object_selector):
        entry["objectSelector"] = objects
    if admission.match.conditions:
        entry["matchConditions"] = [
            {"name": name, "expression": expression} for name, expression in admission.match.conditions.items()
        ]
    return entry


def _name(admission: Admission[Any], role: Role) -> str:
    """The name of the webhook, a domain name of at least three parts, as API servers require.

    For a custom resource the name does not contain the version: a release with a new version changes the existing
    entry, which contains the CA bundle, instead of adding another.
    """
    resource = admission.resource
    version = "" if _is_own(resource) else resource.version
    parts = (admission.name, role, version, resource.plural, admission.subresource, resource.group or "core")
    return ".".join(filter(None, parts))


def _distinguish(entries: list[Document]) -> None:
    """Makes the names in a configuration unique: entries with the same name, which are for different versions of a
    kind, are prefixed with their versions.
    """
    names = Counter(entry["name"] for entry in entries)
    for entry in entries:
        if names[entry["name"]] > 1:
            entry["name"] = f"{entry['rules'][0]['apiVersions'][0]}.{entry['name']}"


def _is_own(resource: Resource) -> bool:
    return "." in resource.group and not resource.group.endswith(".k8s.io")


def _spared(resource: Resource, target: Target) -> Document | None:
    """A selector that leaves out the namespaces that the webhook itself needs in order to start; None for custom
    resources and for cluster-scoped kinds other than Namespace.
    """
    if _is_own(resource) or not (resource.namespaced or resource.kind == "Namespace"):
        return None
    names = ["kube-system"]
    if isinstance(target, ServiceTarget) and target.namespace not in names:
        names.append(target.namespace)
    return {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": names}]}


def _trusted(config: Document, bundle: bytes) -> Document:
    if bundle:
        config["caBundle"] = base64.b64encode(bundle).decode()
    return config

"""The Services of the metrics and the webhooks, and the NetworkPolicy that restricts which clients can reach the
operator.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.deploy.installation import METRICS_PORT, WEBHOOK_PORT, Installation

Document = dict[str, Any]
METRICS_LABEL: Final = "metrics"
"""The label of namespaces whose pods may scrape the metrics; its value is ``enabled``, as in kubebuilder's projects."""


def services(operator: Installation) -> list[Document]:
    """The Service of the metrics, for a ServiceMonitor, and the Service of the webhooks, for API servers. The latter is
    left out if there are no webhooks, and with OLM, which creates its own.
    """
    documents = [_service(operator, f"{operator.name}-metrics", "metrics", METRICS_PORT, METRICS_PORT)]
    if operator.served and operator.certificates != "olm":  # OLM makes a Service of its own
        documents.append(_service(operator, operator.target.name, "webhooks", operator.target.port, WEBHOOK_PORT))
    return documents


def network_policy(operator: Installation) -> Document:
    """The NetworkPolicy, which lets API servers reach the webhooks, and pods in namespaces with the label ``metrics:
    enabled`` reach the metrics.

    A policy cannot select API servers by their pods, so the webhooks' port is open to all, unless their networks are
    given. Outgoing connections
    are not restricted: the address of the API server is not known, and reconcilers talk to other systems.
    """
    ingress: list[Document] = [
        {
            "from": [{"namespaceSelector": {"matchLabels": {METRICS_LABEL: "enabled"}}}],
            "ports": [{"port": METRICS_PORT, "protocol": "TCP"}],
        }
    ]
    if operator.served:
        sources = [{"ipBlock": {"cidr": network}} for network in operator.callers.networks]
        rule: Document = {"ports": [{"port": WEBHOOK_PORT, "protocol": "TCP"}]}
        ingress.append(rule | {"from": sources} if sources else rule)
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": operator.metadata("", "network"),
        "spec": {"podSelector": {"matchLabels": operator.selector}, "policyTypes": ["Ingress"], "ingress": ingress},
    }


def _service(operator: Installation, name: str, port_name: str, port: int, target: int) -> Document:
    metadata = operator.metadata("", port_name) | {"name": name}
    ports = [{"name": port_name, "port": port, "targetPort": target, "protocol": "TCP"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": operator.selector, "ports": ports},
    }

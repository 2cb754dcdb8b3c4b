"""Parts: the documents of an operator in groups, in the order in which they are applied."""

from __future__ import annotations

from typing import Any, Final

from setpoint.deploy import alerts, dashboard, networking, roles, webhooks, workload
from setpoint.deploy.installation import Installation
from setpoint.webhook.policy import policy_documents

Document = dict[str, Any]
ABOUT: Final = {
    "namespace": "The operator's namespace.",
    "definitions": "The kinds that the operator defines.",
    "roles": "The operator's account, with exactly the permissions that its declarations need.",
    "users": "The rights of the kinds' users; Kubernetes adds them to its own roles admin, edit and view.",
    "callers": "The authorities of the clients that may call the webhooks.",
    "manager": "The program itself.",
    "disruption": "A drain of nodes takes one replica at a time.",
    "network": "The Services, and the clients that may reach them.",
    "certificates": "The webhooks' certificate, issued by cert-manager.",
    "webhooks": "The webhooks that API servers call.",
    "policies": "Rules and defaults that API servers enforce themselves.",
    "monitoring": "Metrics, alerts and a dashboard; needs the kinds of prometheus-operator.",
}
"""The parts, with a sentence for each."""


def parts(operator: Installation) -> dict[str, list[Document]]:
    """The documents of every part that is not empty, by the part's name."""
    served = networking.services(operator)
    groups: dict[str, list[Document]] = {
        "namespace": [] if operator.namespace == "default" else [workload.namespace(operator)],
        "definitions": webhooks.definitions(operator),
        "roles": roles.roles(operator),
        "users": roles.user_roles(operator),
        "callers": [workload.callers_map(operator)] if operator.served and operator.callers.client_ca else [],
        "manager": [workload.deployment(operator)],
        "disruption": [workload.disruption_budget(operator)],
        "network": [*served, networking.network_policy(operator)],
        "certificates": webhooks.certificate(operator),
        "webhooks": webhooks.registrations(operator),
        "policies": policy_documents(operator.policies, operator.cluster_name, operator.labels("policies")),
        "monitoring": [
            alerts.service_monitor(operator),
            alerts.prometheus_rule(operator),
            dashboard.dashboard_map(operator),
        ],
    }
    assert [*groups] == [*ABOUT]
    return {name: documents for name, documents in groups.items() if documents}

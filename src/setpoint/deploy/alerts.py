"""Alerts for problems that justify waking a person, and the object that tells Prometheus where to scrape an operator's
metrics.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.deploy.installation import Installation

Document = dict[str, Any]
_API: Final = "monitoring.coreos.com/v1"


def service_monitor(operator: Installation) -> Document:
    """The ServiceMonitor of prometheus-operator, which scrapes every replica."""
    return {
        "apiVersion": _API,
        "kind": "ServiceMonitor",
        "metadata": operator.metadata("", "metrics"),
        "spec": {
            "selector": {"matchLabels": operator.selector | {"app.kubernetes.io/component": "metrics"}},
            "endpoints": [{"port": "metrics", "path": "/metrics"}],
        },
    }


def job(operator: Installation) -> str:
    """The PromQL label selector for the operator's series, by job: prometheus-operator names each job after its
    Service.
    """
    return f'job="{operator.name}-metrics",namespace="{operator.namespace}"'


def prometheus_rule(operator: Installation) -> Document:
    """The PrometheusRule. Each alert means that the operator is not doing its work and will not recover on its own."""
    series = job(operator)
    rules = [
        _alert(
            "OperatorIsDown",
            f"absent(up{{{series}}} == 1)",
            "10m",
            "critical",
            "No replica of the operator answers: nothing is reconciled.",
        ),
        *([_leaderless(series)] if operator.elects else []),
        _alert(
            "OperatorReconcilesFail",
            f'sum by (controller) (rate(controller_runtime_reconcile_total{{{series},result="error"}}[15m])) > 0.5 * '
            f"sum by (controller) (rate(controller_runtime_reconcile_total{{{series}}}[15m]))",
            "30m",
            "warning",
            "More than half of the reconciles of {{ $labels.controller }} have failed for half an hour. "
            "setpoint explain KIND NAMESPACE/NAME shows the reason.",
        ),
        _alert(
            "OperatorReconcileHangs",
            f"max by (name) (workqueue_longest_running_processor_seconds{{{series}}}) > 900",
            "5m",
            "warning",
            "A reconcile of {{ $labels.name }} has been running for more than 15 minutes. Its object is not looked at "
            "again until it ends.",
        ),
        _alert(
            "OperatorQueueStands",
            f"sum by (name) (min_over_time(workqueue_depth{{{series}}}[15m])) > 0 unless "
            f"sum by (name) (rate(workqueue_work_duration_seconds_count{{{series}}}[15m])) > 0",
            "15m",
            "critical",
            "Objects wait in the queue {{ $labels.name }}, and no worker handles them.",
        ),
        _alert(
            "OperatorIsThrottledByItself",
            f"sum by (controller) (increase(setpoint_hot_loops_total{{{series}}}[1h])) > 10",
            "1h",
            "warning",
            "{{ $labels.controller }} is in a hot loop: reconciles undo or repeat their own writes.",
        ),
    ]
    if operator.served:
        rules += [
            _alert(
                "OperatorWebhookFails",
                f'sum by (webhook) (rate(controller_runtime_webhook_requests_total{{{series},code=~"5.."}}[5m])) > '
                f"0.01 * sum by (webhook) (rate(controller_runtime_webhook_requests_total{{{series}}}[5m]))",
                "10m",
                "critical",
                "The webhook {{ $labels.webhook }} fails: writes of users are refused.",
            ),
            _alert(
                "OperatorCertificateIsNotRead",
                f"sum by (pod) (increase(certwatcher_read_certificate_errors_total{{{series}}}[30m])) > 3",
                "30m",
                "warning",
                "{{ $labels.pod }} can't read its serving certificate; when it expires, writes of users are refused.",
            ),
        ]
    for rule in rules:
        # Expressions that aggregate lose the labels by which Alertmanager routes, and a person sees whose alert it is.
        rule["labels"] |= {"namespace": operator.namespace, "operator": operator.program}
    return {
        "apiVersion": _API,
        "kind": "PrometheusRule",
        "metadata": operator.metadata("", "metrics"),
        "spec": {"groups": [{"name": operator.program, "rules": rules}]},
    }


def _leaderless(series: str) -> Document:
    return _alert(
        "OperatorHasNoLeader",
        f"max(leader_election_master_status{{{series}}}) == 0",
        "5m",
        "critical",
        "Replicas run, but none of them leads: nothing is reconciled. Check the Lease, and the permission to write it.",
    )


def _alert(name: str, expression: str, lasting: str, severity: str, text: str) -> Document:
    return {
        "alert": name,
        "expr": expression,
        "for": lasting,
        "labels": {"severity": severity},
        "annotations": {"summary": text.partition(". ")[0].partition(": ")[0].rstrip("."), "description": text},
    }

"""The dashboard: the operator's metrics in Grafana, under the names that controller-runtime uses."""

from __future__ import annotations

import json
from typing import Any, Final

from setpoint.deploy.alerts import job
from setpoint.deploy.installation import Installation

Document = dict[str, Any]
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH: Final = 8
_HEIGHT: Final = 8
_IN_A_ROW: Final = 3


def panels(operator: Installation) -> list[tuple[str, str, str, str]]:
    """The title, query, legend and unit of each panel."""
    series = job(operator)

    def rate(metric: str, by: str) -> str:
        return f"sum by ({by}) (rate({metric}{{{series}}}[$__rate_interval]))"

    def quantile(metric: str, by: str) -> str:
        return f"histogram_quantile(0.99, {rate(f'{metric}_bucket', f'le, {by}')})"

    rows = [
        ("Reconciles", rate("controller_runtime_reconcile_total", "controller, result"),
         "{{controller}} {{result}}", "ops"),
        ("Failed reconciles", rate("controller_runtime_reconcile_errors_total", "controller"), "{{controller}}", "ops"),
        ("Duration of a reconcile, p99", quantile("controller_runtime_reconcile_time_seconds", "controller"),
         "{{controller}}", "s"),
        ("Keys that wait", f"sum by (name) (workqueue_depth{{{series}}})", "{{name}}", "short"),
        ("Wait in the queue, p99", quantile("workqueue_queue_duration_seconds", "name"), "{{name}}", "s"),
        ("Longest reconcile under way",
         f"max by (name) (workqueue_longest_running_processor_seconds{{{series}}})", "{{name}}", "s"),
        ("Workers in use", f"sum by (controller) (controller_runtime_active_workers{{{series}}}) / "
         f"sum by (controller) (controller_runtime_max_concurrent_reconciles{{{series}}})",
         "{{controller}}", "percentunit"),
        ("Tried again", rate("workqueue_retries_total", "name"), "{{name}}", "ops"),
        ("Conflicts", rate("setpoint_reconcile_conflicts_total", "controller"), "{{controller}}", "ops"),
        ("Requests to the API server", rate("rest_client_requests_total", "method, code"), "{{method}} {{code}}",
         "reqps"),
        ("Memory", f"max by (pod) (process_resident_memory_bytes{{{series}}})", "{{pod}}", "bytes"),
        ("CPU", rate("process_cpu_seconds_total", "pod"), "{{pod}}", "short"),
    ]  # fmt: skip
    if operator.elects:
        rows.append(
            ("Leader", f"max by (pod, name) (leader_election_master_status{{{series}}})", "{{pod}} {{name}}", "bool")
        )
    if operator.served:
        rows += [
            ("Webhook requests", rate("controller_runtime_webhook_requests_total", "webhook, code"),
             "{{webhook}} {{code}}", "reqps"),
            ("Duration of a webhook, p99", quantile("controller_runtime_webhook_latency_seconds", "webhook"),
             "{{webhook}}", "s"),
        ]  # fmt: skip
    return rows


def dashboard(operator: Installation) -> Document:
    """The dashboard as Grafana imports it."""
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "title": f"Operator {operator.program}",
        "uid": operator.name[:40],
        "tags": ["kubernetes", "operator"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source]},
        "panels": [_panel(number, *panel) for number, panel in enumerate(panels(operator))],
    }


def dashboard_map(operator: Installation) -> Document:
    """The dashboard in a ConfigMap with the label by which Grafana's sidecar finds it."""
    metadata = operator.metadata("dashboard", "metrics")
    metadata["labels"] |= {"grafana_dashboard": "1"}
    text = json.dumps(dashboard(operator), indent=2) + "\n"
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {f"{operator.name}.json": text}}


def _panel(number: int, title: str, query: str, legend: str, unit: str) -> Document:
    row, column = divmod(number, _IN_A_ROW)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "datasource": _SOURCE, "expr": query, "legendFormat": legend}],
    }

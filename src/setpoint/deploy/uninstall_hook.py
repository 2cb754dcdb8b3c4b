"""The uninstall hook of a chart: a Job that runs the program's ``uninstall`` while the operator still runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from setpoint.deploy.installation import Installation, WebhookCallers
from setpoint.deploy.roles import uninstaller_roles
from setpoint.deploy.workload import deployment

Document = dict[str, Any]
_POLICY: Final = {
    "helm.sh/hook": "pre-delete",
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
    "helm.sh/hook-output-log-policy": "hook-failed",
}
"""After a failure the Job stays for its log, until the next attempt."""


def uninstall_hook(operator: Installation, arguments: list[str]) -> list[Document]:
    """The Job, which runs the operator's image with ``uninstall`` and ``arguments``, after the account and roles it
    needs. All have annotations of a Helm hook, and labels that no Service and no Deployment of the operator selects.

    A failed Job is not repeated: what it waits for has a time limit of its own, and ``helm uninstall`` can be repeated.
    """
    job = replace(
        operator,
        short=f"{operator.name}-uninstall",
        wide=f"{operator.cluster_name}-uninstall",
        served=(),  # the Job has no webhooks
        callers=WebhookCallers(),
    )
    template = deployment(job)["spec"]["template"]
    pod = template["spec"]
    container = pod["containers"][0]
    template["metadata"] = {"labels": job.labels("uninstall")}
    container |= {"name": "uninstall", "args": ["uninstall", "--yes", *arguments]}
    for field in ("ports", "livenessProbe", "readinessProbe"):
        del container[field]
    for field in ("topologySpreadConstraints", "terminationGracePeriodSeconds"):
        del pod[field]
    pod["restartPolicy"] = "Never"
    documents = [
        *uninstaller_roles(operator, job),
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": job.metadata("", "uninstall"),
            "spec": {"backoffLimit": 0, "template": template},
        },
    ]
    for document in documents:
        weight = "0" if document["kind"] == "Job" else "-1"
        document["metadata"] = document["metadata"] | {"annotations": _POLICY | {"helm.sh/hook-weight": weight}}
    return documents

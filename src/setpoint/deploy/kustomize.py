"""The kustomize form: a base that is generated, and overlays that belong to the user."""

from __future__ import annotations

from setpoint.deploy.document_groups import ABOUT, parts
from setpoint.deploy.file_tree import File
from setpoint.deploy.installation import Installation
from setpoint.meta.yaml_text import to_yaml

_API = "kustomize.config.k8s.io/v1beta1"


def kustomize(operator: Installation) -> dict[str, File]:
    """The files of a folder for ``kubectl apply -k``: ``base/``, ``overlays/``, and a kustomization that belongs to the
    user.

    ``base/`` and ``overlays/monitored/monitoring.yaml`` are generated again after every change to the program; the
    other files are written only once.
    """
    groups = parts(operator)
    base = {name: documents for name, documents in groups.items() if name != "monitoring"}
    files = {f"base/{name}.yaml": File(f"# {ABOUT[name]}\n{to_yaml(documents)}") for name, documents in base.items()}
    files["base/kustomization.yaml"] = File(_kustomization([f"{name}.yaml" for name in base], "The operator."))
    files["overlays/monitored/monitoring.yaml"] = File(f"# {ABOUT['monitoring']}\n{to_yaml(groups['monitoring'])}")
    files["overlays/monitored/kustomization.yaml"] = File(
        _kustomization(["../../base", "monitoring.yaml"], "With metrics, alerts and a dashboard."),
        once=True,
    )
    files["overlays/small/kustomization.yaml"] = File(_small(operator), once=True)
    files["kustomization.yaml"] = File(
        _kustomization(["base"], "Yours: patches, images, another namespace; base/ is generated."), once=True
    )
    return files


def _kustomization(resources: list[str], about: str) -> str:
    document = {"apiVersion": _API, "kind": "Kustomization", "resources": resources}
    return f"# {about}\n{to_yaml([document])}"


def _small(operator: Installation) -> str:
    document = {
        "apiVersion": _API,
        "kind": "Kustomization",
        "resources": ["../../base"],
        "replicas": [{"name": operator.name, "count": 1}],
    }
    return f"# One replica, for clusters on a developer's machine.\n{to_yaml([document])}"

"""The plain form: one stream of YAML for ``kubectl apply -f -``."""

from __future__ import annotations

from setpoint.deploy.document_groups import parts
from setpoint.deploy.installation import Installation
from setpoint.meta.yaml_text import to_yaml


def plain(operator: Installation, *, monitoring: bool = False) -> str:
    """All documents, in the order in which they are applied. The documents for monitoring, which need the kinds of
    prometheus-operator, are included only with ``monitoring``.
    """
    groups = parts(operator)
    return to_yaml(
        document for name, documents in groups.items() if monitoring or name != "monitoring" for document in documents
    )

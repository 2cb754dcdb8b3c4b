"""The registration of an operator's webhooks, and the certificate that cert-manager issues for them."""

from __future__ import annotations

from typing import Any, Final

from setpoint.deploy.crds import definitions_of
from setpoint.deploy.installation import Installation
from setpoint.webhook import configurations, service_names

Document = dict[str, Any]
_INJECT: Final = "cert-manager.io/inject-ca-from"
_ISSUER: Final = "cert-manager.io/v1"


def definitions(operator: Installation) -> list[Document]:
    """The CustomResourceDefinitions, with the address of the conversion webhook if versions need conversion. With OLM,
    the address is left out, because OLM sets it itself.
    """
    target = operator.target if operator.served and operator.certificates != "olm" else None
    documents = definitions_of(operator.kinds, target)
    for document in documents:
        document["metadata"].setdefault("labels", {}).update(operator.labels("definitions"))
        if "conversion" in document["spec"]:
            _trust(operator, document)
    return documents


def registrations(operator: Installation) -> list[Document]:
    """The webhook configurations; none with OLM, which makes them itself. The CA in them is injected by cert-manager if
    cert-manager is chosen, and by the operator otherwise.
    """
    if not operator.configuration or operator.certificates == "olm":
        return []
    documents = configurations(
        operator.served, operator.configuration, operator.target, labels=operator.labels("webhooks")
    )
    for document in documents:
        _trust(operator, document)
    return documents


def certificate(operator: Installation) -> list[Document]:
    """cert-manager's Issuer and Certificate, if cert-manager is chosen and there are webhooks."""
    if not operator.served or operator.certificates != "cert-manager":
        return []
    issuer = operator.metadata("webhook", "certificates")
    spec = {
        "secretName": operator.secret,
        "dnsNames": list(service_names(operator.target.name, operator.namespace)),
        "issuerRef": {"kind": "Issuer", "name": issuer["name"]},
        "privateKey": {"rotationPolicy": "Always"},
    }
    return [
        {"apiVersion": _ISSUER, "kind": "Issuer", "metadata": issuer, "spec": {"selfSigned": {}}},
        {"apiVersion": _ISSUER, "kind": "Certificate", "metadata": issuer, "spec": spec},
    ]


def _trust(operator: Installation, document: Document) -> None:
    if operator.certificates == "cert-manager":
        annotations = document["metadata"].setdefault("annotations", {})
        annotations[_INJECT] = f"{operator.namespace}/{operator.name}-webhook"

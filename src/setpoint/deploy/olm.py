"""The form for the Operator Lifecycle Manager (OLM): a bundle.

https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from setpoint.crd import CustomResource, Versions
from setpoint.crd.schema_samples import samples_of
from setpoint.deploy.document_groups import parts
from setpoint.deploy.file_tree import File
from setpoint.deploy.installation import WEBHOOK_PORT, Installation
from setpoint.meta import resource_of
from setpoint.meta.yaml_text import to_yaml
from setpoint.webhook import configurations
from setpoint.webhook.conversion import CONVERT_PATH
from setpoint.webhook.registration import converters_of, definition_name

Document = dict[str, Any]
_PACKAGED: Final = ("Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy")
"""The kinds that stay outside the ClusterServiceVersion, which contains the account, the roles and the Deployment."""
_HEADS: Final = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.channels.v1": "stable",
    "operators.operatorframework.io.bundle.channel.default.v1": "stable",
}


def olm(operator: Installation) -> dict[str, File]:
    """The files of a bundle. OLM makes the account, the bindings and the webhooks' certificate itself."""
    release = operator.version or "0.1.0"
    groups = parts(replace(operator, certificates="olm", release=release))
    annotations = _HEADS | {"operators.operatorframework.io.bundle.package.v1": operator.name}
    tree = {
        f"manifests/{operator.name}.clusterserviceversion.yaml": File(to_yaml([_version(operator, release, groups)])),
        "metadata/annotations.yaml": File(to_yaml([{"annotations": annotations}])),
        "bundle.Dockerfile": File(_dockerfile(annotations)),
    }
    for document in groups.get("definitions", []):
        tree[f"manifests/{document['metadata']['name']}.yaml"] = File(to_yaml([document]))
    beside = [document for documents in groups.values() for document in documents if document["kind"] in _PACKAGED]
    beside += groups.get("users", [])
    beside += [document for document in groups["roles"] if document["metadata"]["name"].endswith("-metrics-reader")]
    for document in beside:
        if document["kind"] == "ConfigMap":
            continue  # of the dashboard, which needs Grafana's sidecar
        document["metadata"].pop("namespace", None)
        kind, name = document["kind"].lower(), document["metadata"]["name"]
        tree[f"manifests/{name}.{kind}.yaml"] = File(to_yaml([document]))
    return tree


def _version(operator: Installation, release: str, groups: dict[str, list[Document]]) -> Document:
    deployment = groups["manager"][0]
    bound = [document for document in groups["roles"] if document["kind"] in ("Role", "ClusterRole")]
    bound = [role for role in bound if not role["metadata"]["name"].endswith("-metrics-reader")]
    for role in bound if operator.watch_namespace is None else ():
        if role["metadata"]["name"] == f"{operator.name}-manager":
            role["kind"] = "ClusterRole"  # a bundle can't name the namespaces of its roles
    definitions = groups.get("definitions", [])
    annotations = {
        "alm-examples": json.dumps(_examples(operator), indent=2),
        "capabilities": "Basic Install",
        "containerImage": operator.image,
    }
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    everywhere = operator.watch_namespace is None
    supported = {"AllNamespaces"} if everywhere else {"OwnNamespace", "SingleNamespace"}
    spec: Document = {
        "displayName": operator.name.replace("-", " ").title(),
        "description": f"The operator {operator.program}.",
        "version": release,
        "maturity": "alpha",
        "minKubeVersion": "1.27.0",
        "provider": {"name": operator.program},
        "keywords": [resource.kind.lower() for resource in operator.own_resources] or [operator.name],
        "installModes": [{"type": mode, "supported": mode in supported} for mode in modes],
        "customresourcedefinitions": {"owned": [owned for definition in definitions for owned in _owned(definition)]},
        "install": {
            "strategy": "deployment",
            "spec": {
                "clusterPermissions": _permissions(operator, bound, "ClusterRole"),
                "permissions": _permissions(operator, bound, "Role"),
                "deployments": [
                    {
                        "name": operator.name,
                        "label": deployment["metadata"]["labels"],
                        "spec": deployment["spec"],
                    }
                ],
            },
        },
    }
    if operator.served:
        spec["webhookdefinitions"] = _webhooks(operator)
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{operator.name}.v{release}", "annotations": annotations},
        "spec": spec,
    }


def _permissions(operator: Installation, roles: list[Document], kind: str) -> list[Document]:
    rules: list[Document] = []
    for role in roles:
        rules += [rule for rule in role["rules"] if role["kind"] == kind and rule not in rules]
    return [{"serviceAccountName": operator.name, "rules": rules}] if rules else []


def _owned(definition: Document) -> list[Document]:
    names = definition["spec"]["names"]
    return [
        {
            "name": definition["metadata"]["name"],
            "version": version["name"],
            "kind": names["kind"],
            "displayName": names["kind"],
            "description": str(version["schema"]["openAPIV3Schema"].get("description", "")) or names["kind"],
        }
        for version in definition["spec"]["versions"]
    ]


def _examples(operator: Installation) -> list[Document]:
    """A minimal object of each of the operator's own custom resources that has a controller, in each version."""
    examples: dict[str, Document] = {}
    for kind in (controller.kind for controller in operator.controllers):
        if not issubclass(kind, CustomResource) or kind.definition.installed_by:
            continue
        resource = resource_of(kind)
        schemas = Versions.of(kind).schemas
        for version in sorted(schemas, key=lambda version: version != resource.version):  # this class's own comes first
            named = f"{resource.group}/{version}"
            for sample in samples_of(schemas[version], named, resource.kind)[:1]:
                head = {"name": "sample"} | ({"namespace": "default"} if resource.namespaced else {})
                examples.setdefault(f"{named} {resource.kind}", {**sample, "metadata": head})
    return list(examples.values())


def _webhooks(operator: Installation) -> list[Document]:
    """The webhooks in the form that a ClusterServiceVersion uses."""
    common = {"deploymentName": operator.name, "containerPort": 443, "targetPort": WEBHOOK_PORT}
    documents: list[Document] = []
    if operator.configuration:
        for document in configurations(operator.served, operator.configuration, operator.target):
            for entry in document["webhooks"]:
                path = entry.pop("clientConfig")["service"]["path"]
                entry.pop("namespaceSelector", None)  # OLM sets it to the namespaces of the OperatorGroup
                documents.append(
                    {
                        "type": f"{document['kind'].removesuffix('WebhookConfiguration')}AdmissionWebhook",
                        "generateName": entry.pop("name"),
                        "webhookPath": path,
                        **common,
                        **entry,
                    }
                )
    converted = [definition_name(converter) for converter in converters_of(operator.served)]
    if converted:
        documents.append(
            {
                "type": "ConversionWebhook",
                "generateName": f"convert.{operator.program}",
                "webhookPath": CONVERT_PATH,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "conversionCRDs": converted,
                **common,
            }
        )
    return documents


def _dockerfile(annotations: dict[str, str]) -> str:
    labels = "\n".join(f"LABEL {name}={value}" for name, value in sorted(annotations.items()))
    head = "# The bundle: docker build -f bundle.Dockerfile .\nFROM scratch"
    return f"{head}\n\n{labels}\n\nCOPY manifests /manifests/\nCOPY metadata /metadata/\n"

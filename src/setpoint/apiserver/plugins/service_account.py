"""ServiceAccount: gives a pod the image pull secrets of its service account and a volume with a token,
which the kubelet fills.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.objects.metadata import generate_name
from setpoint.apiserver.requests.admission import AdmissionAttributes

JsonObject = dict[str, Any]

_PREFIX: Final = "kube-api-access-"
_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR: Final = "kubernetes.io/config.mirror"
_SECONDS: Final = 3607
"""The lifetime of a token, in seconds. As in upstream, this value shows that the token was not requested by the pod
itself.
"""


def mount_token(attributes: AdmissionAttributes) -> None:
    """Mounts a token into a new pod, and adds the account's image pull secrets if the pod has none.

    The token is not mounted if ``automountServiceAccountToken`` is false in the pod or, if the pod does not set it, in
    the account. A pod whose account does not exist is not changed, because a server without a control plane does not
    create accounts. (Upstream refuses the pod.)
    """
    if attributes.old is not None or attributes.subresource:
        return
    spec = attributes.spec
    if _MIRROR in (attributes.new["metadata"].get("annotations") or {}):
        return
    account = attributes.get("serviceaccounts", spec.get("serviceAccountName") or "default", attributes.namespace)
    if account is None:
        return
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(item) for item in account["imagePullSecrets"]]
    settings = (holder.get("automountServiceAccountToken") for holder in (spec, account))
    if next((value for value in settings if value is not None), True):
        _mount(attributes, spec)


def _mount(attributes: AdmissionAttributes, spec: JsonObject) -> None:
    volumes = spec.get("volumes") or []
    existing = next((item["name"] for item in volumes if item.get("name", "").startswith(_PREFIX)), "")
    name = existing or generate_name(_PREFIX, attributes.call.random)
    needed = False
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or []:
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != _PATH for mount in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _PATH}]
                needed = True
    if needed and not existing:
        spec["volumes"] = [*volumes, {"name": name, "projected": {"sources": _sources(), "defaultMode": 420}}]


def _sources() -> list[JsonObject]:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return [
        {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]

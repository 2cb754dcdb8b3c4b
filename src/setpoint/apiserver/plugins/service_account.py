"""ServiceAccount: gives a pod a service account, the account's image pull secrets, and a volume with a token, which the
kubelet fills.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.objects.metadata import generate_name
from setpoint.apiserver.requests.admission import AdmissionAttributes

JsonObject = dict[str, Any]

TOKENS: Final = "MountServiceAccountToken"
"""The part of the plugin that mounts tokens, which can be turned off by itself."""
_PREFIX: Final = "kube-api-access-"
_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR: Final = "kubernetes.io/config.mirror"
_SECONDS: Final = 3607
"""The lifetime of a token, in seconds. As in upstream, this value shows that the token was not requested by the pod
itself.
"""


def name_account(attributes: AdmissionAttributes) -> None:
    """Gives a new pod the account ``default`` if it names none, and the account's image pull secrets if it has none.

    Unlike upstream, an account that does not exist is not a reason to refuse the pod: no controller may be here to make
    it.
    """
    if not _concerns(attributes):
        return
    spec = attributes.spec
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = "default"
    secrets = (_account(attributes) or {}).get("imagePullSecrets")
    if secrets and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(item) for item in secrets]


def mount_token(attributes: AdmissionAttributes) -> None:
    """Mounts a token into a new pod whose account exists, unless ``automountServiceAccountToken`` is false in the pod
    or, if the pod does not set it, in the account.
    """
    if not _concerns(attributes) or TOKENS in attributes.call.plugins_off:
        return
    account = _account(attributes)
    if account is None:
        return
    settings = (holder.get("automountServiceAccountToken") for holder in (attributes.spec, account))
    if next((value for value in settings if value is not None), True):
        _mount(attributes, attributes.spec)


def _concerns(attributes: AdmissionAttributes) -> bool:
    """Whether the request creates a pod that is not a mirror pod."""
    is_new = attributes.old is None and not attributes.subresource
    return is_new and _MIRROR not in (attributes.new["metadata"].get("annotations") or {})


def _account(attributes: AdmissionAttributes) -> JsonObject | None:
    return attributes.get("serviceaccounts", attributes.spec.get("serviceAccountName", ""), attributes.namespace)


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

"""Warnings about accepted objects of built-in kinds, as users of kubectl see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from setpoint.apiserver.strategies.address_warnings import address_warnings, network_warnings
from setpoint.apiserver.strategies.definition_warnings import definition_warnings
from setpoint.apiserver.strategies.key_pairs import key_pair_problem
from setpoint.apiserver.strategies.pod_warnings import (
    DEPRECATED_LABELS,
    claim_warnings,
    node_term_warnings,
    pod_warnings,
    selector_warnings,
)
from setpoint.meta.names import dns1123_label
from setpoint.meta.text_escaping import quote

JsonObject = dict[str, Any]
_Warnings = Callable[[JsonObject, JsonObject | None], Iterator[str]]
_STATIC: Final = ".static.k8s.io"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MOUNTABLE: Final = "kubernetes.io/enforce-mountable-secrets"
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_MANAGED: Final = {
    "endpoints.kubernetes.io/managed-by": ("endpoint-controller",),
    "endpointslice.kubernetes.io/managed-by": (
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ),
}
_VOLUMES: Final = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_MANY_COMPLETIONS: Final = 100_000
_MANY_AT_ONCE: Final = 10_000
_LABEL: Final = "which can result in surprising behavior; a DNS label is recommended"


def warnings_of(resource: str, obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    """The warnings about a written object of a built-in ``resource``; ``old`` is the object before an update."""
    warn = _KINDS.get(resource)
    return iter(()) if warn is None else warn(obj, old)


def status_warnings(resource: str, obj: JsonObject) -> Iterator[str]:
    status = obj.get("status") or {}
    if resource in ("services", "ingresses.networking.k8s.io"):
        for index, entry in enumerate((status.get("loadBalancer") or {}).get("ingress") or ()):
            yield from address_warnings(entry.get("ip") or "", f"status.loadBalancer.ingress[{index}]")
    elif resource == "pods":
        for field in ("podIPs", "hostIPs"):
            for index, entry in enumerate(status.get(field) or ()):
                yield from address_warnings(entry.get("ip") or "", f"status.{field}[{index}].ip")


# -- workloads ---------------------------------------------------------------------------------------------------------


def _name_warnings(obj: JsonObject, use: str) -> Iterator[str]:
    if problems := dns1123_label(obj["metadata"].get("name") or ""):
        yield f"metadata.name: this is used in {use}, {_LABEL}: [{' '.join(problems)}]"


def _pod(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, "the Pod's hostname")
        yield from pod_warnings(obj)


def _changed(obj: JsonObject, old: JsonObject | None) -> bool:
    return old is None or obj["metadata"].get("generation") != old["metadata"].get("generation")


def _workload(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None and obj["kind"] not in ("DaemonSet", "StatefulSet"):
        yield from _name_warnings(obj, "Pod names and hostnames")
    spec = obj.get("spec") or {}
    if _changed(obj, old):
        yield from pod_warnings(spec.get("template") or {}, "spec.template")
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        field_path = f"spec.volumeClaimTemplates[{index}]"
        yield from claim_warnings(claim.get("spec") or {}, field_path if old is None else f"{field_path}.Spec")
    if obj["kind"] == "StatefulSet" and (spec.get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {text}"


def _pod_template(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if _changed(obj, old):
        yield from pod_warnings(obj.get("template") or {}, "template")


def _job_spec(spec: JsonObject, path: str) -> Iterator[str]:
    many = (spec.get("completions") or 0) > _MANY_COMPLETIONS and (spec.get("parallelism") or 0) > _MANY_AT_ONCE
    if many and spec.get("completionMode") == "Indexed":
        yield (
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
            "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    yield from pod_warnings(spec.get("template") or {}, f"{path}.template")


def _job(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, "Pod names and hostnames")
    if _changed(obj, old):
        yield from _job_spec(obj.get("spec") or {}, "spec")


def _cron_job(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, "Pod names and hostnames")
    spec = obj.get("spec") or {}
    if _changed(obj, old):
        yield from _job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    if old is not None and "TZ" in (spec.get("schedule") or ""):
        yield (
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )


# -- network -----------------------------------------------------------------------------------------------------------


def _service(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    kind, cluster_ip = spec.get("type") or "ClusterIP", spec.get("clusterIP") or ""
    headless = kind == "ClusterIP" and cluster_ip == "None"
    external = spec.get("externalIPs") or ()
    if _HINTS in (obj["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if cluster_ip not in ("", "None"):
        for index, address in enumerate(spec.get("clusterIPs") or ()):
            yield from address_warnings(address, f"spec.clusterIPs[{index}]")
    if headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if (spec.get("sessionAffinity") or "None") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for index, address in enumerate(external):
        yield from address_warnings(address, f"spec.externalIPs[{index}]")
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from address_warnings(spec.get("loadBalancerIP") or "", "spec.loadBalancerIP")
    for index, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from network_warnings(network, f"spec.loadBalancerSourceRanges[{index}]")
    if kind == "ExternalName" and external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _is_managed(obj: JsonObject) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return any(labels.get(label) in managers for label, managers in _MANAGED.items())


def _endpoints(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if _is_managed(obj):
        return
    for index, subset in enumerate(obj.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or ()):
                yield from address_warnings(address.get("ip") or "", f"subsets[{index}].{field}[{number}].ip")


def _slice(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if _is_managed(obj):
        return
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        for number, address in enumerate(endpoint.get("addresses") or ()):
            yield from address_warnings(address, f"endpoints[{index}].addresses[{number}]")


def _ingress(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    annotated = _INGRESS_CLASS in (obj["metadata"].get("annotations") or {})
    if old is None and annotated and (obj.get("spec") or {}).get("ingressClassName") is None:
        yield f"annotation \"{_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


def _network_policy(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            for number, peer in enumerate(rule.get(side) or ()):
                block, field_path = peer.get("ipBlock"), f"spec.{direction}[{index}].{side}[{number}].ipBlock"
                if block is None:
                    continue
                yield from network_warnings(block.get("cidr") or "", f"{field_path}.cidr")
                for position, network in enumerate(block.get("except") or ()):
                    yield from network_warnings(network, f"{field_path}.except[{position}]")


# -- storage, nodes and others -----------------------------------------------------------------------------------------


def _claim(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if _OLD_CLASS in (obj["metadata"].get("annotations") or {}):
        yield f'metadata.annotations[{_OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    yield from claim_warnings(obj.get("spec") or {}, "spec")


def _volume(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec, annotations = obj.get("spec") or {}, obj["metadata"].get("annotations") or {}
    if _OLD_CLASS in annotations:
        yield f'metadata.annotations[{_OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
    if "volume.beta.kubernetes.io/mount-options" in annotations:
        text = 'deprecated since v1.31; use "mountOptions" attribute instead'
        yield f"metadata.annotations[volume.beta.kubernetes.io/mount-options]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from node_term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    for name, text in _VOLUMES.items():
        if spec.get(name) is not None:
            yield f"spec.{'storageOS' if name == 'storageos' else name}: {text}"


def _storage_class(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    for index, topology in enumerate(obj.get("allowedTopologies") or ()):
        for number, expression in enumerate(topology.get("matchLabelExpressions") or ()):
            if expression.get("key") in DEPRECATED_LABELS:
                field_path = f"allowedTopologies[{index}].matchLabelExpressions[{number}].key"
                yield f"{field_path}: {DEPRECATED_LABELS[expression['key']]}"


def _capacity(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    return selector_warnings(obj.get("nodeTopology"), "nodeTopology")


def _csi_driver(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    requests, before = spec.get("tokenRequests") or [], ((old or {}).get("spec") or {}).get("tokenRequests") or []
    if requests and requests != before and spec.get("serviceAccountTokenInSecrets") is None:
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
            "possible logging of tokens in volume attributes"
        )


def _node(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, network in enumerate(spec.get("podCIDRs") or ()):
        yield from network_warnings(network, f"spec.podCIDRs[{index}]")


def _runtime_class(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    for key in sorted((obj.get("scheduling") or {}).get("nodeSelector") or ()):
        if key in DEPRECATED_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"


def _secret(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if obj.get("type") == "kubernetes.io/tls":
        data = obj.get("data") or {}
        if problem := key_pair_problem(data.get("tls.crt") or "", data.get("tls.key") or ""):
            yield problem


def _account(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    account, before = (
        _MOUNTABLE in (version["metadata"].get("annotations") or {}) if version is not None else False
        for version in (obj, old)
    )
    if account and not before:
        text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: {text}"


def _resource_slice(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    driver = (obj.get("spec") or {}).get("driver") or ""
    if driver != driver.lower():
        yield f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"


def _static(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is not None and (obj["metadata"].get("name") or "").endswith(_STATIC):
        yield (
            f'metadata.name: names ending with "{_STATIC}" are reserved for static manifest-based configurations and '
            "cannot be managed via the API"
        )


_KINDS: Final[dict[str, _Warnings]] = {
    "customresourcedefinitions.apiextensions.k8s.io": definition_warnings,
    "pods": _pod,
    "podtemplates": _pod_template,
    "replicationcontrollers": _workload,
    "daemonsets.apps": _workload,
    "deployments.apps": _workload,
    "replicasets.apps": _workload,
    "statefulsets.apps": _workload,
    "jobs.batch": _job,
    "cronjobs.batch": _cron_job,
    "services": _service,
    "endpoints": _endpoints,
    "endpointslices.discovery.k8s.io": _slice,
    "ingresses.networking.k8s.io": _ingress,
    "networkpolicies.networking.k8s.io": _network_policy,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "storageclasses.storage.k8s.io": _storage_class,
    "csistoragecapacities.storage.k8s.io": _capacity,
    "csidrivers.storage.k8s.io": _csi_driver,
    "nodes": _node,
    "runtimeclasses.node.k8s.io": _runtime_class,
    "secrets": _secret,
    "serviceaccounts": _account,
    "resourceslices.resource.k8s.io": _resource_slice,
    **dict.fromkeys(
        (
            "mutatingadmissionpolicies.admissionregistration.k8s.io",
            "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
            "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            "validatingadmissionpolicies.admissionregistration.k8s.io",
            "validatingadmissionpolicybindings.admissionregistration.k8s.io",
            "validatingwebhookconfigurations.admissionregistration.k8s.io",
        ),
        _static,
    ),
}

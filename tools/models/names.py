"""Facts about resources that the pinned packages lack, by group and plural: short names, categories, connections.

The singular of every built-in resource is its kind in lower case, so it is not listed. Keep this table complete: the
generator fails for a line that names no resource.
"""

from __future__ import annotations

from typing import NamedTuple


class Extra(NamedTuple):
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    connections: tuple[tuple[str, str], ...] = ()
    """Subresources that connect to a container, and the kinds of their parameters."""


_ALL = ("all",)
_API = ("api-extensions",)
_CONNECTIONS = (("attach", "PodAttachOptions"), ("exec", "PodExecOptions"), ("portforward", "PodPortForwardOptions"))

EXTRAS: dict[tuple[str, str], Extra] = {
    ("", "componentstatuses"): Extra(("cs",)),
    ("", "configmaps"): Extra(("cm",)),
    ("", "endpoints"): Extra(("ep",)),
    ("", "events"): Extra(("ev",)),
    ("", "limitranges"): Extra(("limits",)),
    ("", "namespaces"): Extra(("ns",)),
    ("", "nodes"): Extra(("no",)),
    ("", "persistentvolumeclaims"): Extra(("pvc",)),
    ("", "persistentvolumes"): Extra(("pv",)),
    ("", "pods"): Extra(("po",), _ALL, _CONNECTIONS),
    ("", "replicationcontrollers"): Extra(("rc",), _ALL),
    ("", "resourcequotas"): Extra(("quota",)),
    ("", "serviceaccounts"): Extra(("sa",)),
    ("", "services"): Extra(("svc",), _ALL),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): Extra((), _API),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): Extra((), _API),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): Extra((), _API),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): Extra((), _API),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): Extra((), _API),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): Extra((), _API),
    ("apiextensions.k8s.io", "customresourcedefinitions"): Extra(("crd", "crds"), _API),
    ("apiregistration.k8s.io", "apiservices"): Extra((), _API),
    ("apps", "daemonsets"): Extra(("ds",), _ALL),
    ("apps", "deployments"): Extra(("deploy",), _ALL),
    ("apps", "replicasets"): Extra(("rs",), _ALL),
    ("apps", "statefulsets"): Extra(("sts",), _ALL),
    ("autoscaling", "horizontalpodautoscalers"): Extra(("hpa",), _ALL),
    ("batch", "cronjobs"): Extra(("cj",), _ALL),
    ("batch", "jobs"): Extra((), _ALL),
    ("certificates.k8s.io", "certificatesigningrequests"): Extra(("csr",)),
    ("events.k8s.io", "events"): Extra(("ev",)),
    ("networking.k8s.io", "ingresses"): Extra(("ing",)),
    ("networking.k8s.io", "ipaddresses"): Extra(("ip",)),
    ("networking.k8s.io", "networkpolicies"): Extra(("netpol",)),
    ("policy", "poddisruptionbudgets"): Extra(("pdb",)),
    ("scheduling.k8s.io", "priorityclasses"): Extra(("pc",)),
    ("storage.k8s.io", "storageclasses"): Extra(("sc",)),
    ("storage.k8s.io", "volumeattributesclasses"): Extra(("vac",)),
}

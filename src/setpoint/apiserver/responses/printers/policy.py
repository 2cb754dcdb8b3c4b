"""Printers for role bindings, certificates, admission policies, flow control and resource claims."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from setpoint.apiserver.responses.printers.cells import (
    Wire,
    age,
    condition,
    first,
    format_selector,
    get,
    human_duration,
    name,
    number,
    text,
)
from setpoint.apiserver.responses.printers.printer import AGE, NAME, Column, Printer, description


def _binding(obj: Wire, now: datetime) -> list[Any]:
    users, groups, accounts = [], [], []
    for subject in get(obj, "subjects", default=[]):
        match subject.get("kind"):
            case "User":
                users.append(text(subject, "name"))
            case "Group":
                groups.append(text(subject, "name"))
            case "ServiceAccount":
                accounts.append(f"{text(subject, 'namespace')}/{text(subject, 'name')}")
    role = f"{text(obj, 'roleRef', 'kind')}/{text(obj, 'roleRef', 'name')}"
    return [name(obj), role, age(obj, now), ", ".join(users), ", ".join(groups), ", ".join(accounts)]


def _binding_columns(kind: str) -> tuple[Column, ...]:
    binding = kind[0].lower() + kind[1:]
    return (
        NAME,
        Column("Role", about=description(f"rbac.v1.{kind}.roleRef").removesuffix(" This field is immutable.")),
        AGE,
        Column("Users", priority=1, about=f"Users in the {binding}"),
        Column("Groups", priority=1, about=f"Groups in the {binding}"),
        Column("ServiceAccounts", priority=1, about=f"ServiceAccounts in the {binding}"),
    )


ROLE_BINDINGS = Printer(_binding_columns("RoleBinding"), _binding)
CLUSTER_ROLE_BINDINGS = Printer(_binding_columns("ClusterRoleBinding"), _binding)


def _signing_request(obj: Wire, now: datetime) -> list[Any]:
    seconds = get(obj, "spec", "expirationSeconds")
    status = "Denied" if condition(obj, "Denied") else "Approved" if condition(obj, "Approved") else "Pending"
    if condition(obj, "Failed"):
        status += ",Failed"
    if get(obj, "status", "certificate"):
        status += ",Issued"
    return [
        name(obj),
        age(obj, now),
        text(obj, "spec", "signerName", default="<none>"),
        text(obj, "spec", "username"),
        "<none>" if seconds is None else human_duration(timedelta(seconds=seconds)),
        status,
    ]


_SIGNER = """\
Requested signer for the request. It is a qualified name in the form: `scope-hostname.io/name`. If empty, it will be defaulted:
 1. If it's a kubelet client certificate, it is assigned
    "kubernetes.io/kube-apiserver-client-kubelet".
 2. If it's a kubelet serving certificate, it is assigned
    "kubernetes.io/kubelet-serving".
 3. Otherwise, it is assigned "kubernetes.io/legacy-unknown".
Distribution of trust for signers happens out of band. You can select on this field using `spec.signerName`."""  # noqa: E501
_CSR = "certificates.v1.CertificateSigningRequest"
SIGNING_REQUESTS = Printer(
    (
        NAME,
        AGE,
        Column("SignerName", about=_SIGNER),
        Column("Requestor", about="Base64-encoded PKCS#10 CSR data"),
        Column("RequestedDuration", _CSR + "Spec.expirationSeconds"),
        Column("Condition", about="Conditions applied to the request, such as approval or denial."),
    ),
    _signing_request,
)


def _trust_bundle(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), text(obj, "spec", "signerName", default="<none>")]


TRUST_BUNDLES = Printer(
    (NAME, Column("SignerName", "certificates.v1beta1.ClusterTrustBundleSpec.signerName")), _trust_bundle
)


def _admission_policy(rules: str, about: str) -> Printer:
    def cells(obj: Wire, now: datetime) -> list[Any]:
        kind = get(obj, "spec", "paramKind")
        parameter = "<unset>" if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
        return [name(obj), len(get(obj, "spec", rules, default=[])), parameter, age(obj, now)]

    return Printer(
        (
            NAME,
            Column(rules.title(), type="integer", about=f"{about} defined in this configuration"),
            Column("ParamKind", about="ParamKind specifies the kind of resources used to parameterize this policy"),
            AGE,
        ),
        cells,
    )


VALIDATING_POLICIES = _admission_policy("validations", "Validations indicates the number of validation rules")
MUTATING_POLICIES = _admission_policy("mutations", "Mutation indicates the number of mutations rules")


def _policy_binding(obj: Wire, now: datetime) -> list[Any]:
    reference = get(obj, "spec", "paramRef")
    parameter = "<unset>"
    if reference is not None and reference.get("name"):
        parameter = f"{text(reference, 'namespace', default='*')}/{reference['name']}"
    elif reference is not None and reference.get("selector") is not None:
        parameter = format_selector(reference["selector"])
    return [name(obj), text(obj, "spec", "policyName"), parameter, age(obj, now)]


POLICY_BINDINGS = Printer(
    (
        NAME,
        Column("PolicyName", about="PolicyName indicates the policy definition which the policy binding binded to"),
        Column("ParamRef", about="ParamRef indicates the param resource which sets the configuration param"),
        AGE,
    ),
    _policy_binding,
)


def _flow_schema(obj: Wire, now: datetime) -> list[Any]:
    dangling = condition(obj, "Dangling")
    return [
        name(obj),
        text(obj, "spec", "priorityLevelConfiguration", "name"),
        number(obj, "spec", "matchingPrecedence"),
        text(obj, "spec", "distinguisherMethod", "type", default="<none>"),
        age(obj, now),
        "?" if dangling is None else text(dangling, "status"),
    ]


_FLOW = "flowcontrol.v1."
FLOW_SCHEMAS = Printer(
    (
        NAME,
        Column("PriorityLevel", _FLOW + "PriorityLevelConfigurationReference.name"),
        Column("MatchingPrecedence", _FLOW + "FlowSchemaSpec.matchingPrecedence"),
        Column("DistinguisherMethod", _FLOW + "FlowSchemaSpec.distinguisherMethod"),
        AGE,
        Column("MissingPL", about="references a broken or non-existent PriorityLevelConfiguration"),
    ),
    _flow_schema,
)


def _priority_level(obj: Wire, now: datetime) -> list[Any]:
    limited = get(obj, "spec", "limited", default={})
    queuing = get(limited, "limitResponse", "queuing", default={})
    return [
        name(obj),
        text(obj, "spec", "type"),
        get(limited, "nominalConcurrencyShares", default="<none>"),
        *(get(queuing, field, default="<none>") for field in ("queues", "handSize", "queueLengthLimit")),
        age(obj, now),
    ]


PRIORITY_LEVELS = Printer(
    (
        NAME,
        Column("Type", _FLOW + "PriorityLevelConfigurationSpec.type"),
        Column("NominalConcurrencyShares", _FLOW + "LimitedPriorityLevelConfiguration.nominalConcurrencyShares"),
        Column("Queues", _FLOW + "QueuingConfiguration.queues"),
        Column("HandSize", _FLOW + "QueuingConfiguration.handSize"),
        Column("QueueLengthLimit", _FLOW + "QueuingConfiguration.queueLengthLimit"),
        AGE,
    ),
    _priority_level,
)


def _resource_claim(obj: Wire, now: datetime) -> list[Any]:
    states = ["deleted"] if get(obj, "metadata", "deletionTimestamp") else []
    if get(obj, "status", "allocation") is not None:
        states.append("allocated")
        if get(obj, "status", "reservedFor"):
            states.append("reserved")
    return [name(obj), ",".join(states) or "pending", age(obj, now)]


RESOURCE_CLAIMS = Printer(
    (NAME, Column("State", about="A summary of the current state (allocated, pending, reserved, etc.)."), AGE),
    _resource_claim,
)


def _resource_slice(obj: Wire, now: datetime) -> list[Any]:
    spec = get(obj, "spec", default={})
    return [name(obj), text(spec, "nodeName"), text(spec, "driver"), text(spec, "pool", "name"), age(obj, now)]


RESOURCE_SLICES = Printer(
    (
        NAME,
        Column("Node", "resource.v1.ResourceSliceSpec.nodeName"),
        Column("Driver", "resource.v1.ResourceSliceSpec.driver"),
        Column("Pool", "resource.v1.ResourcePool.name"),
        AGE,
    ),
    _resource_slice,
)


def _storage_version(obj: Wire, now: datetime) -> list[Any]:
    versions = get(obj, "status", "storageVersions", default=[])
    encoding = text(obj, "status", "commonEncodingVersion", default="<unset>")
    listed = first(f"{text(item, 'apiServerID')}={text(item, 'encodingVersion')}" for item in versions)
    return [name(obj), encoding, listed, age(obj, now)]


_STORAGE_VERSION = "apiserverinternal.v1alpha1.StorageVersionStatus."
STORAGE_VERSIONS = Printer(
    (
        NAME,
        Column("CommonEncodingVersion", _STORAGE_VERSION + "commonEncodingVersion"),
        Column("StorageVersions", _STORAGE_VERSION + "storageVersions"),
        AGE,
    ),
    _storage_version,
)


def _migration(obj: Wire, now: datetime) -> list[Any]:
    resource = get(obj, "spec", "resource", default={})
    plural, group = text(resource, "resource"), text(resource, "group")
    version = text(resource, "version")
    states = [item["type"] for item in get(obj, "status", "conditions", default=[]) if item.get("status") == "True"]
    state = next((item for item in reversed(states) if item in ("Running", "Failed", "Succeeded")), "Unknown")
    return [name(obj), ".".join([plural, *([version] if version else []), group]), state]


STORAGE_VERSION_MIGRATIONS = Printer(
    (
        Column("Name", NAME.field),
        Column("Resource", about="GroupResource to migrate"),
        Column("Status", about="Status of the migration"),
    ),
    _migration,
)


def _taint_rule(obj: Wire, now: datetime) -> list[Any]:
    taint = get(obj, "spec", "taint", default={})
    since = age({"metadata": {"creationTimestamp": taint["timeAdded"]}}, now) if taint.get("timeAdded") else ""
    return [name(obj), *(text(taint, field) for field in ("key", "value", "effect")), since, age(obj, now)]


_TAINT = "resource.v1.DeviceTaint."
DEVICE_TAINT_RULES = Printer(
    (
        NAME,
        *(Column(field[0].upper() + field[1:], _TAINT + field) for field in ("key", "value", "effect", "timeAdded")),
        AGE,
    ),
    _taint_rule,
)

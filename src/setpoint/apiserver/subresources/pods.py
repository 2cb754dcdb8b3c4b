"""Binds pods to nodes, and evicts pods."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver import plugins
from setpoint.apiserver.errors import bad_request, conflict, invalid, not_found
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import fit_namespace, read_typed, typed
from setpoint.apiserver.requests.options import UNSAFE, DeleteOptions, WriteOptions
from setpoint.apiserver.responses.representation import respond
from setpoint.apiserver.subresources.disruption_budgets import spend
from setpoint.apiserver.verbs.delete import remove
from setpoint.apiserver.verbs.managed_fields import track
from setpoint.apiserver.verbs.update import precondition_failed, store
from setpoint.meta import GroupKind, GroupResource, GroupVersionKind
from setpoint.meta.names import dns1123_subdomain
from setpoint.meta.text_escaping import quote
from setpoint.patch.go_text import go_text
from setpoint.schema import FieldError, copy_json
from setpoint.schema.errors import invalid as invalid_field
from setpoint.schema.errors import not_supported, required

JsonObject = dict[str, Any]
_BINDING: Final = GroupVersionKind("", "v1", "Binding")
_BINDINGS: Final = GroupResource("", "pods/binding")
_DISRUPTED: Final = "DisruptionTarget"
_EVICTED: Final = "EvictionByEvictionAPI"
_EVICTION: Final = GroupVersionKind("policy", "v1", "Eviction")


def bind_pod(call: Call) -> Response:
    """POST pods/NAME/binding: assigns a pod to a node; the assignment can't change later. Raises ApiStatusError."""
    return _bind(call, call.path.name)


def bind(call: Call) -> Response:
    """POST bindings: the older form of the subresource ``binding``."""
    return _bind(call, "")


def _bind(call: Call, name: str) -> Response:
    options = WriteOptions.parse(call.query, "CreateOptions")
    binding = read_typed(call, _BINDING, options)
    binding.setdefault("metadata", {})
    subresource, kind = call.path.subresource, ("", "v1", "Binding")
    plugins.mutate(
        AdmissionAttributes.of(call, call.served, "CREATE", binding, None, options, subresource=subresource, kind=kind)
    )
    if call.admission is not None:
        binding = call.admission.document(call.served, binding, options, subresource=subresource, kind=kind)
        typed(binding, _BINDING, b"")
    metadata = binding.get("metadata") or {}
    target = binding.get("target") or {}
    fit_namespace(call, metadata)
    if not name:
        name = metadata.get("name", "")
        metadata.pop("uid", None)  # as upstream, which takes it for that of a new object
    if not name:
        raise bad_request("Name parameter required.")
    if metadata.get("name", "") != name:
        raise bad_request("name in URL does not match name in Binding object")
    if errors := _target_errors(target):
        raise invalid(GroupKind("", "Binding"), name, errors)  # upstream answers with 500 and no reason
    pods = call.state.registry.find("", "v1", "pods")
    assert pods is not None
    record = call.storage.get(pods.collection, call.path.namespace, name)
    if record is None:
        raise not_found(pods.group_resource, name)
    live = call.versions.decoded(pods, record)
    values = {"uid": live["metadata"].get("uid", ""), "resourceVersion": str(record.revision)}
    for key, field in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if metadata.get(key) and metadata[key] != values[key]:
            raise precondition_failed(call, pods, name, field, metadata[key], values[key])
    if live["metadata"].get("deletionTimestamp"):
        raise conflict(_BINDINGS, name, f"pod {name} is being deleted, cannot be assigned to a host")
    node = live["spec"].get("nodeName")
    if node:
        raise conflict(_BINDINGS, name, f"pod {name} is already assigned to node {quote(node)}")
    if live["spec"].get("schedulingGates"):
        raise conflict(_BINDINGS, name, f"pod {name} has non-empty .spec.schedulingGates")
    new: JsonObject = copy_json(live)
    new["spec"]["nodeName"] = target["name"]
    for key in ("labels", "annotations"):
        if metadata.get(key):
            new["metadata"].setdefault(key, {}).update(metadata[key])
    status = new.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    conditions = [item for item in status.get("conditions") or [] if item.get("type") != "PodScheduled"]
    now = call.timestamp()
    conditions.append({"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now})
    status["conditions"] = conditions
    new["metadata"].pop("resourceVersion", None)
    track(call, pods, live, new, options.field_manager, subresource="binding")
    store(call, pods, record, live, new, dry_run=options.dry_run)
    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return respond(success, 201, warnings=call.warnings)


def _target_errors(target: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, name = target.get("kind", ""), target.get("name", "")
    if kind not in ("", "Node"):
        errors.append(not_supported("target.kind", kind, ("Node", "<empty>")))
    if not name:
        errors.append(required("target.name"))
    return errors + [invalid_field("target.name", name, text) for text in dns1123_subdomain(name) if name]


def evict_pod(call: Call) -> Response:
    """POST pods/NAME/eviction: a deletion that disruption budgets may refuse. Raises ApiStatusError."""
    write_options = WriteOptions.parse(call.query, "CreateOptions")
    eviction = read_typed(call, _EVICTION, write_options, older=("policy/v1beta1",))
    if call.admission is not None:
        kind = ("policy", "v1", "Eviction")
        eviction = call.admission.document(call.served, eviction, write_options, subresource="eviction", kind=kind)
        typed(eviction, _EVICTION, b"")
    metadata = eviction.get("metadata") or {}
    options = eviction.get("deleteOptions")
    fit_namespace(call, metadata)
    if metadata.get("name", "") != call.path.name:
        raise bad_request("name in URL does not match name in Eviction object")
    if (options or {}).get(UNSAFE):
        wrong = invalid_field(
            f"deleteOptions.{UNSAFE}", True, "can not be set for pod eviction, try after removing the option"
        )
        raise invalid(GroupKind("policy", "Eviction"), call.path.name, [wrong])
    runs, own = call.query.all("dryRun"), (options or {}).get("dryRun")
    if runs and own and runs != own:
        raise bad_request(f"Non-matching dry-run options in request and content: {go_text(runs)} and {go_text(own)}")
    record = call.existing()
    parsed = DeleteOptions.parse(
        {**options, "kind": "DeleteOptions"} if isinstance(options, dict) else None, call.query
    )
    parsed.dry_run = parsed.dry_run or write_options.dry_run

    def allow(pod: JsonObject) -> bool:
        spend(call, pod, dry_run=parsed.dry_run)
        return _disrupt(call, pod)

    remove(call, call.served, record, parsed, admit=False, check=allow)
    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return respond(success, 201, warnings=call.warnings)


def _disrupt(call: Call, pod: JsonObject) -> bool:
    """Sets the condition ``DisruptionTarget``, which tells the Job controller why the pod fails. Returns whether this
    changed the pod; False if an earlier eviction had already set the condition.
    """
    status = pod.setdefault("status", {})
    conditions: list[JsonObject] = status.get("conditions") or []
    if any(_is_disrupted(condition) and condition.get("reason") == _EVICTED for condition in conditions):
        return False
    others = [condition for condition in conditions if condition.get("type") != _DISRUPTED]
    since = next((condition.get("lastTransitionTime") for condition in conditions if _is_disrupted(condition)), None)
    condition = {
        "type": _DISRUPTED,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": since or call.timestamp(),
        "reason": _EVICTED,
        "message": "Eviction API: evicting",
    }
    status["conditions"] = [*others, condition]
    return True


def _is_disrupted(condition: JsonObject) -> bool:
    return condition.get("type") == _DISRUPTED and condition.get("status") == "True"

"""``/scale``: the replicas and the selector of any scalable object, in one form (``autoscaling/v1`` Scale)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from setpoint.apiserver.errors import (
    apply_conflict,
    bad_request,
    conflict,
    internal_error,
    invalid,
    unsupported_media_type,
)
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.body import content_type
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import (
    PatchedWrong,
    check_fields,
    fit_kind,
    fit_namespace,
    head_problem,
    kind_schema,
    read_typed,
    typed,
)
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.requests.type_errors import convert_numbers
from setpoint.apiserver.resources.registry import ScalePaths, ServedResource
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.storage import Record
from setpoint.apiserver.verbs.patch import APPLY, patch_types, quoted, read_configuration, read_patch, unfit
from setpoint.apiserver.verbs.update import check_name, kind_of, modify, precondition_failed
from setpoint.meta import GroupKind, GroupResource, GroupVersionKind, SelectorError
from setpoint.patch import apply as server_side_apply
from setpoint.patch.apply import ApplyConflict, Endpoint, InvalidApply
from setpoint.patch.fieldset import FieldSet
from setpoint.patch.managed_fields import Managed, Owner
from setpoint.patch.typed import type_errors
from setpoint.schema import copy_json
from setpoint.schema.errors import invalid as invalid_field
from setpoint.schema.errors import type_invalid

JsonObject = dict[str, Any]
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_PATH: Final = FieldSet.of(("f:spec", "f:replicas"))
_NOT_APPLIED: Final = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to "
    "proper version: request to convert CR to an invalid group/version: autoscaling/v1"
)
"""Upstream's message for an apply to the scale of a custom resource, which upstream does not support."""


def get_scale(call: Call) -> Response:
    """The response to GET scale: the object's replicas, as a Scale. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    _, live = _live(call)
    paths = call.served.scale or ScalePaths()
    if call.served.custom and _at(live, paths.replicas) is None:
        raise internal_error(f'the spec replicas field ".{".".join(paths.replicas)}" does not exist')
    return _answer(call, shape, scale_of(call.served, live))


def update_scale(call: Call) -> Response:
    """Sets the replicas to those of the Scale in the body. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    options = WriteOptions.parse(call.query, "UpdateOptions")
    record, live = _live(call)
    scale = read_typed(call, _SCALE, options)
    uid, current = (item.get("uid", "") for item in (scale.get("metadata") or {}, live["metadata"]))
    if uid and uid != current:
        raise precondition_failed(call, call.served, record.name, "UID", uid, current)
    return _answer(call, shape, _set(call, record, live, scale, options))


def patch_scale(call: Call) -> Response:
    """Applies the patch to the object's Scale and sets the resulting replicas. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    kind = content_type(call.request.headers)
    if kind == APPLY:
        return _answer(call, shape, _applied(call))
    if kind not in patch_types(call.served):
        raise unsupported_media_type(patch_types(call.served), routed=not call.served.custom)
    options = WriteOptions.parse(call.query, "PatchOptions")
    record, live = _live(call)
    change, repeated = read_patch(call, kind_schema(_SCALE), kind, options.field_validation)

    def patched() -> JsonObject:
        return change(_patched_scale(call.served, live))

    try:
        scale = _checked(call, kind, patched(), options.field_validation, repeated)
    except PatchedWrong as wrong:
        old = _patched_scale(call.served, live)
        raise quoted(call, kind, wrong, _SCALE, kind_schema(_SCALE), patched, old) from None
    return _answer(call, shape, _set(call, record, live, scale, options))


def _patched_scale(served: ServedResource, live: JsonObject) -> JsonObject:
    """The Scale that patches are applied to, which has the managers of the replicas."""
    scale = scale_of(served, live)
    path = [f"f:{step}" for step in (served.scale or ScalePaths()).replicas]
    managers = [
        entry | {"apiVersion": _SCALE.api_version, "fieldsV1": {"f:spec": {"f:replicas": {}}}}
        for entry in live["metadata"].get("managedFields") or ()
        if _at(entry.get("fieldsV1"), path) is not None
    ]
    if managers:
        scale["metadata"]["managedFields"] = managers
    return scale


def _checked(call: Call, kind: str, scale: JsonObject, validation: str, repeated: list[str]) -> JsonObject:
    """The result of a patch of the type ``kind``, a Scale whose values have the right types. Raises ApiStatusError."""
    raw, schema, strategic = call.request.body or b"", kind_schema(_SCALE), kind == _STRATEGIC
    if strategic:
        convert_numbers(schema, scale, raw)
    elif problem := head_problem(scale):
        raise PatchedWrong(problem)
    else:
        fit_kind(call, scale, _SCALE, patch=True)
    typed(scale, _SCALE, raw, patch=True, strategic=strategic)
    check_fields(call, schema, scale, validation, repeated, "", patch=True)
    return scale


def _applied(call: Call) -> JsonObject:
    """The Scale after an apply; the field manager of the apply then owns the replicas. Raises ApiStatusError."""
    options = WriteOptions.parse(call.query, "PatchOptions", apply=True)
    record, live = _live(call)
    scale = read_configuration(call, options, _SCALE, kind_schema(_SCALE))
    errors = type_errors(kind_schema(_SCALE), scale)
    if errors:
        raise unfit(InvalidApply(errors), _SCALE, *(scale["metadata"].get(key, "") for key in ("namespace", "name")))
    scale["metadata"].setdefault("name", call.path.name)
    if call.served.custom:
        raise bad_request(_NOT_APPLIED)
    replicas, managers = _merged(call, live, scale, options)
    return _set(call, record, live, {**scale, "spec": {"replicas": replicas}}, options, managers=managers)


def scale_of(served: ServedResource, obj: JsonObject) -> JsonObject:
    """The Scale that shows the replicas and the selector of ``obj``."""
    paths = served.scale or ScalePaths()
    metadata = obj["metadata"]
    scale_metadata = {
        key: metadata[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in metadata
    }
    replicas = _at(obj, paths.replicas)
    status: JsonObject = {"replicas": _at(obj, paths.status_replicas) or 0}
    selector = _selector_text(_at(obj, paths.selector) if paths.selector else None)
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": scale_metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _answer(call: Call, shape: Representation, scale: JsonObject) -> Response:
    body = msgspec.json.encode(scale)
    return shape.document(call, shape.item(call, body))


def _live(call: Call) -> tuple[Record, JsonObject]:
    record = call.existing()
    return record, call.versions.decoded(call.served, record)


def _set(
    call: Call,
    record: Record,
    live: JsonObject,
    scale: JsonObject,
    options: WriteOptions,
    *,
    managers: list[JsonObject] | None = None,
) -> JsonObject:
    """The Scale after its replicas are set; ``managers`` are the managedFields of the object after an apply."""
    served = call.served
    metadata = scale.get("metadata") or {}
    spec = scale.get("spec") or {}
    scale["metadata"] = metadata
    fit_namespace(call, metadata)
    check_name(call, scale)
    uid = metadata.get("uid")
    if uid and uid != live["metadata"].get("uid") and not served.custom:
        current = f"UID in object meta: {live['metadata'].get('uid', '')}"
        reason = f"Precondition failed: UID in precondition: {uid}, {current}"
        raise conflict(GroupResource(served.resource.group, f"{served.resource.plural}/scale"), record.name, reason)
    replicas = spec.get("replicas", 0)
    _check_replicas(served, record, replicas)
    new: JsonObject = copy_json(live)

    def scale_form(obj: JsonObject) -> JsonObject:
        return scale_of(served, obj)

    admission = call.admission
    if admission is not None:
        before = scale_form(live)
        wanted = {**scale_form(live), "spec": {"replicas": replicas} if replicas else {}}
        attributes = AdmissionAttributes.of(
            call, served, "UPDATE", wanted, before, options, subresource="scale", kind=kind_of(before)
        )
        replicas = (admission.mutate(attributes).get("spec") or {}).get("replicas", 0)
        _check_replicas(served, record, replicas)
    paths = served.scale or ScalePaths()
    node = new
    for step in paths.replicas[:-1]:
        node = node.setdefault(step, {})
        if not isinstance(node, dict):
            raise bad_request(f"the scale can't be set: {step} of the object is not an object")
    node[paths.replicas[-1]] = replicas
    if managers is not None:
        new["metadata"]["managedFields"] = managers
    new["metadata"].pop("resourceVersion", None)
    if metadata.get("resourceVersion"):
        new["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    elif not served.strategy.unconditional_update:
        new["metadata"]["resourceVersion"] = str(record.revision)
    value = modify(
        call, served, record, live, new, options, subresource="scale", part_of=scale_form, track_fields=managers is None
    )
    return scale_of(served, decode(call.versions.converted(served, value)))


def _merged(
    call: Call, live: JsonObject, configuration: JsonObject, options: WriteOptions
) -> tuple[int, list[JsonObject]]:
    """The replicas and the managedFields of ``live`` after an apply to its Scale, in which only the managers of the
    replicas count. Raises ApiStatusError (409).
    """
    scale = _patched_scale(call.served, live)
    try:
        result = server_side_apply.apply(
            Endpoint(kind_schema(_SCALE), _SCALE.api_version, "scale"),
            scale,
            {name: value for name, value in configuration.items() if name != "status"},
            scale["metadata"].get("managedFields") or [],
            options.field_manager,
            force=bool(options.force),
            now=None,  # as upstream
        )
    except ApplyConflict as problem:
        raise apply_conflict(problem.message, problem.causes) from None
    replicas: int = (result.object.get("spec") or {}).get("replicas") or 0
    path = FieldSet.of(tuple(f"f:{step}" for step in (call.served.scale or ScalePaths()).replicas))
    owners = {
        owner.identity: owner for owner in Managed.decode(result.managed_fields).owners.values() if owner.fields & _PATH
    }
    managed = Managed.decode(live["metadata"].get("managedFields") or [])
    for identity, owner in managed.owners.items():
        if owner.fields & path:
            manager, operation, version, subresource = identity
            if owners.pop((manager, operation, version and _SCALE.api_version, subresource), None) is None:
                managed.owners[identity] = owner.with_fields(owner.fields - path)
    for owner in owners.values():
        new = Owner(owner.manager, owner.operation, call.served.resource.api_version, owner.subresource, fields=path)
        managed.owners[new.identity] = new
    managed.drop_empty()
    return replicas, managed.encode()


def _check_replicas(served: ServedResource, record: Record, replicas: Any) -> None:
    """Checks that ``replicas`` is an integer of at least 0. Raises ApiStatusError (422)."""
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        error = type_invalid("spec.replicas", replicas, "must be an integer")
        raise invalid(GroupKind("autoscaling", "Scale"), record.name, [error])
    if replicas < 0 and not served.custom:  # those are refused with the object
        error = invalid_field("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(GroupKind("autoscaling", "Scale"), record.name, [error])


def _at(obj: Any, path: Sequence[str]) -> Any:
    for step in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def _selector_text(selector: Any) -> str:
    """A selector in query form, made from a plain map (ReplicationController) or a LabelSelector; a string is returned
    unchanged. Empty if the selector is absent or invalid.
    """
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict) or not selector:
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    try:
        return str(selector_of(selector))
    except SelectorError:
        return ""

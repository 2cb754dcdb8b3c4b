"""PUT, and the steps that it shares with all other changes to objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from setpoint.apiserver import errors, plugins
from setpoint.apiserver.errors import bad_request, conflict, not_found
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import encode
from setpoint.apiserver.objects.metadata import clean
from setpoint.apiserver.objects.versions import written_version
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import dedupe_owners, fit_namespace, read_object
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.storage import Record
from setpoint.apiserver.strategies.disabled_features import drop_disabled
from setpoint.apiserver.verbs.create import insert
from setpoint.apiserver.verbs.managed_fields import keep_times, track
from setpoint.apiserver.verbs.validation import PARTIAL, check_update
from setpoint.meta import GroupKind
from setpoint.meta.go_integers import NumberError, parse_uint
from setpoint.schema import json_equal
from setpoint.schema.errors import ErrorType, FieldError

JsonObject = dict[str, Any]
_GROUPED: Final = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
_PLACES: Final = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
"""The places of resources in upstream's storage that are not their names."""


def update(call: Call) -> Response:
    """Replaces the object, or a part of it through a subresource such as ``/status``, with the object in the request's
    body. Raises ApiStatusError.
    """
    shape = Representation.negotiate(call)
    served = call.served
    options = WriteOptions.parse(call.query, "UpdateOptions")
    new = read_object(call, served, options.field_validation)
    fit_namespace(call, new["metadata"])
    check_name(call, new)
    record = call.storage.get(served.collection, call.path.namespace, call.path.name)
    if record is None:
        if not served.strategy.create_on_update or not may_create(served, call.path.subresource):
            raise not_found(served.group_resource, call.path.name)
        if new["metadata"].get("uid"):
            raise precondition_failed(call, served, call.path.name, "UID", new["metadata"]["uid"], "")
        new["metadata"].pop("resourceVersion", None)
        return shape.single(call, insert(call, served, new, options), status=201)
    uid = new["metadata"].get("uid")
    live = call.versions.decoded(served, record)
    if uid and uid != live["metadata"].get("uid"):
        live_uid = live["metadata"].get("uid", "")
        raise precondition_failed(call, served, call.path.name, "UID", uid, live_uid)
    value = modify(call, served, record, live, new, options, subresource=call.path.subresource)
    return shape.single(call, value)


def may_create(served: ServedResource, subresource: str) -> bool:
    """Whether a write at ``subresource`` may create the object; as upstream, also at the status of some kinds."""
    return not subresource or (subresource == "status" and served.strategy.create_on_update)


def check_name(call: Call, obj: JsonObject) -> None:
    """Checks that the object has the name in the URL. Raises ApiStatusError (400)."""
    name, wanted = obj["metadata"].get("name", ""), call.path.name
    if not name:
        raise bad_request(f"the name of the object ({wanted} based on URL) was undeterminable: name must be provided")
    if name != wanted:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({wanted})")


def modify(
    call: Call,
    served: ServedResource,
    record: Record,
    old: JsonObject,
    new: JsonObject,
    options: WriteOptions,
    *,
    subresource: str = "",
    track_fields: bool = True,
    part_of: Callable[[JsonObject], JsonObject] | None = None,
) -> bytes:
    """Stores ``new`` in place of ``old``, the object in ``record``; returns the bytes in the stored version.

    ``part_of`` converts the object to the form that the subresource shows. If it is given, validating admission sees
    that form, and mutating admission is left to the caller.

    A change without effect is not stored. An object that is being deleted is removed along with its last finalizer. No
    other request runs between the read and the write, so a change without resourceVersion can't conflict. Raises
    ApiStatusError.
    """
    resource_version = new["metadata"].pop("resourceVersion", None)
    _check_version(call, served, record, resource_version)
    new = _prepared(call, served, old, new, subresource)
    dedupe_owners(call, new["metadata"])
    if track_fields:
        track(call, served, old, new, options.field_manager, subresource=subresource)
    admission = call.admission
    attributes_of = partial(AdmissionAttributes.of, call, served, "UPDATE", options=options, subresource=subresource)
    if plugins.mutates(call, served):
        plugins.mutate(attributes_of(new, old))
        _count(served, old, new, subresource)
    if admission is not None and part_of is None:
        new["metadata"]["resourceVersion"] = str(record.revision)
        attributes = attributes_of(new, old)
        if admission.mutates(attributes):
            new = admission.mutate(attributes)
            fit_namespace(call, new["metadata"])
            new = _prepared(call, served, old, new, subresource)
            dedupe_owners(call, new["metadata"])
        new["metadata"].pop("resourceVersion", None)
    clean(new["metadata"])
    keep_times(new, old)
    check_update(call, served, new, old, subresource=subresource)
    checked = attributes_of(new, old)
    plugins.validate(checked)
    if admission is not None:
        versioned = {**new, "metadata": {**new["metadata"], "resourceVersion": str(record.revision)}}
        if part_of is None:
            attributes = attributes_of(versioned, old)
        else:
            part, before = part_of(versioned), part_of(old)
            attributes = attributes_of(part, before, kind=kind_of(part))
        admission.validate(attributes)
    plugins.charge_quotas(checked)
    return store(call, served, record, old, new, dry_run=options.dry_run)


def _prepared(call: Call, served: ServedResource, old: JsonObject, new: JsonObject, subresource: str) -> JsonObject:
    """``new``, prepared for validation: fields that the request can't change have the values of ``old``, and the
    generation counts the change.
    """
    strategy = served.strategy
    partial = subresource in PARTIAL
    if partial:
        new = strategy.prepare_subresource_update(call, subresource, new, old)
    elif served.has_status:
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
    dropped = strategy.counts_dropped and strategy.wants_something_else(new, old)
    if not served.custom:
        drop_disabled(served.name, new)
    _keep_system_fields(new["metadata"], old["metadata"])
    new["metadata"].pop("resourceVersion", None)  # a strategy that keeps the old metadata keeps this, too
    if not partial:
        strategy.prepare_update(call, new, old)
    _count(served, old, new, subresource, changed=dropped)
    return new


def _count(
    served: ServedResource, old: JsonObject, new: JsonObject, subresource: str, *, changed: bool = False
) -> None:
    """Sets the generation: one more than before if ``changed``, or if the desired state has changed."""
    strategy, before = served.strategy, old["metadata"].get("generation", 0)
    if not strategy.generation or subresource == "status":
        return
    if changed or strategy.wants_something_else(new, old):
        new["metadata"]["generation"] = before + 1
    elif "generation" in old["metadata"]:
        new["metadata"]["generation"] = before


def kind_of(document: JsonObject) -> tuple[str, str, str]:
    """The group, version and kind of a document."""
    group, _, version = document["apiVersion"].rpartition("/")
    return group, version, document["kind"]


def store(
    call: Call, served: ServedResource, record: Record, old: JsonObject, new: JsonObject, *, dry_run: bool = False
) -> bytes:
    """Completes a change: writes the object, deletes it if it was waiting only for its last finalizer, or does nothing
    if nothing changed. Returns the object's bytes in the stored version.
    """
    stored = served.stored_as
    metadata = new["metadata"]
    before = old["metadata"].pop("resourceVersion", None)
    same = new == old and json_equal(new, old)
    if before is not None:
        old["metadata"]["resourceVersion"] = before
    if (
        same and written_version(served, record.value) is stored
    ):  # else it is rewritten in the version that is stored now
        return call.versions.encoded(stored, record)
    is_deleted = (
        not metadata.get("finalizers")
        and bool(metadata.get("deletionTimestamp"))
        and not old["metadata"].get("deletionGracePeriodSeconds")
        and not served.strategy.keeps(new)
    )
    document = call.versions.to_store(served, new)
    served.strategy.prepare(call, document)
    if dry_run:
        return encode(stored, document, record.revision)
    key = (served.collection, record.namespace, record.name)
    if is_deleted:
        last = call.versions.decoded(stored, record)  # what watches see, as upstream: the object as it was stored
        deleted = call.storage.delete(*key, lambda revision: encode(stored, last, revision), expected=record.revision)
        served.strategy.after_delete(call, deleted)
        return encode(stored, document, record.revision)  # as upstream: only watches see the deletion's revision
    stored_record = call.storage.put(
        *key, lambda revision: encode(stored, document, revision), expected=record.revision
    )
    return served.strategy.after_update(call, stored_record, old).value


def _check_version(call: Call, served: ServedResource, record: Record, resource_version: str | None) -> None:
    if not resource_version or resource_version == "0":
        if served.strategy.unconditional_update:
            return
        resource = served.resource
        error = FieldError(ErrorType.INVALID, "metadata.resourceVersion", "must be specified for an update", 0)
        raise errors.invalid(GroupKind(resource.group, resource.plural), record.name, [error])
    try:
        wanted = parse_uint(resource_version)
    except NumberError as problem:
        raise bad_request(str(problem)) from None
    if wanted != record.revision:
        raise conflict(served.group_resource, record.name)


def _keep_system_fields(metadata: JsonObject, old: JsonObject) -> None:
    if metadata.get("uid") and metadata["uid"] != old.get("uid"):
        old = {**old, "uid": metadata["uid"]}  # to be refused by validation
    for name in ("uid", "creationTimestamp", "generation", "selfLink"):
        metadata.pop(name, None)
        if name in old:
            metadata[name] = old[name]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):  # left out they stay
        if metadata.get(name) is None or (name == "deletionTimestamp" and name in old):  # another one is ignored
            metadata.pop(name, None)
            if name in old:
                metadata[name] = old[name]


def precondition_failed(
    call: Call, served: ServedResource, name: str, field: str, wanted: str, current: str
) -> errors.ApiStatusError:
    """The error (409) for a failed precondition: the ``field`` (``UID`` or ``ResourceVersion``) in the request differs
    from that of the object.
    """
    reason = f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {current}"
    return refused_by_storage(call, served, name, reason)


def refused_by_storage(call: Call, served: ServedResource, name: str, reason: str) -> errors.ApiStatusError:
    """The error (409) for a write that upstream's storage refuses."""
    group, plural = served.resource.group, served.resource.plural
    place = f"{group}/{plural}" if served.custom or group in _GROUPED else _PLACES.get(plural, plural)
    parts = ("" if call.dry_run else "registry", place, call.path.namespace, name)
    key = "/".join(part for part in parts if part)
    text = f"StorageError: invalid object, Code: 4, Key: /{key}, ResourceVersion: 0, AdditionalErrorMsg: {reason}"
    return conflict(served.group_resource, name, text)

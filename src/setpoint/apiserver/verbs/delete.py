"""DELETE of one object or of a collection, with grace periods, finalizers, propagation policies and preconditions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final

from setpoint.apiserver.errors import bad_request, conflict
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import decode, encode, metadata_of
from setpoint.apiserver.objects.metadata import FINALIZER_FOREGROUND, FINALIZER_ORPHAN
from setpoint.apiserver.objects.versions import written_version
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.body import check_size, media_type, parse_or_refuse
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import SCHEME, head_problem, kind_schema
from setpoint.apiserver.requests.options import DeleteOptions, ListOptions
from setpoint.apiserver.requests.type_errors import type_errors
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.responses.representation import Representation, respond
from setpoint.apiserver.storage import Record
from setpoint.apiserver.verbs.create import JsonObject
from setpoint.apiserver.verbs.get_list import select
from setpoint.apiserver.verbs.update import refused_by_storage
from setpoint.meta import GroupResource, GroupVersionKind, format_time, parse_time

_OPTIONS: Final = GroupVersionKind("meta.k8s.io", "v1", "DeleteOptions")


def delete(call: Call) -> Response:
    """Deletes an object. The response is a Status if the object has been removed, or the object itself if it is waiting
    for finalizers or a kubelet.
    """
    shape = Representation.negotiate(call)
    served = call.served
    options = _options(call)
    record = call.existing()
    if options.ignore_read_error:  # which is for objects that can't be read, and there are none
        reason = "unsafe deletion is not allowed because the object is decodable from storage"
        raise refused_by_storage(call, served, record.name, reason)
    if served.asks:
        call.versions.encoded(served, record, read=True)  # what the answer needs must be known before anything is done
    result, is_deleted = remove(call, served, record, options)
    status = 202 if not is_deleted and options.orphan_dependents is False else 200
    if not is_deleted or served.strategy.returns_deleted:
        return shape.single(call, result, status=status)
    details = {"name": record.name, "group": served.resource.group, "kind": served.resource.plural}
    details["uid"] = metadata_of(record.value).uid
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
    return respond(document, status, warnings=call.warnings, media=shape.media, pretty=shape.pretty)


def delete_collection(call: Call) -> Response | Awaitable[Response]:
    """Deletes the objects that the selectors match, or a page of them; the response lists the deleted objects.

    Each object is deleted by itself, and other requests run between two deletions. So if a deletion is refused, earlier
    ones have taken effect. Only where webhooks may have to be asked, all are deleted together or none is.
    """
    shape = Representation.negotiate(call)
    served = call.served
    lists = ListOptions.parse(call.query)
    options = _options(call)
    records, metadata = select(call, lists)
    values = call.versions.encoded_all(served, records)
    admission = call.admission
    if admission is not None:
        admission.deletions([_question(call, served, record, options) for record in records])
    answer = shape.document(call, shape.items(call, values, metadata))
    if call.replay is None:
        return _one_by_one(call, records, options, answer)
    for record in records:
        _remove_current(call, record, options)
    return answer


async def _one_by_one(call: Call, records: Sequence[Record], options: DeleteOptions, answer: Response) -> Response:
    for record in records:
        await asyncio.sleep(0)
        with call.storage.transaction():
            _remove_current(call, record, options)
    return answer


def _remove_current(call: Call, record: Record, options: DeleteOptions) -> None:
    current = call.storage.get(call.served.collection, record.namespace, record.name)
    if current is not None:
        remove(call, call.served, current, options.copy())


def _options(call: Call) -> DeleteOptions:
    options = DeleteOptions.parse(_body(call), call.query)
    warning = call.served.strategy.propagation_warning
    if warning and options.propagation_policy is None and options.orphan_dependents is None:
        call.warn(warning)
    return options


def remove(
    call: Call,
    served: ServedResource,
    record: Record,
    options: DeleteOptions,
    *,
    admit: bool = True,
    check: Callable[[JsonObject], bool] | None = None,
) -> tuple[bytes, bool]:
    """Deletes an object or marks it for deletion. Returns its last state (as stored) and whether it has been removed. A
    deletion of a CRD or a namespace that upstream's controllers finish after the answer is only a mark here, too, and
    for a CRD the state is the one that was stored first. Raises ApiStatusError.

    ``admit``: whether webhooks are called for the deletion. ``check`` may raise an exception to refuse the deletion; it
    returns whether it changed the object, which is then stored even if it is already being deleted.
    """
    options_copy = options.copy()
    # as its schema of now wants it, because an object that is stored from here on is no longer fitted when it is read
    obj = call.versions.decoded(written_version(served, record.value), record)
    strategy = served.strategy
    metadata = obj["metadata"]
    _check_preconditions(served, record, metadata, options)
    first, must_stay = "deletionTimestamp" not in metadata, strategy.keeps(obj)
    begins = strategy.begins_deletion and (first or must_stay)
    strategy.check_delete(call, obj)
    changed = check is not None and check(obj)
    if options.grace_period_seconds is not None and options.grace_period_seconds < 0:
        options.grace_period_seconds = 1
    if "deletionTimestamp" in metadata and metadata.get("deletionGracePeriodSeconds"):
        # On its way already: the time left may only be shortened.
        seconds = options.grace_period_seconds
        if seconds is None or seconds >= metadata["deletionGracePeriodSeconds"]:
            return _finish(call, served, record, obj, is_deleted=False, changed=changed, dry_run=options.dry_run)
        _shorten(call, metadata, seconds)
        grace, changed, marked = metadata["deletionGracePeriodSeconds"], True, True
    else:
        grace, marked = 0, False
        if "deletionTimestamp" not in metadata:
            wanted = strategy.grace_period(obj, options.grace_period_seconds)
            if wanted is not None:
                _mark(call, metadata, wanted)
                grace, changed, marked = wanted, True, True
    finalizers = metadata.get("finalizers") or []
    # Later requests for a namespace and the first for a definition leave them alone.
    if not begins or first == must_stay:
        finalizers = _finalizers(served, metadata, options)
    if finalizers != (metadata.get("finalizers") or []):
        changed = True
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
    if admit and call.admission is not None:
        call.admission.deletions([_question(call, served, record, options_copy)])
    waits = bool(finalizers) or must_stay
    if begins:
        if first:
            metadata["deletionTimestamp"], changed = call.timestamp(), True
    elif waits and not grace:
        changed = _mark_waiting(call, metadata) or changed
    is_deleted = not waits and not grace
    if is_deleted and marked and not options.dry_run:  # as upstream, watches see the mark before the deletion
        record = _stored(call, served, record, obj)
    value, is_deleted = _finish(
        call, served, record, obj, is_deleted=is_deleted, changed=changed, dry_run=options.dry_run
    )
    return value, is_deleted and not begins


def _finish(
    call: Call,
    served: ServedResource,
    record: Record,
    obj: JsonObject,
    *,
    is_deleted: bool,
    changed: bool,
    dry_run: bool,
) -> tuple[bytes, bool]:
    stored = written_version(served, record.value)
    key = (served.collection, record.namespace, record.name)
    if dry_run or not (is_deleted or changed):
        return (encode(stored, obj, record.revision) if changed else record.value), is_deleted
    if is_deleted:
        deleted = call.storage.delete(*key, lambda revision: encode(stored, obj, revision), expected=record.revision)
        served.strategy.after_delete(call, deleted)
        return deleted.value, True
    updated = _stored(call, served, record, obj)
    return updated.value, call.storage.get(*key) is None


def _stored(call: Call, served: ServedResource, record: Record, obj: JsonObject) -> Record:
    """Stores the changed object; returns its latest record."""
    stored, old = written_version(served, record.value), decode(record.value)
    key = (served.collection, record.namespace, record.name)
    stored_record = call.storage.put(*key, lambda revision: encode(stored, obj, revision), expected=record.revision)
    return served.strategy.after_update(call, stored_record, old)


def _question(call: Call, served: ServedResource, record: Record, options: DeleteOptions) -> AdmissionAttributes:
    old: JsonObject = call.versions.decoded(served, record)
    return AdmissionAttributes.of(call, served, "DELETE", None, old, options, name=call.path.name)


def _check_preconditions(served: ServedResource, record: Record, metadata: JsonObject, options: DeleteOptions) -> None:
    resource = served.resource
    group = "" if served.name == "events.events.k8s.io" else resource.group
    kind = GroupResource(group, resource.kind)  # upstream names the kind here, of Events that of the core group
    if served.strategy.begins_deletion:  # in whose storages upstream checks it itself
        for field, wanted, current in (
            ("UID", options.uid, metadata.get("uid", "")),
            ("ResourceVersion", options.resource_version, str(record.revision)),
        ):
            if wanted is not None and wanted != current:
                reason = f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {current}"
                raise conflict(served.group_resource, record.name, reason)
    if options.uid is not None and options.uid != metadata.get("uid"):
        reason = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata.get('uid', '')}). The object might have been deleted and then recreated"
        )
        raise conflict(kind, record.name, reason)
    version = options.resource_version
    if version is not None and version != str(record.revision):
        reason = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({record.revision}). The object might have been modified"
        )
        raise conflict(kind, record.name, reason)


def _mark(call: Call, metadata: JsonObject, grace: int) -> None:
    metadata["deletionTimestamp"] = format_time(call.now() + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1


def _mark_waiting(call: Call, metadata: JsonObject) -> bool:
    """Marks for deletion an object that has no grace period but can't be removed yet. Returns whether its metadata
    changed.
    """
    before = (metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds"))
    if "deletionTimestamp" not in metadata and metadata.get("generation"):
        metadata["generation"] += 1
    now = call.timestamp()
    if "deletionTimestamp" not in metadata or parse_time(metadata["deletionTimestamp"]) > call.now():
        metadata["deletionTimestamp"] = now
    metadata["deletionGracePeriodSeconds"] = 0
    return before != (metadata["deletionTimestamp"], 0)


def _shorten(call: Call, metadata: JsonObject, seconds: int) -> None:
    moment = parse_time(metadata["deletionTimestamp"])
    moment += timedelta(seconds=seconds - metadata["deletionGracePeriodSeconds"])
    if moment < call.now():
        moment = call.now()
        seconds = min(seconds, 1)
    metadata["deletionTimestamp"] = format_time(moment)
    metadata["deletionGracePeriodSeconds"] = seconds


def _finalizers(served: ServedResource, metadata: JsonObject, options: DeleteOptions) -> list[str]:
    """The object's finalizers under the propagation policy in the options. If the options do not specify a policy, it
    follows from the finalizers ``orphan`` and ``foregroundDeletion``; without either, it is the resource's default.
    """
    current: list[str] = metadata.get("finalizers") or []
    others = [name for name in current if name not in (FINALIZER_ORPHAN, FINALIZER_FOREGROUND)]
    if not served.strategy.collectable:
        return others
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    elif policy is None:
        finalizer = next((name for name in current if name in (FINALIZER_ORPHAN, FINALIZER_FOREGROUND)), "")
        policies = {FINALIZER_ORPHAN: "Orphan", FINALIZER_FOREGROUND: "Foreground"}
        policy = policies.get(finalizer, served.strategy.propagation)
    if policy == "Orphan":
        others.append(FINALIZER_ORPHAN)
    elif policy == "Foreground":
        others.append(FINALIZER_FOREGROUND)
    return current if set(others) == set(current) else others


def _body(call: Call) -> dict[str, Any] | None:
    body = call.request.body
    if not body:
        return None
    check_size(body)
    value, _ = parse_or_refuse(body, media_type(call.request.headers))
    if problem := head_problem(value):
        raise bad_request(problem)
    options: dict[str, Any] = value or {}
    kind = options.get("kind") or _OPTIONS.kind
    if kind != _OPTIONS.kind:
        version = options.get("apiVersion") or _OPTIONS.api_version
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{SCHEME}"')
    problem, _ = type_errors(_OPTIONS, kind_schema(_OPTIONS), options, body)
    if problem:
        raise bad_request(problem)
    return options

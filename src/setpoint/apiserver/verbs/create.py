"""POST: creates an object."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver import errors, plugins
from setpoint.apiserver.authorization.attributes import Attributes as Asked
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import encode, metadata_of
from setpoint.apiserver.objects.go_form import complete
from setpoint.apiserver.objects.metadata import clean, generate_name, new_uid
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import dedupe_owners, fit_namespace, read_object
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.storage import Conflict
from setpoint.apiserver.strategies.disabled_features import drop_disabled
from setpoint.apiserver.verbs.managed_fields import track
from setpoint.apiserver.verbs.validation import check_defaulted_size, check_namespace, check_new

JsonObject = dict[str, Any]
_ATTEMPTS: Final = 8
_SYSTEM_FIELDS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


def create(call: Call) -> Response:
    """Stores the object in the request's body. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    options = WriteOptions.parse(call.query, "CreateOptions")
    obj = read_object(call, call.served, options.field_validation)
    metadata = obj["metadata"]
    fit_namespace(call, metadata)
    value = insert(call, call.served, obj, options)
    return shape.single(call, value, status=201)


def insert(
    call: Call, served: ServedResource, obj: JsonObject, options: WriteOptions, *, track_fields: bool = True
) -> bytes:
    """Stores ``obj`` as a new object and returns its bytes, in the stored version. Raises ApiStatusError.

    If two requests create the same object, one of them is refused with 409, because no other request runs between the
    check and the write.
    """
    metadata = obj["metadata"]
    versioned = bool(metadata.get("resourceVersion"))
    check_namespace(call, metadata.get("name", ""))
    if served.terminating:
        raise errors.ApiStatusError(
            405, "MethodNotAllowed", "create not allowed while custom resource definition is terminating"
        )
    admission = call.admission
    if plugins.mutates(call, served):
        if track_fields:  # what plugins and webhooks set belongs to no manager, as upstream
            track(call, served, None, obj, options.field_manager)
            track_fields = False
        plugins.mutate(AdmissionAttributes.of(call, served, "CREATE", obj, None, options))
    if admission is not None and admission.mutates(
        attributes := AdmissionAttributes.of(call, served, "CREATE", obj, None, options)
    ):
        if track_fields:
            track(call, served, None, obj, options.field_manager)
            track_fields = False
        obj = admission.mutate(attributes)
        metadata = obj["metadata"]
        fit_namespace(call, metadata)
    for field in _SYSTEM_FIELDS:
        metadata.pop(field, None)
    dedupe_owners(call, metadata)
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    strategy = served.strategy
    if served.has_status and not strategy.created_with_status:
        obj.pop("status", None)
    check_defaulted_size(call, served, obj)
    if strategy.generation:
        metadata["generation"] = 1
    for _ in range(_ATTEMPTS):
        if generated:
            base = metadata["generateName"]
            metadata["name"] = generate_name(base, call.random) if strategy.draws_names else base
        if (
            not generated
            or call.storage.get(served.collection, metadata.get("namespace", ""), metadata["name"]) is None
        ):
            break
    if track_fields:
        track(call, served, None, obj, options.field_manager)
    if not served.custom:
        drop_disabled(served.name, obj)
    metadata["uid"] = new_uid(call.random)
    metadata["creationTimestamp"] = call.timestamp()
    strategy.prepare_create(call, obj)
    complete(served, obj)
    metadata = obj["metadata"]
    clean(metadata)
    check_new(call, served, obj)
    if call.request.method != "POST" and call.state.guarded:  # PUT and apply create, too, and need the permission
        resource = served.resource
        place = (resource.plural, "", metadata.get("namespace", ""), metadata["name"])
        call.state.check(Asked(call.user, "create", resource.group, resource.version, *place))
    attributes = AdmissionAttributes.of(call, served, "CREATE", obj, None, options)
    plugins.validate(attributes)
    if admission is not None:
        admission.validate(attributes)
    plugins.charge_quotas(attributes)
    if versioned and not options.dry_run:  # upstream's storage refuses that, and is not asked in a dry run
        raise errors.bad_request("resourceVersion should not be set on objects to be created")
    return _store(call, served, obj, options, generated)


def _store(call: Call, served: ServedResource, obj: JsonObject, options: WriteOptions, generated: bool) -> bytes:
    metadata = obj["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    stored = served.stored_as
    document = call.versions.to_store(served, obj)
    served.strategy.prepare(call, document)
    if options.dry_run:
        existing = call.storage.get(served.collection, namespace, name)
        if existing is None:
            return encode(stored, document, 0)
    else:
        try:
            record = call.storage.put(
                served.collection,
                namespace,
                name,
                lambda revision: encode(stored, document, revision),
                expected=0,
            )
        except Conflict:
            pass
        else:
            return served.strategy.after_create(call, record).value
    if generated:
        raise errors.name_not_generated(served.group_resource, name)
    blocking = call.storage.get(served.collection, namespace, name)
    is_deleting = blocking is not None and bool(metadata_of(blocking.value).deletionTimestamp)
    raise errors.already_exists(served.group_resource, name, is_deleting=is_deleting)

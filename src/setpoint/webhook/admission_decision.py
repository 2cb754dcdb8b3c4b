"""Runs an admission's functions: in a reconciler that does not rely on webhooks, and for an `AdmissionRequest`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import eq
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from setpoint.client.patches import edited
from setpoint.client.response_checks import beginnings_of, kind_of
from setpoint.crd import CustomResource, Versions
from setpoint.meta import DecodeError, Misfit, Object, Status, StatusCause, StatusDetails, decode_as_read, to_wire
from setpoint.meta.json_values import json_equal
from setpoint.meta.model_fields import has_free_json
from setpoint.schema import validate
from setpoint.schema.errors import FieldError, forbidden, to_aggregate_message
from setpoint.webhook.admission import Admission, Function, Role
from setpoint.webhook.installation_probe import probed
from setpoint.webhook.review import NO_READS, Operation, Reads, Review
from setpoint.webhook.review_messages import AdmissionRequest, AdmissionResponse

K = TypeVar("K", bound=Object)
_ABSENT = (b"", b"null")
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that decoding untrusted JSON can raise."""
_OPERATIONS: dict[str, Operation] = {
    "CREATE": "create",
    "UPDATE": "update",
    "DELETE": "delete",
    "CONNECT": "connect",
}
_INDEX = re.compile(r"\[\d+\]")
_BOOKKEEPING = ("finalizers", "managedFields", "resourceVersion", "generation")


class Misdirected(ValueError):
    """The request is not for this admission; the message says what it is for and what was expected."""


# -- without a request -------------------------------------------------------------------------------------------------


async def apply_defaults(admission: Admission[K], obj: K, review: Review[K] | None = None) -> K:
    """Changes ``obj`` as the mutating webhook would, and returns it.

    This is for reconcilers that don't rely on webhooks: a reconciler calls it on the object that it has read, then
    calls `check`, and does not write the object back. Without a ``review`` the operation is create.
    """
    review = review or _review_of(obj, None)
    await _run(admission.defaulters, obj, review)
    return obj


async def check(
    admission: Admission[K], obj: K, old: K | None = None, review: Review[K] | None = None
) -> list[FieldError]:
    """The errors that the validating webhook would report about ``obj``, or about its change from
    ``old``; [] if there are none.

    A refusal of the object as a whole (``review.deny``) is returned as an error for the field ``""``. Without a
    ``review`` the operation is create, or update if there is an ``old``.
    """
    review = review or _review_of(obj, old)
    await _run(admission.validators, obj, review)
    denial = [forbidden("", review.denial.message)] if review.denial else []
    return [*denial, *review.errors]


async def _run(functions: Sequence[Function], obj: Object, review: Review[Any]) -> None:
    for function in functions:
        result = function.begin(obj, review)
        if result is not None:
            await function.finish(result)


def _review_of(obj: K, old: K | None) -> Review[K]:
    return Review("create" if old is None else "update", old=old, namespace=obj.namespace, name=obj.name)


# -- with a request ----------------------------------------------------------------------------------------------------


async def decide(
    admission: Admission[Any], role: Role, request: AdmissionRequest, reads: Reads = NO_READS
) -> AdmissionResponse:
    """The decision on a request.

    An object with a new value that does not fit its class is refused. If it breaks the schema of the class, the refusal
    has code 422 and the message that an API server would give; otherwise, or if the object is nested too deeply, the
    code is 400. (API servers call mutating webhooks before they check the schema.) Values that are stored already don't
    matter, as in API servers (KEP-4008): an update that leaves them alone, and a deletion, are decided by the
    functions, which find in such a field the plain JSON value.

    Raises:
        Misdirected: the request is for a different admission.
        Exception: any exception that a function raises.
    """
    operation = _operation(admission, request)
    try:
        obj, old, raw, fits = _objects(admission, operation, request)
    except (*UNREADABLE, DecodeError) as problem:
        return AdmissionResponse(uid=request.uid, allowed=False, status=_misfit(admission, request, problem))
    if probe := probed(request, obj, role):
        return AdmissionResponse(uid=request.uid, allowed=False, status=probe)
    review: Review[Any] = Review(
        operation,
        old=old,
        user=request.user_info,
        dry_run=bool(request.dry_run),
        namespace=request.namespace,
        name=request.name,
        subresource=request.sub_resource,
        uid=request.uid,
        options=request.options,
    )
    review.reads = reads
    # A function must not keep an object from going: neither by a stricter rule, nor by failing for odd values.
    if (role == "mutate" and fits) or not _only_goes(obj, old, request):
        await _run(admission.functions(role), obj, review)
    refused = review.refused
    response = AdmissionResponse(
        uid=request.uid,
        allowed=not refused,
        warnings=review.warnings,
        audit_annotations=review.audit_annotations,
    )
    if refused:
        response.status = refusal(admission, review)
    elif role == "mutate":
        try:
            operations = patch_of(raw, obj)
        except (*UNREADABLE, DecodeError) as problem:  # in fields that the class does not have and decoding skips
            response.allowed, response.status = False, _misfit(admission, request, problem)
            return response
        if operations:
            response.patch = msgspec.json.encode(operations)
            response.patch_type = "JSONPatch"
    return response


def patch_of(raw: bytes, obj: Object) -> list[dict[str, Any]]:
    """The JSON patch from ``raw`` to ``obj``, which was decoded from ``raw`` and then changed; [] if nothing changed.

    Members that the class of ``obj`` does not declare are never changed, not even within items of lists. The zero
    values and defaults of the class are not added.
    """
    pristine, _ = decode_as_read(type(obj), raw)
    equal = json_equal if has_free_json(type(obj)) else eq
    if equal is eq and pristine == obj:
        return []
    from setpoint.patch.json_diff import diff  # most objects need no change

    document = msgspec.json.decode(raw)
    return diff(document, edited(document, to_wire(pristine), to_wire(obj), equal))


def refusal(admission: Admission[Any], review: Review[Any]) -> Status:
    """The status of a refusal: the one passed to ``review.deny`` if it was called, otherwise 422. Each field error
    becomes a cause.
    """
    if review.denial is None:
        return invalid(admission, review.name, review.errors)
    answer = status(review.denial.code, review.denial.reason, review.denial.message)
    if review.errors:
        answer.details = _details(admission, review.name, review.errors)
    return answer


def invalid(admission: Admission[Any], name: str, errors: Sequence[FieldError]) -> Status:
    """The status for an object with these errors: 422, with each error as a cause."""
    group = admission.gvk.group
    kind = f"{admission.gvk.kind}.{group}" if group else admission.gvk.kind
    answer = status(422, "Invalid", f'{kind} "{name}" is invalid: {to_aggregate_message(errors)}')
    answer.details = _details(admission, name, errors)
    return answer


def _details(admission: Admission[Any], name: str, errors: Sequence[FieldError]) -> StatusDetails:
    causes = [
        StatusCause(reason=cause["reason"], message=cause["message"], field=cause["field"])
        for cause in (error.to_cause() for error in errors)
    ]
    return StatusDetails(name=name, group=admission.gvk.group, kind=admission.gvk.kind, causes=causes)


def status(code: int, reason: str, message: str) -> Status:
    """The Status of a refusal."""
    return Status(status="Failure", code=code, reason=reason, message=message)


def _operation(admission: Admission[Any], request: AdmissionRequest) -> Operation:
    operation = _OPERATIONS.get(request.operation)
    if operation is None:
        raise Misdirected(f"unknown operation {request.operation!r}")
    kind, resource, expected = request.kind, request.resource, admission.resource
    if (kind.group, kind.version, kind.kind) != admission.gvk:
        actual = f"{kind.group}/{kind.version} {kind.kind}".lstrip("/")
        raise Misdirected(f"this webhook is for {admission.gvk.api_version} {admission.gvk.kind}, not for {actual}")
    if (resource.group, resource.resource) != (expected.group, expected.plural):
        raise Misdirected(f"this webhook is for {expected}, not for {resource.resource}.{resource.group}".rstrip("."))
    if request.sub_resource != admission.subresource:
        raise Misdirected(
            f"this webhook is for {_subresource(admission.subresource)} of {expected}, not for "
            f"{_subresource(request.sub_resource)}"
        )
    return operation


def _subresource(name: str) -> str:
    return f"the subresource {name}" if name else "the object itself"


def _objects(
    admission: Admission[K], operation: Operation, request: AdmissionRequest
) -> tuple[K, K | None, bytes, bool]:
    """The object, the stored object (on update), the object's JSON, and whether the object fits its class."""
    new, stored = bytes(request.object), bytes(request.old_object)
    if operation == "delete":
        if stored in _ABSENT:
            raise DecodeError("the request has no oldObject, which a delete needs")
        obj, misfits = _object(stored, admission)
        return obj, None, stored, not misfits
    if new in _ABSENT:
        raise DecodeError(f"the request has no object, which a {operation} needs")
    old: K | None = None
    stored_misfits: Sequence[Misfit] = ()
    if operation == "update" and stored not in _ABSENT:
        old, stored_misfits = _object(stored, admission)
    obj, misfits = _object(new, admission)
    if misfits and (fresh := fresh_misfits(misfits, stored_misfits)):
        raise DecodeError(f"{admission.kind.__name__} {obj.key}: {'; '.join(map(str, fresh))}")
    return obj, old, new, not misfits


def _object(document: bytes, admission: Admission[K]) -> tuple[K, list[Misfit]]:
    """An object of the request, and its misfits. Raises `Misdirected` if it is of another kind than the request."""
    if not document.startswith(beginnings_of(admission.kind)):
        api_version, kind = kind_of(document)
        expected = admission.gvk
        if (api_version, kind) not in ((expected.api_version, expected.kind), ("", "")):
            actual = f"{api_version} {kind}".strip()
            raise Misdirected(
                f"the request is for {expected.api_version} {expected.kind}, but an object in it is {actual}"
            )
    return decode_as_read(admission.kind, document)


def fresh_misfits(misfits: Iterable[Misfit], stored: Iterable[Misfit]) -> list[Misfit]:
    """The misfits that the stored object does not have."""
    without_indexes = list(map(_without_indexes, stored))
    return [misfit for misfit in misfits if _without_indexes(misfit) not in without_indexes]


def _without_indexes(misfit: Misfit) -> Misfit:
    """The misfit without its place in lists, whose items may move."""
    return misfit._replace(path=_INDEX.sub("[]", misfit.path))


def _only_goes(obj: Object, old: Object | None, request: AdmissionRequest) -> bool:
    """Whether this update only removes finalizers of an object that is being deleted."""
    if old is None or not obj.is_deleting or not old.is_deleting:
        return False
    rest = _rest(request.object)
    return rest is not None and rest == _rest(request.old_object)


def _misfit(admission: Admission[Any], request: AdmissionRequest, problem: Exception) -> Status:
    if isinstance(problem, RecursionError):
        return status(400, "BadRequest", "nested too deeply")
    if isinstance(problem, DecodeError) and issubclass(admission.kind, CustomResource):
        raw = bytes(request.old_object if request.operation == "DELETE" else request.object)
        schema = Versions.of(admission.kind).schemas[admission.gvk.version]
        document, stored = _document(raw), _document(request.old_object)
        if document is not None and (errors := validate(schema, document, old=UNSET if stored is None else stored)):
            return invalid(admission, request.name, errors)
    return status(400, "BadRequest", str(problem))


def _document(raw: msgspec.Raw | bytes) -> Any:
    """The decoded JSON; None if there is none or it can't be read: it is nested too deeply, is not Unicode, or contains
    a number too large for a float.
    """
    if bytes(raw) in _ABSENT:
        return None
    try:
        return msgspec.json.decode(raw)
    except UNREADABLE:
        return None


def _rest(raw: msgspec.Raw) -> dict[str, Any] | None:
    """An object without the fields that change when a finalizer is removed; None if ``raw`` can't be read as an
    object.
    """
    document = _document(raw)
    if not isinstance(document, dict):
        return None
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        for name in _BOOKKEEPING:
            metadata.pop(name, None)
    return document

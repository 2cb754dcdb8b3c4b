"""Checks of objects without a cluster: schema, defaults, rules, and the functions of admissions."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from setpoint.apiserver.objects.metadata import metadata_errors, update_errors
from setpoint.cel.rules import RuleValidator, object_errors
from setpoint.crd import CustomResource, Versions, schema_of
from setpoint.crd.newest_version import newest_of
from setpoint.meta import Misfit, decode_as_read, resource_of, to_wire
from setpoint.meta.names import dns1123_subdomain
from setpoint.patch import json_patch
from setpoint.schema import (
    UNSET,
    FieldError,
    Schema,
    apply_defaults,
    copy_json,
    prune,
    structural,
    unknown_fields,
    validate,
)
from setpoint.schema.errors import invalid
from setpoint.webhook import Admission, Review
from setpoint.webhook.admission_decision import apply_defaults as run_defaults
from setpoint.webhook.admission_decision import check as run_validators
from setpoint.webhook.admission_decision import fresh_misfits, patch_of
from setpoint.webhook.review import Operation

K = TypeVar("K", bound=CustomResource)
T = TypeVar("T")
Document = dict[str, Any]
_GIVEN_BY_SERVER: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def check(obj: K, old: K | None = None, *, admissions: Iterable[Admission[K]] = ()) -> list[FieldError]:
    """The errors with which an API server would refuse ``obj``; [] if it would store the object.

    This is a whole write without a cluster: the schema's defaults, the functions that the ``admissions`` add with
    ``defaults``, the rules of metadata, the schema, the CEL rules and, if there is no error until then, the functions
    added with ``validates``. With ``old``, the write is an update of the object ``old``: rules about transitions
    apply, and errors in values that the update leaves alone do not (KEP-4008). Neither argument is changed.

    A status is checked as if it were written with the object. An absent namespace is ``default``. Selectors and match
    conditions of admissions are not considered, and their functions can't read caches.

    ```python
    assert not sp.check(sample, admissions=[admission])
    assert [str(error) for error in sp.check(smaller, old=sample)] == ["spec.size: Forbidden: can't shrink"]
    ```

    Raises:
        TypeError: ``obj`` is not an instance of a CustomResource class, or a function of an admission waits for
            something.
    """
    kind = type(obj)
    if not isinstance(obj, CustomResource):
        raise TypeError(
            f"check() takes an instance of a CustomResource class, not a {kind.__name__}: built-in kinds have rules "
            "that only a server knows, such as that of setpoint.testing.cluster()"
        )
    return check_document(kind, to_wire(obj), None if old is None else to_wire(old), admissions)


def check_document(
    kind: type[CustomResource],
    document: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    admissions: Iterable[Admission[Any]] = (),
) -> list[FieldError]:
    """Like `check`, for the JSON of an object. Unknown fields are dropped."""
    schema, rules = _schema_of(kind)
    new = _complete(kind, schema, document, None)
    stored = None if old is None else _complete(kind, schema, old, None)
    if stored is not None:
        new = _complete(kind, schema, new, stored)
    chosen = [
        admission
        for admission in admissions
        if not admission.subresource and admission.gvk.group == resource_of(kind).group
    ]
    chosen = [admission for admission in chosen if admission.gvk.kind == resource_of(kind).kind]
    misfits = _misfits(kind, new, stored)
    odd = [invalid(misfit.path, misfit.value, misfit.problem) for misfit in misfits]
    if misfits and any(admission.defaulters for admission in chosen):  # their webhook is asked first, and refuses it
        return validate(schema, new, old=UNSET if stored is None else stored) or odd
    for admission in chosen:
        new = _complete(kind, schema, _defaulted(kind, admission, new, stored), stored)
    namespaced = resource_of(kind).namespaced
    errors = metadata_errors(new["metadata"], namespaced, dns1123_subdomain, dns1123_subdomain, custom=True)
    if stored is not None:
        errors += update_errors(new["metadata"], stored["metadata"])
    errors += object_errors(schema, rules, new, stored)[0]
    errors += [] if errors else odd
    for admission in [] if errors else chosen:
        errors += _refusals(kind, admission, new, stored)
    return errors


def _misfits(kind: type[CustomResource], new: Document, stored: Document | None) -> list[Misfit]:
    """The new values that do not fit their fields. Functions are not called for an object that has one."""
    stored_misfits = [] if stored is None else decode_as_read(kind, msgspec.json.encode(stored))[1]
    return fresh_misfits(decode_as_read(kind, msgspec.json.encode(new))[1], stored_misfits)


def unknown_fields_of(kind: type[CustomResource], document: Mapping[str, Any]) -> list[str]:
    return unknown_fields(_schema_of(kind)[0], copy_json(dict(document)))


@cache
def _schema_of(kind: type[CustomResource]) -> tuple[Schema, RuleValidator]:
    document = schema_of(kind)
    return structural.load(document), RuleValidator(document)


def _complete(
    kind: type[CustomResource], schema: Schema, document: Mapping[str, Any], stored: Document | None
) -> Document:
    """The object as the server has it before its checks: with defaults, and with the metadata that it sets."""
    new: Document = copy_json(dict(document))
    metadata = new.setdefault("metadata", {})
    if resource_of(kind).namespaced and not metadata.get("namespace"):
        metadata["namespace"] = "default"
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = f"{metadata['generateName']}x"
    for name in _GIVEN_BY_SERVER if stored is not None else ():
        if stored is not None and name in stored["metadata"]:
            metadata.setdefault(name, stored["metadata"][name])
    prune(schema, new)
    apply_defaults(schema, new)
    return new


def _as(kind: type[Any], document: Document, versions: Versions) -> Document:
    return versions.convert(document, resource_of(kind).version)


def _defaulted(
    kind: type[CustomResource], admission: Admission[Any], new: Document, stored: Document | None
) -> Document:
    versions = Versions.of(newest_of(kind))
    document = _as(admission.kind, new, versions)
    raw = msgspec.json.encode(document)
    obj, review = _reviewed(admission, raw, stored and _as(admission.kind, stored, versions))
    _finished(run_defaults(admission, obj, review), admission)
    changed = json_patch.apply(document, json_patch.decode(msgspec.json.encode(patch_of(raw, obj))))
    return _as(kind, changed, versions)


def _refusals(
    kind: type[CustomResource], admission: Admission[Any], new: Document, stored: Document | None
) -> list[FieldError]:
    versions = Versions.of(newest_of(kind))
    raw = msgspec.json.encode(_as(admission.kind, new, versions))
    obj, review = _reviewed(admission, raw, stored and _as(admission.kind, stored, versions))
    return _finished(run_validators(admission, obj, review.old, review), admission)


def _reviewed(admission: Admission[Any], raw: bytes, stored: Document | None) -> tuple[Any, Review[Any]]:
    obj = decode_as_read(admission.kind, raw)[0]
    old = None if stored is None else decode_as_read(admission.kind, msgspec.json.encode(stored))[0]
    operation: Operation = "create" if old is None else "update"
    return obj, Review(operation, old=old, namespace=obj.namespace, name=obj.name)


def _finished(work: Coroutine[Any, Any, T], admission: Admission[Any]) -> T:
    """The result of a coroutine that waits for nothing. It needs no event loop, and may be called in one that runs."""
    while True:
        try:
            awaited = work.send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        if awaited is not None:
            work.close()
            raise TypeError(
                f"{admission!r}: a function waits for something, which check() can't; test it with "
                "setpoint.testing.cluster(webhooks=[...])"
            )

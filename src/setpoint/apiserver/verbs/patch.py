"""PATCH: JSON patch, merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final

from setpoint.apiserver.depth_limit import TOO_DEEP, is_too_deep
from setpoint.apiserver.errors import (
    ApiStatusError,
    apply_conflict,
    bad_request,
    conflict,
    invalid,
    not_found,
    request_entity_too_large,
    unprocessable,
    unsupported_media_type,
)
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.go_json import go_json, patched_json
from setpoint.apiserver.objects.metadata import MAX_ANNOTATIONS
from setpoint.apiserver.requests.body import (
    JSON_TYPE,
    YAML_TYPE,
    NotJsonError,
    check_size,
    content_type,
    parse_document,
)
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import (
    PatchedWrong,
    check_kind,
    coerce,
    coerced,
    fit_namespace,
    head_problem,
    why_not,
)
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.requests.type_errors import convert_numbers, may_have_floats
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.verbs.create import insert
from setpoint.apiserver.verbs.managed_fields import check_versions, converter, ignored_fields
from setpoint.apiserver.verbs.update import check_name, may_create, modify
from setpoint.meta import GroupKind, GroupVersion, GroupVersionKind
from setpoint.meta.json_values import whole_numbers
from setpoint.patch import apply as server_side_apply
from setpoint.patch import json_patch, merge_patch, strategic
from setpoint.patch.apply import ApplyConflict, Endpoint, InvalidApply
from setpoint.patch.go_text import go_kind, go_text
from setpoint.patch.json_patch import PatchError, TooManyOperations
from setpoint.patch.strategic import StrategicPatchError
from setpoint.patch.typed import TypedError, type_errors
from setpoint.schema import Schema
from setpoint.schema.errors import invalid as invalid_field

_log = logging.getLogger(__name__)

JsonObject = dict[str, Any]
Change = Callable[[JsonObject], JsonObject]
"""A function that returns the changed document. The result may share values with the argument, so only one of them may
be changed afterwards.
"""

_NAMELESS: Final = "the name of the object (%s based on URL) was undeterminable: name must be provided"
_KUBECTL: Final = "kubectl"
"""The field manager of ``kubectl apply --server-side``."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HEAD: Final = ("apiVersion", "kind", "metadata")
APPLY: Final = "application/apply-patch+yaml"
_JSON: Final = "application/json-patch+json"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"


def patch_types(served: ServedResource) -> tuple[str, ...]:
    """The supported patch types; custom resources do not support strategic merge patches."""
    return (_JSON, _MERGE, APPLY) if served.custom else (_JSON, _MERGE, _STRATEGIC, APPLY)


def patch(call: Call) -> Response:
    """Changes the object, or a part of it through a subresource such as ``/status``; an apply creates a missing object.
    Raises ApiStatusError.
    """
    shape = Representation.negotiate(call)
    served, path = call.served, call.path
    kind = content_type(call.request.headers)
    if kind not in patch_types(served):
        raise unsupported_media_type(patch_types(served), routed=not served.custom)
    apply = kind == APPLY
    check_size(call.request.body or b"")
    options = WriteOptions.parse(call.query, "PatchOptions", apply=apply)
    if apply:
        value, created = _apply(call, options)
        return shape.single(call, value, status=201 if created else 200)
    change, repeated = read_patch(call, served.schema, kind, options.field_validation)
    record = call.existing()
    old = call.versions.decoded(served, record)
    base = call.versions.decoded(served, record)  # another copy: what comes out shares parts with it, and is changed
    new = change(base)
    settled = [name for name in new if name not in _HEAD and new[name] is base.get(name)] if kind == _MERGE else ()
    try:
        new = _checked(call, kind, new, old, options.field_validation, repeated, settled)
    except PatchedWrong as wrong:
        gvk = None if served.custom else served.resource.gvk
        raise quoted(
            call, kind, wrong, gvk, served.schema, lambda: change(call.versions.decoded(served, record)), old
        ) from None
    _same_identity(call, new)
    return shape.single(call, modify(call, served, record, old, new, options, subresource=path.subresource))


def _checked(
    call: Call,
    kind: str,
    new: JsonObject,
    old: JsonObject,
    validation: str,
    repeated: list[str],
    settled: Collection[str],
) -> JsonObject:
    """``new``, the result of a patch of the type ``kind``, in the form that handlers work with. The patch did not touch
    the fields ``settled``. Raises ApiStatusError.
    """
    served = call.served
    if kind == _STRATEGIC:  # whose result is converted to the kind that it had
        new |= {"apiVersion": old["apiVersion"], "kind": old["kind"]}
    elif not served.custom and new.get("apiVersion") in (None, ""):
        raise _without_version(call, new, validation)
    _check_patched(call, served, new, old)
    strategic, raw = kind == _STRATEGIC, call.request.body or b""
    if strategic:
        convert_numbers(served.schema, new, raw)
    elif served.custom and may_have_floats(raw):
        whole_numbers(new)
    coercion = partial(
        coerce,
        call,
        served,
        validation=validation,
        duplicates=repeated,
        patch=True,
        strategic=strategic,
        settled=settled,
    )
    return coerced(call, served, new, coercion)


def quoted(
    call: Call,
    kind: str,
    wrong: PatchedWrong,
    gvk: GroupVersionKind | None,
    schema: Schema,
    patched: Callable[[], JsonObject],
    old: JsonObject,
) -> PatchedWrong:
    """``wrong`` with what upstream quotes of a patch of the type ``kind``: a strategic merge patch, or the result of
    another patch. ``patched`` makes the result of ``old``; ``gvk`` is their kind, None for a custom one, and ``schema``
    its schema.
    """
    if wrong.is_quoted:
        return wrong
    if kind == _STRATEGIC:
        patch = parse_document(call.request.body or b"", JSON_TYPE)[0]
        return PatchedWrong(wrong.problem, go_text(strategic.without_directives(schema, old, patch)))
    return PatchedWrong(wrong.problem, patched_json(gvk, patched(), old, merged=kind == _MERGE))


def read_patch(call: Call, schema: Schema, kind: str, validation: str) -> tuple[Change, list[str]]:
    """The patch in the body as a function, and texts about fields of the patch that are unknown or occur twice. Raises
    ApiStatusError (400). The function raises ApiStatusError (400, 413 or 422) if the patch can't be applied.

    ``validation`` is how fields are validated: with ``Ignore``, a JSON patch is only read when it is applied.
    """
    body = call.request.body or b""
    try:
        document, duplicates = parse_document(body, "application/json")
    except NotJsonError:
        raise bad_request("invalid JSON patch") from None
    except ValueError as problem:
        plain = kind == _STRATEGIC or (kind == _JSON and validation == "Ignore")
        raise bad_request(str(problem) if plain else f"error decoding patch: {problem}") from None
    if kind == _JSON:
        try:
            unknown = [] if validation == "Ignore" else _check_operations(document)
            operations = json_patch.decode(body)
        except PatchError as problem:
            raise bad_request(str(problem)) from None
        return lambda obj: _json_patched(call, obj, operations), [f"json patch {text}" for text in duplicates] + unknown
    if kind == _MERGE and (document is None or (validation == "Ignore" and not isinstance(document, dict | list))):
        raise bad_request("Invalid JSON Patch")
    if document is None:
        document = {}
    if not isinstance(document, dict):
        if kind == _MERGE and validation == "Ignore":
            raise PatchedWrong(head_problem(document), go_json(document))
        text = f"json: cannot unmarshal {go_kind(document)} into Go value of type map[string]interface {{}}"
        raise bad_request(text if kind == _STRATEGIC else f"error decoding patch: {text}")
    if kind == _MERGE:
        return lambda obj: merge_patch.apply(obj, document), duplicates
    return lambda obj: _strategically_patched(schema, obj, document), duplicates


def _check_operations(document: Any) -> list[str]:
    """Texts about fields that an operation of a JSON patch can't have. Raises PatchError if the document is not a list
    of operations.
    """
    prefix = "error decoding patch: json: cannot unmarshal"
    if document is None:
        return []
    if not isinstance(document, list):
        raise PatchError(f"{prefix} {go_kind(document)} into Go value of type []handlers.jsonPatchOp")
    texts = []
    for index, operation in enumerate(document):
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise PatchError(f"{prefix} {go_kind(operation)} into Go value of type handlers.jsonPatchOp")
        for name, value in operation.items():
            if name in ("op", "path", "from"):
                if value is not None and not isinstance(value, str):
                    field = f"Go struct field jsonPatchOp.{name} of type string"
                    raise PatchError(f"{prefix} {go_kind(value)} into {field}")
            elif name != "value":
                texts.append(f'json patch unknown field "[{index}].{name}"')
    return texts


def _json_patched(call: Call, obj: JsonObject, operations: Sequence[json_patch.Operation]) -> JsonObject:
    try:
        result = json_patch.apply(obj, operations)
    except TooManyOperations as problem:
        raise request_entity_too_large(str(problem)) from None
    except PatchError as problem:
        _log.info("a JSON patch of %s %r can't be applied: %s", call.served.group_resource, call.path.name, problem)
        raise unprocessable(str(problem) if isinstance(problem, json_patch.TooCostly) else "") from None
    if not isinstance(result, dict):
        raise PatchedWrong(head_problem(result), go_json(result))
    if is_too_deep(result):
        raise PatchedWrong(TOO_DEEP, "...")
    return result


def _strategically_patched(schema: Schema, obj: JsonObject, document: JsonObject) -> JsonObject:
    try:
        return strategic.apply(schema, obj, document)
    except StrategicPatchError as problem:
        raise bad_request(str(problem)) from None


def _check_patched(call: Call, served: ServedResource, new: JsonObject, old: JsonObject) -> None:
    """Checks that a patch changes neither kind nor version and that the metadata is still an object. Raises
    ApiStatusError.
    """
    if problem := head_problem(new):
        raise PatchedWrong(problem)
    version, kind, resource = new.get("apiVersion") or "", new.get("kind") or "", served.resource
    if (version, kind) != (old["apiVersion"], old["kind"]):
        if not version or (not kind and not served.custom):
            check_kind(call, served, new)
        elif not kind:
            raise PatchedWrong(f"Object 'Kind' is missing in '{go_json(new)}'")
        elif served.custom:
            raise _of_another_kind(call, version, kind)
        else:
            raise PatchedWrong(why_not(call, resource.group, resource.kind, GroupVersion.parse(version), kind))
    if new.get("metadata") is None:
        raise bad_request(_NAMELESS % call.path.name)


def _of_another_kind(call: Call, version: str, kind: str) -> ApiStatusError:
    """The error for the result of a patch that changes the kind or the version of a custom object."""
    resource = call.served.resource
    fields = (("kind", kind, resource.kind), ("apiVersion", version, resource.api_version))
    errors = [invalid_field(name, value, f"must be {wanted}") for name, value, wanted in fields if value != wanted]
    return invalid(GroupKind(GroupVersion.parse(version).group, kind), call.path.name, errors)


def _without_version(call: Call, new: JsonObject, validation: str) -> ApiStatusError:
    """The error for the result of a patch that removes the apiVersion: upstream takes it for its internal version,
    which has none of the fields.
    """
    texts = [f'unknown field "{name}"' for name in sorted(new) if name not in ("apiVersion", "kind")]
    if texts and validation == "Strict":
        return PatchedWrong(f"strict decoding error: {', '.join(texts)}")
    for text in texts if validation == "Warn" else ():
        call.warn(text)
    return bad_request(_NAMELESS % call.path.name)


def _same_identity(call: Call, new: JsonObject) -> None:
    fit_namespace(call, new["metadata"])
    check_name(call, new)


def _apply(call: Call, options: WriteOptions) -> tuple[bytes, bool]:
    """The bytes of the applied object, as stored, and whether the object is new."""
    served, path = call.served, call.path
    resource = served.resource
    record = call.storage.get(served.collection, path.namespace, path.name)
    if record is None and not may_create(served, path.subresource):
        raise not_found(served.group_resource, path.name)
    configuration = read_configuration(call, options, resource.gvk, served.schema)
    given_namespace, given_name = (configuration["metadata"].get(key, "") for key in ("namespace", "name"))
    fit_namespace(call, configuration["metadata"])
    uid = configuration["metadata"].get("uid")
    if record is None and uid:
        reason = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(served.group_resource, path.name, reason)
    live = None if record is None else call.versions.decoded(served, record)
    check_versions(served, live)
    ignored = ignored_fields(served, path.subresource)
    endpoint = Endpoint(served.schema, resource.api_version, path.subresource, ignored, converter(call, served))
    try:
        result = server_side_apply.apply(
            endpoint,
            live,
            configuration,
            (live or {"metadata": {}})["metadata"].get("managedFields") or [],
            options.field_manager,
            force=bool(options.force),
            now=call.timestamp(),
        )
    except ApplyConflict as problem:
        raise apply_conflict(problem.message, problem.causes) from None
    except InvalidApply as problem:
        raise unfit(problem, resource.gvk, given_namespace, given_name) from None
    except (TypedError, ValueError) as problem:
        raise bad_request(str(problem)) from None
    renewed = options.field_manager == _KUBECTL and _renew_last_applied(result.object, configuration, given_namespace)
    if record is not None and live is not None and not result.changed and not renewed:
        version = configuration["metadata"].get("resourceVersion")
        if version and version != str(record.revision):
            raise conflict(served.group_resource, path.name)
        return call.versions.encoded(served.stored_as, record), False
    new = result.object  # it shares parts with `live` and the configuration, which are not used any more
    if not new["metadata"].get("name"):
        raise bad_request(_NAMELESS % path.name)
    if may_have_floats(call.request.body or b""):
        whole_numbers(new)
    validation = options.field_validation
    new = coerced(call, served, new, lambda obj: coerce(call, served, obj, validation, [], patch=True, applied=True))
    _same_identity(call, new)
    if record is None or live is None:
        new["metadata"].pop("resourceVersion", None)
        return insert(call, served, new, options, track_fields=False), True
    old = call.versions.decoded(served, record)
    value = modify(call, served, record, old, new, options, subresource=path.subresource, track_fields=False)
    return value, False


def _renew_last_applied(obj: JsonObject, configuration: JsonObject, namespace: str) -> bool:
    """Writes the applied configuration into the annotation that client-side applies use (in place), if ``obj`` has it,
    so that both kinds of apply can take turns. Returns whether this changed the object.
    """
    annotations = obj["metadata"].get("annotations") or {}
    before = annotations.get(_LAST_APPLIED)
    if not before:
        return False
    metadata = {**configuration["metadata"], "namespace": namespace}
    own = metadata.get("annotations")
    if own is not None:
        metadata["annotations"] = {name: text for name, text in own.items() if name != _LAST_APPLIED}
    document = {**configuration, "metadata": {key: value for key, value in metadata.items() if value != ""}}
    text = go_json(document) + "\n"
    annotations = {**annotations, _LAST_APPLIED: text}
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATIONS:
        del annotations[_LAST_APPLIED]
    obj["metadata"] = {**obj["metadata"], "annotations": annotations}
    return bool(annotations.get(_LAST_APPLIED) != before)


def unfit(problem: InvalidApply, kind: GroupVersionKind, namespace: str, name: str) -> ApiStatusError:
    """The error for an apply configuration that does not fit the object's schema."""
    kind_text = str(kind) if kind.group else f"/{kind}"
    words = "failed to create typed patch object"
    return bad_request(str(problem).replace(f"{words}:", f"{words} ({namespace}/{name}; {kind_text}):"))


def read_configuration(call: Call, options: WriteOptions, wanted: GroupVersionKind, schema: Schema) -> JsonObject:
    """The configuration to apply, of the kind ``wanted`` with this ``schema``. Raises ApiStatusError (400)."""
    body = call.request.body or b""
    try:
        document, duplicates = parse_document(body, YAML_TYPE)
    except ValueError as problem:
        raise bad_request(f"error encoding patch: {problem}") from None
    if document is None:
        document = {}
    if not isinstance(document, dict):
        text = f"json: cannot unmarshal {go_kind(document)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding patch: error unmarshaling JSON: while decoding JSON: {text}")
    if duplicates:
        text = "\n  ".join(("yaml: unmarshal errors:", *duplicates))
        if options.field_validation == "Strict":
            raise bad_request(f"error strict decoding patch: error converting YAML to JSON: {text}")
        if options.field_validation == "Warn":
            for repeated in duplicates:
                call.warn(repeated)
    kind, version = document.get("kind"), document.get("apiVersion")
    if (version, kind) != (wanted.api_version, wanted.kind):
        api_version = str(version or "")
        gvk = f"{api_version if '/' in api_version else '/' + api_version}, Kind={kind or ''}"
        raise bad_request(f"invalid object type: {gvk}")
    if document.get("metadata") is None:
        document["metadata"] = {}
    metadata = document["metadata"]
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    if not isinstance(metadata, dict) or not isinstance(name, str | None):
        raise unfit(InvalidApply(type_errors(schema, document)), wanted, "", "")
    if name is None:  # that of an object which exists is kept
        metadata.pop("name", None)
    elif name != call.path.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.path.name})")
    return document

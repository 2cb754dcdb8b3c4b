"""Decoding of incoming objects: they are checked for unknown fields and brought into the form that is stored.

For built-in kinds, the effect is that of Go's decoder on a typed object; for custom resources, it is that of structural
schemas (pruning, then defaulting).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from setpoint.apiserver.errors import ApiStatusError, bad_request, invalid
from setpoint.apiserver.objects.go_form import complete, shorten
from setpoint.apiserver.objects.metadata import clean
from setpoint.apiserver.requests import go_type_messages
from setpoint.apiserver.requests.body import check_size, decode_text, delays_others, media_type, parse_document
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.type_errors import empty_nulls, may_have_floats, type_errors
from setpoint.apiserver.resources.builtin_schemas import built_in_schemas
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.meta import GroupKind, GroupVersion, GroupVersionKind
from setpoint.meta.duplicate_key import RepeatedKey
from setpoint.models import definition_name
from setpoint.models.history import NEWEST
from setpoint.patch.go_text import go_kind
from setpoint.schema import (
    OBJECT_META,
    ErrorType,
    FieldError,
    Schema,
    apply_defaults,
    drop_nulls,
    fill_defaults,
    prune,
    validate,
)
from setpoint.schema.errors import OMITTED
from setpoint.schema.json_values import whole_numbers

JsonObject = dict[str, Any]
TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def read_document(call: Call, kind: str) -> tuple[JsonObject, list[str]]:
    """The object in the request's body (JSON, YAML or protobuf), and its repeated fields. ``kind`` is the expected
    kind.

    Raises ApiStatusError: 400, 413 or 415.
    """
    body = call.request.body or b""
    check_size(body)
    media = media_type(call.request.headers)
    try:
        value, duplicates = parse_document(body, media)
        if value is None:
            value = {}
        elif not isinstance(value, dict):
            raise ValueError(f"json: cannot unmarshal {go_kind(value)} into Go value of type {TYPE_META}")
        for field in ("kind", "apiVersion"):
            field_value = value.get(field, "")
            if field_value is not None and not isinstance(field_value, str):
                go_type = go_kind(field_value)
                raise ValueError(f"json: cannot unmarshal {go_type} into Go struct field .{field} of type string")
    except ValueError as problem:
        text = str(problem)
        if not text.startswith("yaml: "):
            text = f"couldn't get version/kind; json parse error: {text}"
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {text} ({decode_text(body)})"
        ) from None
    return value, duplicates


def read_typed(call: Call, kind: GroupVersionKind, *, older: tuple[str, ...] = ()) -> JsonObject:
    """The request's body as an object of a built-in kind that is never stored; its values have the right types.

    ``older`` are API versions in which the kind has the same form. Raises ApiStatusError.
    """
    document, _ = read_document(call, kind.kind)
    fit_kind(call, document, kind, older=older)
    return typed(document, kind)


def fit_kind(
    call: Call, document: JsonObject, kind: GroupVersionKind, *, older: tuple[str, ...] = (), patch: bool = False
) -> None:
    """Checks that the kind and the apiVersion of a document that is never stored are those of ``kind``, or missing.
    ``older`` are further API versions that are accepted. Raises ApiStatusError (400; 422 for the result of a
    ``patch``).
    """
    kind_name, version = document.get("kind") or kind.kind, document.get("apiVersion") or kind.api_version
    if kind_name == kind.kind and version in (kind.api_version, *older):
        return
    _check_names(kind_name, version)
    group_version = GroupVersion.parse(version)
    reason = _why_not(call, kind.group, kind.kind, group_version, kind_name, "pkg/runtime/scheme.go:111")
    prefix = f'{kind_name} in version "{group_version.version}" cannot be handled as a {kind.kind}'
    raise malformed(prefix, reason, patch)


def typed(document: JsonObject, kind: GroupVersionKind, *, patch: bool = False) -> JsonObject:
    """Removes nulls from the document, as Go's decoder does, and returns the document.

    Raises ApiStatusError (400; 422 for the result of a ``patch``) if a value does not have the type that ``kind``
    requires. Missing fields are not checked here.
    """
    schema = built_in_schemas()[definition_name(kind)]
    for error in validate(schema, document):
        if error.type is ErrorType.TYPE_INVALID and error.bad_value != "null":
            prefix = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
            raise malformed(prefix, f"json: cannot unmarshal into Go struct field {kind.kind}.{error}", patch)
    empty_nulls(schema, document)
    return document


def fit_namespace(call: Call, metadata: JsonObject) -> None:
    """Sets the object's namespace to the one in the URL, or removes it from a cluster-scoped object. Raises
    ApiStatusError (400) if a namespaced object has a different namespace.
    """
    wanted = call.path.namespace
    namespace = metadata.get("namespace", "")
    if not call.served.resource.namespaced:
        # An object of the whole cluster may name no namespace. Upstream drops it quietly.
        metadata.pop("namespace", None)
        return
    if not namespace:
        metadata["namespace"] = wanted
    elif namespace != wanted:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def read_object(call: Call, served: ServedResource, validation: str) -> JsonObject:
    """The object in the request's body, in the form that handlers work with. Raises ApiStatusError."""
    obj, duplicates = read_document(call, served.resource.kind)
    check_kind(call, served, obj)
    if served.custom and may_have_floats(call.request.body or b""):
        whole_numbers(obj)
    return coerced(call, served, obj, lambda obj: coerce(call, served, obj, validation, duplicates))


def check_kind(call: Call, served: ServedResource, obj: JsonObject) -> None:
    """Checks that the object is of the kind and version in the URL; in an object of a built-in kind, sets them if they
    are missing. Raises ApiStatusError: 400, or 422 for a custom object of a different kind or group.
    """
    resource = served.resource
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if served.custom and not kind:
        text = decode_text(call.request.body or b"")
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object 'Kind' is missing in "
            f"'{text}' ({text})"
        )
    if not kind:
        obj["kind"] = kind = resource.kind
    if served.custom and not version:
        raise bad_request(
            f"the API version in the data () does not match the expected API version ({resource.api_version})"
        )
    if not version:
        obj["apiVersion"] = version = resource.api_version
    _check_names(kind, version)
    if (version, kind) == (resource.api_version, resource.kind):
        return
    group_version = GroupVersion.parse(version)
    if (
        group_version.group == resource.group
        and kind == resource.kind
        and (served.custom or _is_registered(call, group_version, kind))
    ):
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    prefix = f'{kind} in version "{group_version.version}" cannot be handled as a {resource.kind}: '
    if served.custom:
        name = (obj.get("metadata") or {}).get("name", "") if isinstance(obj.get("metadata"), dict) else ""
        wrong = FieldError(ErrorType.INVALID, "kind", f"must be {resource.kind}", kind)
        raise invalid(GroupKind(resource.group, kind), name, [wrong])
    raise bad_request(prefix + why_not(call, served, group_version, kind))


def _check_names(kind: object, version: object) -> None:
    """Checks that ``kind`` is a string and ``version`` is an API version, because a patch can set any value. Raises
    ApiStatusError (400).
    """
    if not isinstance(kind, str) or not isinstance(version, str) or version.count("/") > 1:
        raise bad_request("couldn't get version/kind; apiVersion must be GROUP/VERSION or VERSION, kind a name")


def why_not(call: Call, served: ServedResource, group_version: GroupVersion, kind: str) -> str:
    """The reason why an object of a different kind can't be used as the served, built-in kind."""
    resource = served.resource
    return _why_not(call, resource.group, resource.kind, group_version, kind, "pkg/api/legacyscheme/scheme.go:30")


def _why_not(call: Call, group: str, wanted: str, group_version: GroupVersion, kind: str, scheme: str) -> str:
    if not _is_registered(call, group_version, kind):
        return f'no kind "{kind}" is registered for version "{group_version}" in scheme "{scheme}"'
    package = (group or "core").partition(".")[0]
    return f"converting ({group_version.version}.{kind}) to ({package}.{wanted}): unknown conversion"


def _is_registered(call: Call, version: GroupVersion, kind: str) -> bool:
    return call.state.registry.find_kind(version.group, version.version, kind) is not None


def coerced(call: Call, served: ServedResource, obj: JsonObject, coercion: Callable[[JsonObject], None]) -> JsonObject:
    """The object as ``coercion``, which calls `coerce`, leaves it; ``obj`` must not be used any more. If others would
    have to wait for it, it is called in a thread. Raises ApiStatusError.
    """
    if call.replay is None or not delays_others(call.request):
        coercion(obj)
        return obj

    def pickled() -> tuple[bytes, list[FieldError], list[str]]:
        coercion(obj)
        return pickle.dumps(obj), call.missing, call.warnings

    # Pickled, because each attempt changes its own object.
    result, call.missing, warnings = call.replay.apart((served, pickle.dumps(obj)), pickled)
    for text in warnings:
        call.warn(text)
    return cast("JsonObject", pickle.loads(result))  # noqa: S301 - pickled above


def coerce(
    call: Call,
    served: ServedResource,
    obj: JsonObject,
    validation: str,
    duplicates: list[str],
    *,
    patch: bool = False,
    patch_text: str = "",
    applied: bool = False,
) -> None:
    """Brings ``obj`` (in place) into the form that handlers work with. Unknown and repeated fields are dropped;
    ``validation`` says whether they are errors (``Strict``), lead to warnings (``Warn``), or are ignored (``Ignore``).

    Raises ApiStatusError (400; 422 if the object is the result of a ``patch``). ``patch_text`` is a strategic merge
    patch as messages show it; ``applied``: the object is the result of a server-side apply.
    """
    resource = served.resource
    prefix = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = obj["metadata"] = {}
    if not isinstance(metadata, dict):
        sort = go_kind(metadata)
        problem = f"json: cannot unmarshal {sort} into Go struct field {resource.kind}.metadata of type v1.ObjectMeta"
    else:
        problem, call.missing = type_errors(served, obj, call.request.body or b"")
    if problem and patch_text:
        raise patched_wrong(
            go_type_messages.restored(problem, whole=not may_have_floats(call.request.body or b"")), patch_text
        )
    if problem:
        raise malformed(prefix, problem, patch)
    check_fields(call, served.schema, obj, validation, duplicates, prefix, patch=patch, patch_text=patch_text)
    if served.custom and applied:
        fill_defaults(served.schema, obj)  # as upstream, which refuses the nulls that an apply may leave
    elif served.custom:
        apply_defaults(served.schema, obj)
    else:
        try:
            if shorten(served, obj):
                drop_nulls(OBJECT_META, metadata)
            else:
                drop_nulls(served.schema, obj)
            served.strategy.read(obj)
        except ValueError as wrong:
            raise malformed(prefix, str(wrong), patch) from None
    clean(metadata)
    served.strategy.default(obj)
    complete(served, obj)
    if not served.custom and call.state.registry.minor < NEWEST:
        prune(served.schema, obj)  # the defaults are those of the newest version


def check_fields(
    call: Call,
    schema: Schema,
    obj: JsonObject,
    validation: str,
    duplicates: list[str],
    prefix: str,
    *,
    patch: bool = False,
    patch_text: str = "",
) -> None:
    """Drops the unknown fields of ``obj``. Depending on ``validation``, these fields and the ``duplicates`` (texts
    about the fields that occur twice) are errors, lead to warnings, or are ignored; ``prefix`` is the beginning of an
    error message.

    Raises ApiStatusError (400; 422 if the object is the result of a ``patch``).
    """
    unknown = prune(schema, obj)
    repeated = [text for text in duplicates if isinstance(text, RepeatedKey)]
    others = [text for text in duplicates if not isinstance(text, RepeatedKey)]
    strict = [f'unknown field "{path}"' for path in unknown]
    strict = others + strict if patch else strict + others
    if (strict or repeated) and validation == "Strict":
        texts = [*(["\n  ".join(("yaml: unmarshal errors:", *repeated))] if repeated else []), *strict]
        raise malformed(prefix, f"strict decoding error: {', '.join(texts)}", patch, patch_text)
    strict = [*repeated, *strict]
    if strict and validation == "Warn":
        for text in strict:
            call.warn(text)


def malformed(prefix: str, problem: str, patch: bool, patch_text: str = "") -> ApiStatusError:
    """The error for a document that is not of its kind: 400, or 422 if it is the result of a ``patch``."""
    return patched_wrong(problem, patch_text) if patch else bad_request(f"{prefix}: {problem}")


def patched_wrong(problem: str, patch_text: str = "") -> ApiStatusError:
    """The error (422) for a patch whose result is not a valid object. The message quotes ``patch_text``, a strategic
    merge patch. Of other patches upstream quotes the whole result.
    """
    return invalid(GroupKind("", ""), "", [FieldError(ErrorType.INVALID, "patch", problem, patch_text or OMITTED)])


def dedupe_owners(call: Call, metadata: JsonObject) -> None:
    """Drops repeated owner references, with a warning."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    unique: dict[bytes, Any] = {}
    twice: list[str] = []
    for owner in owners:
        if unique.setdefault(msgspec.json.encode(owner, order="sorted"), owner) is not owner:
            twice.append(owner.get("uid", ""))
    if twice:
        metadata["ownerReferences"] = list(unique.values())
        call.warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and "
            "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            + ", ".join(dict.fromkeys(twice))
        )

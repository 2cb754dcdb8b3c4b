"""Decoding of incoming objects: they are checked for unknown fields and brought into the form that is stored.

For built-in kinds, the effect is that of Go's decoder on a typed object; for custom resources, it is that of structural
schemas (pruning, then defaulting).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final, cast

import msgspec

from setpoint.apiserver.errors import ApiStatusError, bad_request, invalid
from setpoint.apiserver.objects.go_form import complete, shorten
from setpoint.apiserver.objects.metadata import clean
from setpoint.apiserver.requests import go_type_messages
from setpoint.apiserver.requests.body import check_size, decode_text, delays_others, media_type, parse_document
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.requests.type_errors import empty_nulls, may_have_floats, type_errors
from setpoint.apiserver.resources.builtin_schemas import built_in_schemas
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.meta import GroupKind, GroupVersion, GroupVersionKind
from setpoint.meta.duplicate_key import RepeatedKey
from setpoint.meta.json_values import whole_numbers
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
)
from setpoint.schema.errors import OMITTED

JsonObject = dict[str, Any]
_NO_HEAD: Final = "couldn't get version/kind; json parse error: "
_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
SCHEME: Final = "pkg/runtime/scheme.go:111"


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
    except ValueError as error:
        text = str(error)
        if not text.startswith(("yaml: ", "provided data ")):
            text = f"{_NO_HEAD}{text}"
        raise _unrecognized(kind, text, body) from None
    if problem := head_problem(value):
        raise _unrecognized(kind, problem, body)
    return {} if value is None else value, duplicates


def _unrecognized(kind: str, problem: str, body: bytes) -> ApiStatusError:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {problem} ({decode_text(body)})")


def head_problem(value: Any) -> str:
    """The reason for which Go's decoder can't read ``apiVersion`` and ``kind`` of a document; empty if it can."""
    if value is None:
        return ""
    if not isinstance(value, dict):
        return f"{_NO_HEAD}json: cannot unmarshal {go_kind(value)} into Go value of type {_TYPE_META}"
    for field in ("kind", "apiVersion"):
        if not isinstance(value.get(field), str | None):
            sort = go_kind(value[field])
            return f"{_NO_HEAD}json: cannot unmarshal {sort} into Go struct field .{field} of type string"
    version = value.get("apiVersion") or ""
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else ""


def read_typed(call: Call, kind: GroupVersionKind, options: WriteOptions, *, older: tuple[str, ...] = ()) -> JsonObject:
    """The request's body as an object of a built-in kind that is never stored; its values have the right types, and
    unknown fields are dropped.

    ``older`` are API versions in which the kind has the same form. Raises ApiStatusError.
    """
    document, repeated = read_document(call, kind.kind)
    fit_kind(call, document, kind, older=older)
    typed(document, kind, call.request.body or b"")
    check_fields(call, kind_schema(kind), document, options.field_validation, repeated, not_handled(kind))
    return document


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
    group_version = GroupVersion.parse(version)
    reason = why_not(call, kind.group, kind.kind, group_version, kind_name)
    prefix = f'{kind_name} in version "{group_version.version}" cannot be handled as a {kind.kind}'
    raise malformed(prefix, reason, patch)


def typed(
    document: JsonObject, kind: GroupVersionKind, raw: bytes, *, patch: bool = False, strategic: bool = False
) -> None:
    """Removes nulls from the document (in place), as Go's decoder does. ``raw`` is the text from which it was
    decoded; ``strategic`` is as for `coerce`.

    Raises ApiStatusError (400; 422 for the result of a ``patch``) if a value does not have the type that ``kind``
    requires. Missing fields are not checked here.
    """
    schema = kind_schema(kind)
    problem, _ = type_errors(kind, schema, document, raw)
    if problem:
        raise mistyped(not_handled(kind), problem, raw, patch, strategic)
    empty_nulls(schema, document)


def kind_schema(kind: GroupVersionKind) -> Schema:
    return built_in_schemas()[definition_name(kind)]


def not_handled(kind: GroupVersionKind) -> str:
    """The beginning of an error message about an object that is not of its ``kind``."""
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'


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
    coercion = partial(coerce, call, served, validation=validation, duplicates=duplicates)
    return coerced(call, served, obj, coercion)


def check_kind(call: Call, served: ServedResource, obj: JsonObject) -> None:
    """Checks that the object is of the kind and version in the URL; in an object of a built-in kind, sets them if they
    are missing. Raises ApiStatusError: 400, or 422 for a custom object of a different kind or group.
    """
    resource = served.resource
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if served.custom and not kind:
        body = call.request.body or b""
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object 'Kind' is missing in "
            f"'{body.decode(errors='replace')}' ({decode_text(body)})"
        )
    if not kind:
        obj["kind"] = kind = resource.kind
    if not version and not served.custom:
        obj["apiVersion"] = version = resource.api_version
    if (version, kind) == (resource.api_version, resource.kind):
        return
    group_version = GroupVersion.parse(version or "")
    is_other_version = group_version.group == resource.group and kind == resource.kind
    if (served.custom and version != resource.api_version) or (
        not served.custom and is_other_version and _is_registered(call, group_version, kind)
    ):
        expected = f"the expected API version ({resource.api_version})"
        raise bad_request(f"the API version in the data ({version or ''}) does not match {expected}")
    prefix = f'{kind} in version "{group_version.version}" cannot be handled as a {resource.kind}: '
    if served.custom:
        name = (obj.get("metadata") or {}).get("name", "") if isinstance(obj.get("metadata"), dict) else ""
        wrong = FieldError(ErrorType.INVALID, "kind", f"must be {resource.kind}", kind)
        raise invalid(GroupKind(resource.group, kind), name, [wrong])
    reason = why_not(call, resource.group, resource.kind, group_version, kind, "pkg/api/legacyscheme/scheme.go:30")
    raise bad_request(prefix + reason)


def why_not(call: Call, group: str, wanted: str, group_version: GroupVersion, kind: str, scheme: str = SCHEME) -> str:
    """The reason why an object of a different kind can't be used as the built-in kind ``wanted`` of ``group``.
    ``scheme`` is the place in upstream that says so.
    """
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
    strategic: bool = False,
    applied: bool = False,
    settled: Collection[str] = (),
) -> None:
    """Brings ``obj`` (in place) into the form that handlers work with. Unknown and repeated fields are dropped;
    ``validation`` says whether they are errors (``Strict``), lead to warnings (``Warn``), or are ignored (``Ignore``).

    Raises ApiStatusError (400; 422 if the object is the result of a ``patch``, which may be a ``strategic`` merge
    patch). ``applied``: the object is the result of a server-side apply. The fields ``settled`` are as they are stored,
    so only defaults are missing in them.
    """
    resource = served.resource
    prefix, raw = not_handled(resource.gvk), call.request.body or b""
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = obj["metadata"] = {}
    if not isinstance(metadata, dict):
        place = "value" if served.custom else f"struct field {resource.kind}.metadata"
        problem = f"json: cannot unmarshal {go_kind(metadata)} into Go {place} of type v1.ObjectMeta"
    else:
        problem, call.missing = type_errors(None if served.custom else resource.gvk, served.schema, obj, raw)
    if problem:
        raise mistyped(prefix, problem, raw, patch, strategic)
    rest = {name: obj.pop(name) for name in settled if name in obj}  # nulls are gone by now
    check_fields(call, served.schema, obj, validation, duplicates, prefix, patch=patch)
    if served.custom and applied:
        obj.update(rest)
        fill_defaults(served.schema, obj)  # as upstream, which refuses the nulls that an apply may leave
    elif served.custom:
        obj.update(rest)
        apply_defaults(served.schema, obj)
    else:
        try:
            if shorten(served, obj):
                drop_nulls(OBJECT_META, metadata)
            else:
                drop_nulls(served.schema, obj)
            obj.update(rest)
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
) -> None:
    """Drops the unknown fields of ``obj``. Depending on ``validation``, these fields and the ``duplicates`` (texts
    about the fields that occur twice) are errors, lead to warnings, or are ignored; ``prefix`` is the beginning of an
    error message.

    Raises ApiStatusError (400; 422 if the object is the result of a ``patch``).
    """
    unknown = prune(schema, obj)
    if not unknown and not duplicates:
        return
    if patch:  # whose result upstream reads in the order of the alphabet
        unknown.sort()
    elif call.served.custom:  # whose metadata are decoded first
        unknown.sort(key=lambda path: (not path.startswith("metadata."), path))
    repeated = [text for text in duplicates if isinstance(text, RepeatedKey)]
    others = [text for text in duplicates if not isinstance(text, RepeatedKey)]
    strict = [f'unknown field "{path}"' for path in unknown]
    strict = others + strict if patch else strict + others
    if (strict or repeated) and validation == "Strict":
        texts = [*(["\n  ".join(("yaml: unmarshal errors:", *repeated))] if repeated else []), *strict]
        raise malformed(prefix, f"strict decoding error: {', '.join(texts)}", patch)
    strict = [*repeated, *strict]
    if strict and validation == "Warn":
        for text in strict:
            call.warn(text)


def mistyped(prefix: str, problem: str, raw: bytes, patch: bool, strategic: bool) -> ApiStatusError:
    """The error for a ``problem`` of Go's decoder; in the words of its converter for a ``strategic`` merge patch."""
    if strategic:
        problem = go_type_messages.restored(problem, whole=not may_have_floats(raw))
    return malformed(prefix, problem, patch)


def malformed(prefix: str, problem: str, patch: bool) -> ApiStatusError:
    """The error for a document that is not of its kind: 400, or 422 if it is the result of a ``patch``."""
    return PatchedWrong(problem) if patch else bad_request(f"{prefix}: {problem}")


class PatchedWrong(ApiStatusError):
    """The result of a patch is not a valid object (422). The message shows ``quoted`` if it is not empty: what upstream
    quotes, which is the whole result, or a strategic merge patch.
    """

    def __init__(self, problem: str, quoted: str = "") -> None:
        error = FieldError(ErrorType.INVALID, "patch", problem, quoted or OMITTED)
        status = invalid(GroupKind("", ""), "", [error]).status
        super().__init__(422, "Invalid", status["message"], status["details"])
        self.problem = problem
        self.is_quoted = bool(quoted)


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

"""Objects as they come in: decoded, checked for fields that nobody knows, brought into the form that is stored.

For built-in kinds this does what Go's decoder does to a typed object, for custom resources what structural schemas ask
for (pruning, then defaulting).
"""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.body import check_size, decode_text, media_type, parse_document
from setpoint.apiserver.call import Call
from setpoint.apiserver.errors import ApiStatusError, bad_request, invalid
from setpoint.apiserver.metadata import clean
from setpoint.apiserver.registry import Served
from setpoint.apiserver.typing_check import type_errors
from setpoint.meta import GroupKind, GroupVersion
from setpoint.schema import ErrorType, apply_defaults, drop_nulls, prune
from setpoint.schema.errors import OMITTED

__all__ = ["coerce", "dedupe_owners", "read_document", "read_object"]

JsonObject = dict[str, Any]


def read_document(call: Call, kind: str) -> tuple[JsonObject, list[str]]:
    """The request's body, a JSON or YAML object, and its repeated fields. ``kind`` is what it should be.

    Raises ApiStatusError: 400, 413 or 415.
    """
    body = call.request.body or b""
    check_size(body)
    media = media_type(call.request.headers)
    try:
        value, duplicates = parse_document(body, media)
        if not isinstance(value, dict):
            raise ValueError("json parse error: an object is needed")
    except ValueError as problem:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
            f"{problem} ({decode_text(body)})"
        ) from None
    return value, duplicates


def read_object(call: Call, served: Served, validation: str) -> JsonObject:
    """The object in the request's body, in the form in which it is worked with. Raises ApiStatusError."""
    obj, duplicates = read_document(call, served.resource.kind)
    check_kind(call, served, obj)
    coerce(call, served, obj, validation, duplicates)
    return obj


def check_kind(call: Call, served: Served, obj: JsonObject) -> None:
    """Makes sure that the object is of the kind and version that the URL speaks of. Raises ApiStatusError (400)."""
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
    if not version:
        obj["apiVersion"] = version = resource.api_version
    if not isinstance(kind, str) or not isinstance(version, str) or version.count("/") > 1:
        raise bad_request("couldn't get version/kind; apiVersion must be GROUP/VERSION or VERSION, kind a name")
    if version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    if kind != resource.kind:
        short = GroupVersion.parse(version).version
        raise bad_request(
            f'{kind} in version "{short}" cannot be handled as a {resource.kind}: '
            f"the kind in the data ({kind}) does not match the expected kind ({resource.kind})"
        )


def coerce(
    call: Call, served: Served, obj: JsonObject, validation: str, duplicates: list[str], *, patch: bool = False
) -> None:
    """Brings ``obj`` (in place) into the form in which it is worked with; unknown fields go, as ``validation`` says.

    Raises ApiStatusError (400; 422 where the object is the result of a ``patch``).
    """
    resource = served.resource
    what = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = obj["metadata"] = {}
    if not isinstance(metadata, dict):
        problem = f"json: cannot unmarshal into Go struct field {resource.kind}.metadata of type v1.ObjectMeta"
    else:
        problem, call.missing = type_errors(served, obj, call.request.body or b"")
    if problem:
        raise _malformed(f"{what}: {problem}", patch)
    unknown = prune(served.schema, obj)
    strict = [f'unknown field "{path}"' for path in unknown] + [f'duplicate field "{path}"' for path in duplicates]
    if strict and validation == "Strict":
        raise _malformed(f"{what}: strict decoding error: {', '.join(strict)}", patch)
    if strict and validation == "Warn":
        for text in strict:
            call.warn(text)
    if served.custom:
        apply_defaults(served.schema, obj)
    else:
        drop_nulls(served.schema, obj)
    clean(metadata)
    served.strategy.default(obj)


def _malformed(message: str, patch: bool) -> ApiStatusError:
    if not patch:
        return bad_request(message)
    from setpoint.schema.errors import FieldError

    return invalid(GroupKind("", ""), "", [FieldError(ErrorType.INVALID, "patch", message, OMITTED)])


def dedupe_owners(call: Call, metadata: JsonObject) -> None:
    """Drops owner references that are given twice, with a warning."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Any] = []
    twice: list[str] = []
    for owner in owners:
        if owner in kept:
            twice.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if twice:
        metadata["ownerReferences"] = kept
        call.warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and "
            "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            + ", ".join(twice)
        )

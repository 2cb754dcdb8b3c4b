"""GET of one object or of a list, with selectors, pages, and reads at a revision."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from setpoint.apiserver.errors import bad_request, expired, too_large_resource_version
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.go_type_messages import bad_byte
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.storage import Compacted, Record
from setpoint.apiserver.verbs.selection import Matcher

_AT_ONCE = 500
_STANDARD = str.maketrans("-_", "+/")
_EXPIRED = "The resourceVersion for the provided list is too old."
_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def get(call: Call) -> Response:
    """The response with one object. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    served = call.served
    if call.query.pairs:
        if call.query.flag("export"):
            raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
        version = ListOptions(resource_version=call.query.get("resourceVersion", "")).revision
        if version > call.storage.revision:
            raise too_large_resource_version(version, call.storage.revision)
    record = call.existing()
    return shape.document(call, shape.item(call, call.versions.encoded(served, record, read=True)))


def list_objects(call: Call) -> Response:
    """The response with all matching objects, or a page of them. Raises ApiStatusError."""
    shape = Representation.negotiate(call)
    records, metadata = select(call, ListOptions.parse(call.query))
    served = call.served
    if served.stored_as is served and not served.schema_since and not served.siblings:
        values = [record.value for record in records]
    else:
        values = call.versions.encoded_all(served, records)
    return shape.document(call, shape.items(call, values, metadata))


def select(call: Call, options: ListOptions) -> tuple[list[Record], dict[str, Any]]:
    """The records of a list, and the list's metadata. Raises ApiStatusError: 400, 410 or 504.

    All pages show the revision of the first page, if the client takes less than five minutes and the history reaches
    back that far.
    """
    storage, served = call.storage, call.served
    revision = storage.revision
    at, start = _position(options, revision)
    try:
        if at is not None and at < call.state.compaction.floor:
            raise Compacted(at, call.state.compaction.floor)
        first = start if served.resource.namespaced or not start else f"/{start}"
        records, _ = storage.scan_from(first, served.collection, call.path.namespace or None, at=at)
    except Compacted:
        if not start:
            raise expired(_EXPIRED) from None
        raise expired(_INCONSISTENT, continue_=_token(start, -1)) from None
    matcher = Matcher.of(call, options)
    if call.path.name:  # a list of one, as a watch by name begins with
        records = (record for record in records if record.name == call.path.name)
    metadata: dict[str, Any] = {"resourceVersion": str(revision if at is None else at)}
    matching = records if matcher.everything else _matching(call, matcher, records)
    if matcher.shards is not None and not served.custom:  # upstream's lists of custom resources have no place for it
        metadata["shardInfo"] = {"selector": str(matcher.shards)}
    limit = _limit(options)
    if not limit:
        return list(matching), metadata
    page = list(islice(matching, limit))
    if len(page) == limit and not matcher.one_name:
        # As upstream, another page follows if there are objects after this one, whether or not they match.
        after = _key(page[-1]) + "\0"
        first = after if served.resource.namespaced else f"/{after}"
        if remaining := storage.scan_from(first, served.collection, call.path.namespace or None, at=at)[1]:
            metadata["continue"] = _token(after, int(metadata["resourceVersion"]))
            if matcher.everything:
                metadata["remainingItemCount"] = remaining
    return page, metadata


def _limit(options: ListOptions) -> int:
    """The number of objects on a page; 0 for a list without pages, as upstream serves one of version 0."""
    return 0 if options.resource_version == "0" else max(0, options.limit)


def _matching(call: Call, matcher: Matcher, records: Iterator[Record]) -> Iterator[Record]:
    """The records that match. If a webhook converts them, it is asked about many at a time."""
    asks = call.served.asks and matcher.decodes
    while some := list(islice(records, _AT_ONCE)):
        if asks:
            call.versions.encoded_all(call.served, some)
        for record in some:
            if matcher.matches(record.value, call.versions):
                yield record


def _position(options: ListOptions, revision: int) -> tuple[int | None, str]:
    """The revision to read at (None: now), and the key at which to start."""
    if options.continue_:
        start, at = _parse_token(options.continue_)
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        if at > revision:
            raise too_large_resource_version(at, revision)
        return (at if at > 0 else None), start
    wanted = options.revision
    if wanted > revision:
        raise too_large_resource_version(wanted, revision)
    exact = options.resource_version_match == "Exact" or (
        not options.resource_version_match and options.limit > 0 and wanted > 0
    )
    return (wanted if exact else None), ""


def _key(record: Record) -> str:
    return f"{record.namespace}/{record.name}" if record.namespace else record.name


def _token(start: str, revision: int) -> str:
    raw = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _parse_token(token: str) -> tuple[str, int]:
    problem = "invalid continue token: continue key is not valid"
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        parts = msgspec.json.decode(raw, type=dict[str, str | int])
    except binascii.Error:
        place = bad_byte(token.translate(_STANDARD))
        raise bad_request(f"{problem}: illegal base64 data at input byte {place}") from None
    except (ValueError, msgspec.DecodeError) as error:
        raise bad_request(f"{problem}: {error}") from None
    start, revision = parts.get("start"), parts.get("rv")
    if parts.get("v") != "meta.k8s.io/v1":
        raise bad_request(f"{problem}: server does not recognize this encoded version {parts.get('v', '')}")
    if not isinstance(revision, int) or revision == 0:
        raise bad_request(f"{problem}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start or ".." in start.split("/"):
        raise bad_request(f"{problem}: encoded start key empty (version meta.k8s.io/v1)")
    return start, revision

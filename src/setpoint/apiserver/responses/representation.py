"""The form of a response, which the Accept header selects: whole objects, a table, or only metadata, in JSON, YAML or
protobuf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, cast

import msgspec
from msgspec import Raw, Struct

from setpoint.apiserver.errors import ApiStatusError, bad_request, no_representation, not_acceptable
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.requests.accept import MEDIA_TYPES, Media, accepted, has_representation, media_of
from setpoint.apiserver.requests.body import JSON_TYPE
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.meta.managed_fields import without_managed_fields
from setpoint.schema.errors import invalid

Form = Literal["object", "table", "partial"]
_META_VERSIONS: Final = ("v1", "v1beta1")
_STREAMS: Final = tuple(f"{MEDIA_TYPES[media]};stream=watch" for media in ("json", "protobuf"))
_PARTIAL: Final = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%s","metadata":%s}'


class _RawMetadata(Struct):
    metadata: Raw


_raw_metadata = msgspec.json.Decoder(_RawMetadata)


def respond(
    document: Any, status: int = 200, *, warnings: Sequence[str] = (), media: Media = "json", pretty: bool = False
) -> Response:
    """A response in the format ``media``. ``document`` consists of plain JSON values or, if it is bytes, of JSON text;
    ``pretty`` indents JSON. The ``warnings`` become a Warning header.
    """
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    if media == "yaml":
        from setpoint.meta.yaml_text import to_yaml

        body = to_yaml([_opened(body)], sort_keys=True).encode()  # sorted, as Go's writer does
    elif media == "protobuf":
        from setpoint.apiserver.responses import protobuf

        body = protobuf.encode(_opened(body))
    elif pretty:
        body = msgspec.json.format(body, indent=2)
    elif not body.endswith(b"\n"):
        body += b"\n"  # as Go's encoder ends a value
    headers = {"content-type": MEDIA_TYPES[media], "cache-control": "no-cache, private"}
    if warnings:
        headers["warning"] = warning_header(warnings)
    return Response(status, headers, body)


def warning_header(warnings: Iterable[str]) -> str:
    """The value of a Warning header, whose texts are quoted strings (RFC 9110, 5.6.4)."""
    texts = (text.replace("\\", "\\\\").replace('"', '\\"') for text in warnings)
    return ", ".join(f'299 - "{text}"' for text in texts)


def _opened(body: bytes) -> dict[str, Any]:
    """The decoded document; the items of a list stay raw and are decoded one by one when they are needed."""
    document: dict[str, Any] = {}
    for key, value in msgspec.json.decode(body, type=dict[str, Raw]).items():
        document[key] = msgspec.json.decode(value, type=list[Raw] if key == "items" and _is_list(value) else Any)
    return document


def _is_list(value: Raw) -> bool:
    return bytes(value).startswith(b"[")


class Representation(msgspec.Struct, frozen=True):
    """The form of a response. ``version`` is the meta.k8s.io version of tables and metadata; ``include`` says how much
    of the object each row of a table contains (``None``, ``Metadata`` or ``Object``).
    """

    form: Form = "object"
    version: str = "v1"
    media: Media = "json"
    pretty: bool = False
    include: str = "Metadata"
    wanted: str = ""
    """For metadata alone, the requested kind (``PartialObjectMetadata`` or its list); otherwise empty."""

    drops_managed_fields: bool = False
    """Whether objects are sent without managedFields (KEP-5958). Tables are not changed."""

    @classmethod
    def negotiate(cls, call: Call, *, stream: bool = False, tables: bool = True) -> Representation:
        """The representation that the request accepts. Raises ApiStatusError (406, or 400 for bad options).

        ``tables`` says whether the object can be shown as a table; an object that is returned but never stored can't.
        """
        accept = call.request.headers.get("accept", "")
        pretty = call.query.get("pretty", "") not in ("", "0", "false") if call.query.pairs else False
        if not pretty and (usual := _USUAL.get(accept)) is not None:
            return usual
        if not call.served.custom and not has_representation(accept, MEDIA_TYPES.values()):
            lists = call.request.method == "GET" and not call.path.name
            raise no_representation([*MEDIA_TYPES.values(), *(_STREAMS if lists else ())])
        for clause in accepted(accept):
            media, parameters = media_of(clause), clause.parameters
            if media is None or parameters.get("stream", "watch") != "watch":
                continue
            if media == "yaml" and stream:
                raise not_acceptable(_STREAMS)
            wanted = parameters.get("as")
            drops = _MANAGED_FIELDS in parameters.get("drop", "").split("+")  # other fields in it are ignored
            if wanted is None:
                if media == "protobuf" and call.served.custom:
                    continue
                pretty = pretty or parameters.get("pretty") == "1"
                return cls(media=media, pretty=pretty, drops_managed_fields=drops)
            version = parameters.get("v", "v1")
            if parameters.get("g") != "meta.k8s.io" or version not in _META_VERSIONS:
                continue
            if wanted == "Table" and tables and media != "protobuf":
                include = call.query.get("includeObject", "Metadata") or "Metadata"
                if include not in ("None", "Metadata", "Object"):
                    wrong = invalid("includeObject", include, "must be 'Metadata', 'Object', 'None', or empty")
                    raise bad_request(f"Unable to convert to Table as requested: {wrong}")
                return cls("table", version, media, pretty, include)
            if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return cls("partial", version, media, pretty, wanted=wanted, drops_managed_fields=drops)
        raise not_acceptable(MEDIA_TYPES.values())

    def single(self, call: Call, value: bytes, *, status: int = 200) -> Response:
        """A response with one object; ``value`` is the object as it is stored."""
        return self.document(call, self.item(call, call.versions.converted(call.served, value)), status=status)

    def document(self, call: Call, body: Any, *, status: int = 200) -> Response:
        """A response with a document that already has this form."""
        return respond(body, status, warnings=call.warnings, media=self.media, pretty=self.pretty)

    @property
    def stream_type(self) -> str:
        """The content type of a watch."""
        return f"{MEDIA_TYPES[self.media]};stream=watch" if self.media == "protobuf" else JSON_TYPE

    def event(self, type_: bytes, value: bytes) -> bytes:
        """One watch event, whose object is already in this form."""
        if self.media == "protobuf":
            from setpoint.apiserver.responses import protobuf

            return protobuf.frame(type_, value)
        return b'{"type":"%s","object":%s}\n' % (type_, value)

    def item(self, call: Call, value: bytes, *, headers: bool = True) -> bytes:
        """One object in this form; ``value`` is the object in the served version. Without ``headers``, a table has no
        column definitions. Raises ApiStatusError (406) if the request is for the metadata of a list.
        """
        if self.drops_managed_fields:
            value = without_managed_fields(value, _start_of_metadata(call.served))
        if self.form == "object":
            return value
        if self.form == "partial":
            if self.wanted != "PartialObjectMetadata":
                raise _not_of_that_kind(self.wanted, call.served, call.served.resource.kind, "not a list")
            return _PARTIAL % (self.version.encode(), bytes(_raw_metadata.decode(value).metadata))
        obj = decode(value)
        version = obj["metadata"].get("resourceVersion")
        return self.table(call, [obj], {"resourceVersion": version} if version else {}, headers=headers)

    def items(self, call: Call, values: Sequence[bytes], metadata: Mapping[str, Any]) -> bytes:
        """A list of objects in this form; ``values`` are the objects in the served version. Raises ApiStatusError (406)
        if the request is for the metadata of a single object.
        """
        served = call.served
        if self.form != "object":  # upstream does not copy it
            metadata = {name: value for name, value in metadata.items() if name != "shardInfo"}
        elif served.custom:
            metadata = {"continue": "", **metadata}  # upstream's lists of custom resources always have it
        if self.form == "table":
            return self.table(call, _decoded(values), metadata, whole=True)
        meta = msgspec.json.encode(metadata)
        if self.drops_managed_fields:
            position = _start_of_metadata(served)
            values = [without_managed_fields(value, position) for value in values]
        if self.form == "partial":
            if self.wanted != "PartialObjectMetadataList":
                raise _not_of_that_kind(self.wanted, served, served.list_kind, "a list")
            version = self.version.encode()
            raw = (bytes(_raw_metadata.decode(value).metadata) for value in values)
            parts = b",".join(_PARTIAL % (version, content) for content in raw)
            head = b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/%s","metadata":%s,"items":'
            items = (b"[", parts, b"]") if parts else (b"null",)  # as upstream
            return b"".join((head % (version, meta), *items, b"}\n"))
        head = b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":['
        start = head % (served.list_kind.encode(), served.resource.api_version.encode(), meta)
        return b"".join((start, _joined(served, values), b"]}\n"))

    def table(
        self,
        call: Call,
        objects: Iterable[Any],
        metadata: Mapping[str, Any],
        *,
        headers: bool = True,
        whole: bool = False,
    ) -> bytes:
        from setpoint.apiserver.responses.table import Include, table

        served = call.served
        document = table(
            served.resource,
            objects,
            columns=served.columns,
            include=cast("Include", self.include),
            now=call.now(),
            metadata=metadata,
            headers=headers,
            whole=whole,
            subresource="scale" if call.path.subresource == "scale" else "",
        )
        if self.version != "v1":
            version = document["apiVersion"] = f"meta.k8s.io/{self.version}"
            for row in document["rows"] or () if self.include == "Metadata" else ():
                row["object"]["apiVersion"] = version
        return msgspec.json.encode(document)


def _not_of_that_kind(wanted: str, served: ServedResource, kind: str, form: str) -> ApiStatusError:
    """The error (406) if the request is for the metadata of one object but the response is a list, or the reverse."""
    package = served.resource.group.partition(".")[0] or "core"
    go_type = f"unstructured.Unstructured{'List' if form == 'a list' else ''}" if served.custom else f"{package}.{kind}"
    return ApiStatusError(
        406, "NotAcceptable", f"you requested {wanted}, but the requested object is {form} (*{go_type})"
    )


def _start_of_metadata(served: ServedResource) -> int:
    """The position of the metadata in an object as it is stored."""
    return len(served.head) + len(b'"metadata":')


def _decoded(values: Sequence[bytes]) -> Iterator[Any]:
    """The decoded values, one after another, so they are not all in memory at once."""
    for value in values:
        yield decode(value)


def _joined(served: ServedResource, values: Sequence[bytes]) -> bytes:
    """The items of a list. As in upstream, those of built-in kinds have no apiVersion and kind; custom objects keep
    both.
    """
    if served.custom or not values:
        return b",".join(values)
    cut = len(served.head)
    return b"{" + b",{".join([value[cut:] for value in values])


_MANAGED_FIELDS: Final = "metadata.managedFields"
_PLAIN: Final = Representation()
_DROPPED: Final = f"{JSON_TYPE};drop={_MANAGED_FIELDS}"
_USUAL: Final = {
    **dict.fromkeys(("", "*/*", JSON_TYPE), _PLAIN),
    **dict.fromkeys((_DROPPED, f"{_DROPPED},{JSON_TYPE}"), Representation(drops_managed_fields=True)),
}
"""The representations for the Accept headers of most requests."""

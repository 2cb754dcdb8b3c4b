"""Request bodies: JSON, YAML or protobuf, of limited size, with the error messages of a kube-apiserver."""

from __future__ import annotations

import json
from typing import Any, Final

from setpoint.apiserver.depth_limit import TOO_DEEP, check_document
from setpoint.apiserver.errors import bad_request, request_entity_too_large, unsupported_media_type
from setpoint.apiserver.http_types import IncomingRequest
from setpoint.apiserver.requests import protobuf
from setpoint.schema import go_syntax_error, parse_json

MAX_BODY: Final = 3 * 1024 * 1024
LARGE: Final = 1 << 18
"""The number of bytes in a body from which on the time for it matters to other requests."""
JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"


def content_type(headers: Any) -> str:
    """The content type, without parameters; JSON if the header is missing."""
    value: str = headers.get("content-type", "")
    return value.partition(";")[0].strip().lower() or JSON_TYPE


def media_type(headers: Any) -> str:
    """The content type of a body that must be JSON, YAML or Kubernetes' protobuf. Raises ApiStatusError (415)."""
    kind = content_type(headers)
    if kind not in (JSON_TYPE, YAML_TYPE, protobuf.PROTOBUF_TYPE):
        raise unsupported_media_type((JSON_TYPE, YAML_TYPE, protobuf.PROTOBUF_TYPE))
    return kind


def delays_others(request: IncomingRequest) -> bool:
    """Whether others would wait for a request: it has a large body, and comes from the network. Requests from this
    process may be in virtual time, where threads would change the order of events.
    """
    return len(request.body or b"") > LARGE and getattr(request, "peer", None) is not None


def check_size(body: bytes) -> None:
    """Checks that the body is not too large. Raises ApiStatusError (413)."""
    if len(body) > MAX_BODY:
        raise request_entity_too_large(f"limit is {MAX_BODY}")


def parse_document(body: bytes, kind: str) -> tuple[Any, list[str]]:
    """The value in ``body``, whose media type is ``kind``, and a text about each field that occurs more than once; for
    YAML, a `RepeatedKey`.

    Raises:
        ValueError: the body is malformed or nested too deeply; the message says where.
    """
    document = _parse(body, kind)
    check_document(body, document[0])
    return document


def _parse(body: bytes, kind: str) -> tuple[Any, list[str]]:
    if kind == protobuf.PROTOBUF_TYPE:
        return protobuf.decode(body), []
    if kind != YAML_TYPE:
        return _json(body)
    if body[:1] == b"{":  # it takes less time to read it as JSON
        try:
            return _json(body)
        except NotJsonError:
            pass
    return _yaml(body)


class NotJsonError(ValueError):
    """The body is not JSON; it may be YAML."""


def _json(body: bytes) -> tuple[Any, list[str]]:
    try:
        value, repeated = parse_json(body)
    except json.JSONDecodeError as error:
        raise NotJsonError(go_syntax_error(error)) from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        raise ValueError(str(error)) from None
    return value, [f'duplicate field "{path}"' for path in repeated] if repeated else []


def _yaml(body: bytes) -> tuple[Any, list[str]]:
    from setpoint.meta.yaml_parser import parse_yaml  # which takes a while to import, and few send it

    return parse_yaml(body)


def decode_text(body: bytes) -> str:
    """The beginning of a body, for error messages, as the real server shows it: a JSON object as text, any other body
    in hexadecimal.
    """
    if not body:
        return "<empty>"
    excerpt = body[:30].decode("utf-8", "replace") if body[:1] == b"{" else body[:30].hex()
    return f"{excerpt} ..." if len(body) > 30 else excerpt


def parse_or_refuse(body: bytes, kind: str) -> tuple[Any, list[str]]:
    """Like `parse_document`, but raises ApiStatusError (400) instead of ValueError."""
    try:
        return parse_document(body, kind)
    except ValueError as problem:
        raise bad_request(str(problem)) from None

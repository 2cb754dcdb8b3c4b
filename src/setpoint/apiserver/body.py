"""Request bodies: JSON, YAML or protobuf, of bounded size, with the real server's complaints."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, Final

import msgspec

from setpoint.apiserver import protobuf
from setpoint.apiserver.errors import bad_request, request_entity_too_large, unsupported_media_type
from setpoint.apiserver.nesting import TOO_DEEP, check_document
from setpoint.schema import parse_json

__all__ = ["JSON_TYPE", "MAX_BODY", "YAML_TYPE", "content_type", "decode_text", "media_type", "parse_document"]

MAX_BODY: Final = 3 * 1024 * 1024
JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"
_MAX_NODES: Final = 1_000_000


def content_type(headers: Any) -> str:
    """Without parameters; JSON if the header is missing."""
    value: str = headers.get("content-type", "")
    return value.partition(";")[0].strip().lower() or JSON_TYPE


def media_type(headers: Any) -> str:
    """The content type of a body that must be JSON, YAML or Kubernetes' protobuf. Raises ApiStatusError (415)."""
    kind = content_type(headers)
    if kind not in (JSON_TYPE, YAML_TYPE, protobuf.PROTOBUF_TYPE):
        raise unsupported_media_type((JSON_TYPE, YAML_TYPE, protobuf.PROTOBUF_TYPE))
    return kind


def check_size(body: bytes) -> None:
    """Raises ApiStatusError (413)."""
    if len(body) > MAX_BODY:
        raise request_entity_too_large(f"limit is {MAX_BODY}")


def parse_document(body: bytes, kind: str) -> tuple[Any, list[str]]:
    """The value in ``body`` and the paths of the fields given more than once.

    Raises:
        ValueError: malformed, or nested too deeply; the message says where.
    """
    made = _parse(body, kind)
    check_document(body, made[0])
    return made


def _parse(body: bytes, kind: str) -> tuple[Any, list[str]]:
    if kind == protobuf.PROTOBUF_TYPE:
        return protobuf.decode(body), []
    if kind == YAML_TYPE and body[:1] != b"{":
        return _parse_yaml(body)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        try:
            return parse_json(body)  # other limits than the fast parser has, and better words
        except json.JSONDecodeError as error:
            if kind == YAML_TYPE:
                return _parse_yaml(body)
            raise ValueError(_go_syntax_error(error)) from None
        except RecursionError:
            raise ValueError(TOO_DEEP) from None
        except ValueError as error:
            raise ValueError(str(error or problem)) from None
    # A compact document that says nothing twice is the same after a round trip: most bodies pay for no second parser.
    if msgspec.json.encode(value) == body.rstrip():
        return value, []
    return value, _duplicates(body)


def _duplicates(body: bytes) -> list[str]:
    try:
        return parse_json(body)[1]
    except (ValueError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _go_syntax_error(error: json.JSONDecodeError) -> str:
    """As Go's decoder says it; where the text does not just end, with the place, which Go leaves out."""
    text, at = error.doc, error.pos
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated"):
        return "unexpected end of JSON input"
    wanted = {
        "Expecting value": "looking for beginning of value",
        "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after object key:value pair or array element",
        "Extra data": "after top-level value",
    }.get(error.msg, f"({error.msg})")
    return f"invalid character {text[at]!r} {wanted} (line {error.lineno}, column {error.colno})"


def decode_text(body: bytes) -> str:
    """The beginning of a body, for error messages, as the real server shows it."""
    if not body:
        return "<empty>"
    shown = body[:30].decode("utf-8", "replace") if body[:1] == b"{" else body[:30].hex()
    return f"{shown} ..." if len(body) > 30 else shown


def _parse_yaml(body: bytes) -> tuple[Any, list[str]]:
    import yaml

    try:
        text = body.decode("utf-8")
        loader = _loader()(text)
        try:
            value = loader.get_single_data()
            duplicates: list[str] = loader.duplicates
        finally:
            loader.dispose()
    except UnicodeDecodeError as problem:
        raise ValueError(f"yaml: invalid UTF-8 at byte {problem.start}") from None
    except yaml.MarkedYAMLError as problem:
        # As Go's reader counts: the first line is none, and where the grammar fails, it counts from 0.
        line = problem.problem_mark.line if problem.problem_mark else 0
        if line and type(problem).__name__ != "ParserError":
            line += 1
        where = f"line {line}: " if line else ""
        raise ValueError(f"yaml: {where}{problem.problem}") from None
    except (yaml.YAMLError, RecursionError) as problem:
        raise ValueError(f"yaml: {problem}") from None
    _check_expansion(value)
    return value, duplicates


def _check_expansion(value: Any) -> None:
    """Aliases may make a small text a huge document."""
    stack, count = [value], 0
    while stack:
        node = stack.pop()
        count += 1
        if count > _MAX_NODES:
            raise ValueError("yaml: document contains excessive aliasing")
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


_LOADER: list[Any] = []


def _loader() -> Any:
    """A loader that knows JSON's types only (no dates), gives every key as text, and notes repeated keys."""
    if _LOADER:
        return _LOADER[0]
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.duplicates: list[str] = []

        def construct_mapping(self, node: Any, deep: bool = True) -> dict[Hashable, Any]:
            self.flatten_mapping(node)
            made: dict[Hashable, Any] = {}
            for key_node, value_node in node.value:
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, str):
                    key = json.dumps(key) if isinstance(key, bool | int | float) else str(key)
                if key in made:
                    self.duplicates.append(key)
                made[key] = self.construct_object(value_node, deep=deep)
            return made

        def construct_yaml_map(self, node: Any) -> Any:
            made: dict[Any, Any] = {}
            yield made
            made.update(self.construct_mapping(node, deep=True))

    Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_yaml_map)
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    for tag in ("timestamp", "binary", "set", "omap", "pairs"):
        Loader.add_constructor(f"tag:yaml.org,2002:{tag}", base.construct_yaml_str)
    _LOADER.append(Loader)
    return Loader


def parse_or_refuse(body: bytes, kind: str) -> tuple[Any, list[str]]:
    """As `parse_document`, for bodies that are no objects of a kind. Raises ApiStatusError (400)."""
    try:
        return parse_document(body, kind)
    except ValueError as problem:
        raise bad_request(str(problem)) from None

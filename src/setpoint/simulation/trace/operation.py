"""Operation: the parts of a request that faults and traces use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from setpoint.apiserver.requests.path import parse_path
from setpoint.client.transport import Request
from setpoint.simulation.trace.history import Meta, label_of

_VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
READS: Final = frozenset({"get", "list", "watch"})


class _Body(msgspec.Struct, rename="camel"):
    metadata: Meta = msgspec.field(default_factory=Meta)
    preconditions: dict[str, str] | None = None


_body = msgspec.json.Decoder(_Body).decode


@dataclass(slots=True)
class Operation:
    """One request to a resource."""

    verb: str
    collection: str
    namespace: str
    name: str
    label: str
    subresource: str
    careful: bool
    """Whether the request has a precondition (a uid, a resourceVersion, or a ``test`` in a JSON Patch), so it is not
    expected to change a new object of the same name.
    """

    @property
    def is_read(self) -> bool:
        return self.verb in READS

    def stem(self) -> str:
        """The verb, the resource and the label. With a number, they are the name of the point at which the request is
        made (see `Trace.number`).
        """
        kind = f"{self.collection}/{self.subresource}" if self.subresource else self.collection
        return f"{self.verb} {kind} {self.label}".rstrip()

    @classmethod
    def of(cls, request: Request) -> Operation | None:
        """The parts of ``request``; None if its path is not that of a resource, as in discovery."""
        path = parse_path(request.path)
        if path is None or not path.resource:
            return None
        collection = f"{path.resource}.{path.group}" if path.group else path.resource
        verb = _VERBS.get(request.method, request.method.lower())
        name, label, careful = path.name, "", False
        if verb == "get" and not path.name:
            verb = (
                "watch"
                if path.watch or ("watch", "true") in request.query or ("watch", "1") in request.query
                else "list"
            )
        elif verb == "delete" and not path.name:
            verb = "deletecollection"
        elif verb == "patch" and request.headers.get("content-type", "").startswith("application/apply-patch"):
            verb = "apply"
        if request.body and verb not in READS:
            label, careful, name = _parse_body(request.body, verb, path.namespace, name)
        if not label:
            label = label_of(path.namespace, name, "") if name else path.namespace
        return cls(verb, collection, path.namespace, name, label, path.subresource, careful)


def _parse_body(raw: bytes, verb: str, namespace: str, name: str) -> tuple[str, bool, str]:
    try:
        if raw[:1] == b"[":  # a JSON patch guards itself with tests, if it does
            return "", b'"test"' in raw, name
        body = _body(raw)
    except msgspec.MsgspecError:
        return "", False, name
    meta = body.metadata
    careful = bool(meta.uid or meta.resource_version or body.preconditions)
    if verb == "create" and not name:
        name = meta.name
        if not name and meta.generate_name:
            return label_of(namespace, meta.generate_name, meta.generate_name), careful, ""
    if meta.generate_name:
        return label_of(namespace, name, meta.generate_name), careful, name
    return "", careful, name

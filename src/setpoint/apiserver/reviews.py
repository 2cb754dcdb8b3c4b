"""Questions that are asked by creating an object: who am I, may I. Nothing is stored.

Nobody is authenticated and everything is allowed here, and that is what these answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from setpoint.apiserver.call import Call
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.incoming import read_object
from setpoint.apiserver.options import WriteOptions
from setpoint.apiserver.representation import Representation

__all__ = ["REVIEWS"]

JsonObject = dict[str, Any]
_EVERYTHING: Final[JsonObject] = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def _review(status: Callable[[Call, JsonObject], JsonObject]) -> Callable[[Call], Response]:
    def answer(call: Call) -> Response:
        shape = Representation.negotiate(call)
        options = WriteOptions.parse(call.query, "CreateOptions")
        obj = read_object(call, call.served, options.field_validation)
        if call.admission is not None:
            resource = call.served.resource
            kind = (resource.group, resource.version, resource.kind)
            obj = call.admission.document(call.served, obj, options, subresource="", kind=kind)
        obj["metadata"].setdefault("creationTimestamp", None)
        obj["status"] = status(call, obj)
        return shape.document(call, msgspec.json.encode(obj), status=201)

    return answer


def _allowed(call: Call, obj: JsonObject) -> JsonObject:
    return {"allowed": True, "reason": "this server allows everything"}


def _rules(call: Call, obj: JsonObject) -> JsonObject:
    return _EVERYTHING


def _user(call: Call) -> JsonObject:
    user: JsonObject = {"username": call.user.name, "groups": list(call.user.groups)}
    if call.user.uid:
        user["uid"] = call.user.uid
    if call.user.extra:
        user["extra"] = {key: list(values) for key, values in call.user.extra.items()}
    return user


def _self(call: Call, obj: JsonObject) -> JsonObject:
    return {"userInfo": _user(call)}


def _token(call: Call, obj: JsonObject) -> JsonObject:
    return {"authenticated": False, "user": {}, "error": "this server issues no tokens and knows none"}


REVIEWS: Final[dict[str, Callable[[Call], Response]]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": _review(_allowed),
    "localsubjectaccessreviews.authorization.k8s.io": _review(_allowed),
    "subjectaccessreviews.authorization.k8s.io": _review(_allowed),
    "selfsubjectrulesreviews.authorization.k8s.io": _review(_rules),
    "selfsubjectreviews.authentication.k8s.io": _review(_self),
    "tokenreviews.authentication.k8s.io": _review(_token),
}

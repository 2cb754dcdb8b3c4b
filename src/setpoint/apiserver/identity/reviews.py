"""Questions that are asked by creating an object: who am I, may I. Nothing is stored.

Everybody is let in and everything is allowed here, and that is what these answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from setpoint.apiserver.answers.representation import Representation
from setpoint.apiserver.errors import bad_request, invalid
from setpoint.apiserver.http_types import Response, UserInfo
from setpoint.apiserver.identity.tokens import bearer
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.incoming import read_object
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.meta import GroupKind
from setpoint.schema.errors import invalid as invalid_field

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


def _shown(who: UserInfo) -> JsonObject:
    user: JsonObject = {"username": who.name, "groups": list(who.groups)}
    if who.uid:
        user["uid"] = who.uid
    if who.extra:
        user["extra"] = {key: list(values) for key, values in who.extra.items()}
    return user


def _self(call: Call, obj: JsonObject) -> JsonObject:
    return {"userInfo": _shown(call.user)}


def _token(call: Call, obj: JsonObject) -> JsonObject:
    spec = obj.get("spec") or {}
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    known = bearer(call.state, spec["token"], spec.get("audiences"))
    if known is None:
        return {"user": {}, "error": "invalid bearer token"}
    user, audiences = known
    return {"authenticated": True, "user": _shown(user), "audiences": audiences}


def _asked(call: Call, obj: JsonObject) -> JsonObject:
    spec = obj.get("spec") or {}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    problems = []
    if (resource is None) == (other is None):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        field = "spec" if resource is None else "spec.nonResourceAttributes"
        problems.append(invalid_field(field, None, text))
    if call.served.resource.kind != "SelfSubjectAccessReview" and not spec.get("user") and not spec.get("groups"):
        problems.append(invalid_field("spec.user", "", "at least one of user or group must be specified"))
    if problems:
        raise invalid(GroupKind("authorization.k8s.io", ""), "", problems)
    return _allowed(call, obj)


REVIEWS: Final[dict[str, Callable[[Call], Response]]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": _review(_asked),
    "localsubjectaccessreviews.authorization.k8s.io": _review(_asked),
    "subjectaccessreviews.authorization.k8s.io": _review(_asked),
    "selfsubjectrulesreviews.authorization.k8s.io": _review(_rules),
    "selfsubjectreviews.authentication.k8s.io": _review(_self),
    "tokenreviews.authentication.k8s.io": _review(_token),
}

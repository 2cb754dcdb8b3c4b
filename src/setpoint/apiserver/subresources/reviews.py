"""Reviews of tokens, of access and of the user's own identity. A review is returned in the response and never
stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from setpoint.apiserver.authorization.attributes import Attributes
from setpoint.apiserver.authorization.authorizer import Decision
from setpoint.apiserver.authorization.rbac import not_found
from setpoint.apiserver.authorization.role_rules import PolicyRule
from setpoint.apiserver.errors import bad_request, invalid
from setpoint.apiserver.http_types import Response, UserInfo
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import fit_namespace, read_object
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.subresources.review_selectors import selector_errors, unused_selectors
from setpoint.apiserver.verbs.managed_fields import track
from setpoint.meta import GroupKind
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid as invalid_field

JsonObject = dict[str, Any]
_LOCAL: Final = "LocalSubjectAccessReview"
_OWN: Final = "SelfSubjectAccessReview"
_UNION: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_OPEN: Final = "this server allows everything"
_EVERYTHING: Final = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), non_resource_urls=("*",)))


def _review(status: Callable[[Call, JsonObject], JsonObject]) -> Callable[[Call], Response]:
    def answer(call: Call) -> Response:
        shape = Representation.negotiate(call, tables=False)
        options = WriteOptions.parse(call.query, "CreateOptions")
        obj = read_object(call, call.served, options.field_validation)
        if call.admission is not None:
            resource = call.served.resource
            kind = (resource.group, resource.version, resource.kind)
            obj = call.admission.document(call.served, obj, options, subresource="", kind=kind)
        track(call, call.served, None, obj, options.field_manager)
        obj["status"] = status(call, obj)
        return shape.document(call, shape.item(call, msgspec.json.encode(obj)), status=201)

    return answer


def _access(call: Call, obj: JsonObject) -> JsonObject:
    kind, spec = call.served.resource.kind, obj.get("spec") or {}
    if kind == _LOCAL:
        fit_namespace(call, obj["metadata"])
    problems = _problems(call, kind, obj, spec)
    if problems:
        raise invalid(GroupKind("authorization.k8s.io", ""), "", problems)
    if kind == _LOCAL and (obj["metadata"].get("namespace") or "") != call.path.namespace:
        raise bad_request(f"spec.resourceAttributes.namespace must match namespace: {call.path.namespace}")
    if kind == _OWN:
        user = call.user
    else:
        extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
        user = UserInfo(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)
    decision = _decided(call, _attributes(user, spec))
    status: JsonObject = {"allowed": decision.allowed, **({"reason": decision.reason} if decision.reason else {})}
    if problem := unused_selectors(spec.get("resourceAttributes") or {}, "spec.resourceAttributes"):
        status["evaluationError"] = problem
    return status


def _problems(call: Call, kind: str, obj: JsonObject, spec: JsonObject) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    problems: list[FieldError] = []
    if (resource is None) == (other is None):
        bad_value = None if other is None else {"Path": other.get("path") or "", "Verb": other.get("verb") or ""}
        problems.append(invalid_field("spec", bad_value, _UNION))
    problems += selector_errors(resource or {}, "spec.resourceAttributes")
    if kind != _OWN and not spec.get("user") and not spec.get("groups"):
        problems.append(invalid_field("spec.user", "", "at least one of user or group must be specified"))
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    if kind == _LOCAL:
        metadata.pop("namespace", None)
    if metadata:
        text = "must be empty except for namespace" if kind == _LOCAL else "must be empty"
        problems.append(invalid_field("metadata", metadata, text))
    if kind == _LOCAL:
        namespace = obj["metadata"].get("namespace") or call.path.namespace
        obj["metadata"]["namespace"] = namespace
        if resource is not None and (resource.get("namespace") or "") != namespace:
            field, wrong = "spec.resourceAttributes.namespace", resource.get("namespace") or ""
            problems.append(invalid_field(field, wrong, "must match metadata.namespace"))
        if other is not None:
            bad_value = {"Path": other.get("path") or "", "Verb": other.get("verb") or ""}
            problems.append(
                invalid_field("spec.nonResourceAttributes", bad_value, "disallowed on this kind of request")
            )
    return problems


def _attributes(user: UserInfo, spec: JsonObject) -> Attributes:
    resource = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return Attributes(user, other.get("verb") or "", path=other.get("path") or "/")
    fields = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(user, *(resource.get(field) or "" for field in fields))


def _decided(call: Call, attributes: Attributes) -> Decision:
    authorizer = call.state.authorizer
    return Decision(True, _OPEN) if authorizer is None else authorizer.authorize(attributes)


def _rules(call: Call, obj: JsonObject) -> JsonObject:
    namespace = (obj.get("spec") or {}).get("namespace") or ""
    if not namespace:
        raise bad_request("no namespace on request")
    authorizer = call.state.authorizer
    error = ""
    rules: tuple[PolicyRule, ...] = _EVERYTHING
    if authorizer is not None:
        rule_list = authorizer.rules_for(call.user, namespace)
        rules, error = rule_list.rules, not_found(rule_list.missing)
    status: JsonObject = {
        "resourceRules": [_shown_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs or ()), "nonResourceURLs": list(rule.non_resource_urls)}
            for rule in rules
            if rule.non_resource_urls
        ],
        "incomplete": False,
    }
    obj |= {"metadata": {}, "spec": {}}  # upstream answers with an object of its own
    return {**status, "evaluationError": error} if error else status


def _shown_rule(rule: PolicyRule) -> JsonObject:
    document: JsonObject = {"verbs": list(rule.verbs or ())}
    for name, values in (
        ("apiGroups", rule.api_groups),
        ("resources", rule.resources),
        ("resourceNames", rule.resource_names),
    ):
        if values:
            document[name] = list(values)
    return document


def _user_document(info: UserInfo) -> JsonObject:
    user: JsonObject = {"username": info.name, "groups": list(info.groups)}
    if info.uid:
        user["uid"] = info.uid
    if info.extra:
        user["extra"] = {key: list(values) for key, values in info.extra.items()}
    return user


def _self(call: Call, obj: JsonObject) -> JsonObject:
    obj["metadata"] = {"creationTimestamp": call.timestamp()}
    return {"userInfo": _user_document(call.user)}


def _token(call: Call, obj: JsonObject) -> JsonObject:
    spec = obj.get("spec") or {}
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    try:
        user, audiences = call.state.token_users.user_of(spec["token"], spec.get("audiences") or (), call.now())
    except ValueError as problem:
        return {"user": {}, "error": str(problem)}
    return {"authenticated": True, "user": _user_document(user), "audiences": audiences}


REVIEWS: Final[dict[str, Callable[[Call], Response]]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": _review(_access),
    "localsubjectaccessreviews.authorization.k8s.io": _review(_access),
    "subjectaccessreviews.authorization.k8s.io": _review(_access),
    "selfsubjectrulesreviews.authorization.k8s.io": _review(_rules),
    "selfsubjectreviews.authentication.k8s.io": _review(_self),
    "tokenreviews.authentication.k8s.io": _review(_token),
}

"""Rules for priority and fairness: flow schemas and priority levels."""

from __future__ import annotations

import math
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.rules.rule_table import Check, Place, Row, at_least, between, named, needed, row
from setpoint.meta.names import dns1123_label, dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS: Final = {"ServiceAccount": "serviceAccount", "Group": "group", "User": "user"}
_MOST_ENTROPY: Final = 60
_EACH_NAMESPACE: Final = "each member of this list must be '*' or a DNS-1123 label; "


def _precedence(place: Place) -> list[FieldError]:
    value = place.value or 0
    if value <= 0:
        return [invalid(place.path, value, "must be a positive value")]
    if value > 10000:
        return [invalid(place.path, value, "must not be greater than 10000")]
    if value == 1 and place.obj["metadata"].get("name") != "exempt":
        return [invalid(place.path, value, "only the schema named 'exempt' may have matchingPrecedence 1")]
    return []


def _method(place: Place) -> list[FieldError]:
    kind = (place.value or {}).get("type", "")
    if place.value is None or kind in ("ByNamespace", "ByUser"):
        return []
    return [not_supported(f"{place.path}.type", {"Type": kind}, ("ByNamespace", "ByUser"))]


def _rule(place: Place) -> list[FieldError]:
    rule = place.value or {}
    if rule.get("resourceRules") or rule.get("nonResourceRules"):
        return []
    return [required(place.path, "at least one of resourceRules and nonResourceRules has to be non-empty")]


def _subject(place: Place) -> list[FieldError]:
    kind = place.value.get("kind", "")
    if kind not in _SUBJECTS:
        return [not_supported(f"{place.path}.kind", kind, ("Group", "ServiceAccount", "User"))]
    errors: list[FieldError] = []
    for other, name in _SUBJECTS.items():
        field_path, value = f"{place.path}.{name}", place.value.get(name)
        if other != kind:
            if value is not None:
                errors.append(forbidden(field_path, f"{name} is forbidden when subject kind is not '{other}'"))
        elif value is None:
            errors.append(required(field_path, f"{name} is required when subject kind is '{kind}'"))
        else:
            errors += _identity(value, field_path, account=kind == "ServiceAccount")
    return errors


def _identity(value: JsonObject, path: str, *, account: bool) -> list[FieldError]:
    name, namespace = value.get("name", ""), value.get("namespace", "")
    errors = [] if name else [required(f"{path}.name")]
    if account:
        if name and name != "*":
            errors += [invalid(f"{path}.name", name, text) for text in dns1123_subdomain(name)]
        if namespace:
            errors += [invalid(f"{path}.namespace", namespace, text) for text in dns1123_label(namespace)]
        else:
            errors.append(required(f"{path}.namespace", "must specify namespace for service account"))
    return errors


def _listed(need: str, others: str, supported: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    """A check that a list is not empty, that ``*`` is its only item if present, and that all other items are in
    ``supported`` (if ``known`` is empty, all items are accepted).
    """

    def check(place: Place) -> list[FieldError]:
        values = place.value or []
        if not values:
            return [required(place.path, need)]
        if "*" in values:
            text = f"if '*' is present, must not specify other {others}"
            return [invalid(place.path, values, text)] if len(values) > 1 else []
        return [not_supported(place.path, values, supported)] if supported and not set(values) <= set(supported) else []

    return check


_VERBS_LISTED = _listed("verbs must contain at least one value", "verbs", _VERBS)


def _namespaces(place: Place) -> list[FieldError]:
    values = place.value or []
    if not values and not place.holder.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        return [required(place.path, text)]
    if "*" in values:
        text = "if '*' is present, must not specify other namespaces"
        return [invalid(place.path, values, text)] if len(values) > 1 else []
    return [
        invalid(f"{place.path}[{index}]", name, _EACH_NAMESPACE + text)
        for index, name in enumerate(values)
        for text in dns1123_label(name)
    ]


def _urls(place: Place) -> list[FieldError]:
    values = place.value or []
    errors = _listed("nonResourceURLs must contain at least one value", "non-resource URLs")(place)
    if errors or "*" in values:
        return list(errors)
    for index, url in enumerate(values):
        field_path = f"{place.path}[{index}]"
        if not url:
            errors.append(invalid(field_path, url, "must not be empty"))
        elif url == "/":
            continue
        elif not url.startswith("/"):
            errors.append(invalid(field_path, url, "must start with slash"))
        elif " " in url:
            errors.append(invalid(field_path, url, "must not contain white-space"))
        elif "//" in url:
            errors.append(invalid(field_path, url, "must not contain double slash"))
        elif "*" in url and not (url.endswith("/*") and url.count("*") == 1):
            errors.append(invalid(field_path, url, "wildcard can only do suffix matching"))
    return list(errors)


def _level_type(place: Place) -> list[FieldError]:
    kind, exempt = place.value or "", place.obj["metadata"].get("name") == "exempt"
    errors: list[FieldError] = []
    if exempt != (kind == "Exempt"):
        errors.append(invalid(place.path, kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    spec, path = place.holder, place.path.rpartition(".")[0]
    if kind == "Exempt":
        if spec.get("limited") is not None:
            errors.append(forbidden(f"{path}.limited", ""))
    elif kind == "Limited":
        if spec.get("exempt") is not None:
            errors.append(forbidden(f"{path}.exempt", ""))
        if spec.get("limited") is None:
            errors.append(required(f"{path}.limited"))
    elif kind:
        errors.append(not_supported(place.path, kind, ("Exempt", "Limited")))
    else:
        errors.append(required(place.path))
    if kind not in ("Exempt", "Limited"):
        types = [name for name in ("limited", "exempt") if spec.get(name) is not None]
        errors += [forbidden(f"{path}.{name}", "") for name in types]
    return errors


def _entropy(queues: int, hand: int) -> int:
    """The number of hash bits consumed by choosing ``hand`` out of ``queues`` queues, as estimated by upstream."""
    return math.ceil(math.log2(queues) * hand)


def _response(place: Place) -> list[FieldError]:
    """The errors in ``limitResponse``, which defines how a priority level treats requests beyond its limit. For a level
    that is not of type ``Limited``, only the presence of ``type`` and ``queuing`` is checked.
    """
    spec, response = place.obj.get("spec") or {}, place.value or {}
    if spec.get("limited") is None:
        return []
    kind, queuing = response.get("type", ""), response.get("queuing")
    path = f"{place.path}.queuing"
    if kind == "Queue" and queuing is not None:
        return _queuing(queuing, path) if spec.get("type") == "Limited" else []
    errors = [required(path)] if kind == "Queue" else [] if queuing is None else [forbidden(path, "")]
    if not kind:
        errors.append(required(f"{place.path}.type"))
    elif kind not in ("Queue", "Reject") and spec.get("type") == "Limited":
        errors.insert(0, not_supported(f"{place.path}.type", kind, ("Queue", "Reject")))
    return errors


def _queuing(queuing: dict[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    queues, hand, length = (queuing.get(name, 0) for name in ("queues", "handSize", "queueLengthLimit"))
    if length <= 0:
        errors.append(invalid(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > 10_000_000:
        errors.append(invalid(f"{path}.queues", queues, "must not be greater than 10000000"))
    if hand <= 0:
        errors.append(invalid(f"{path}.handSize", hand, "must be positive"))
    elif hand > queues:
        text = f"should not be greater than queues ({queues})"
        errors.append(invalid(f"{path}.handSize", hand, text))
    elif queues > 0 and _entropy(queues, hand) > _MOST_ENTROPY:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than 60"
        errors.append(invalid(f"{path}.handSize", hand, text))
    return errors


def _of_type(part: str, check: Check) -> Check:
    """A check that applies ``check`` only if ``part`` (``exempt`` or ``limited``) belongs to the type of the priority
    level. `_level_type` refuses the other part as a whole.
    """

    def of(place: Place) -> list[FieldError]:
        return check(place) if (place.obj.get("spec") or {}).get("type") == part.title() else []

    return of


_SHARES: Final = at_least(0, "must be a non-negative integer")
_AT_LEAST_NONE: Final = at_least(0, "if specified, must be a non-negative integer")

RULES: Final[dict[str, tuple[Row, ...]]] = {
    "flowschemas.flowcontrol.apiserver.k8s.io": (
        row("spec.matchingPrecedence", _precedence),
        row("spec.distinguisherMethod", _method),
        row(
            "spec.priorityLevelConfiguration.name", needed("must reference a priority level"), named(dns1123_subdomain)
        ),
        row("spec.rules[].subjects", needed("subjects must contain at least one value")),
        row("spec.rules[].subjects[]", _subject),
        row("spec.rules[]", _rule),
        row("spec.rules[].resourceRules[].verbs", _VERBS_LISTED),
        row(
            "spec.rules[].resourceRules[].apiGroups",
            _listed("resource rules must supply at least one api group", "api groups"),
        ),
        row(
            "spec.rules[].resourceRules[].resources",
            _listed("resource rules must supply at least one resource", "resources"),
        ),
        row("spec.rules[].resourceRules[].namespaces", _namespaces),
        row("spec.rules[].nonResourceRules[].verbs", _VERBS_LISTED),
        row("spec.rules[].nonResourceRules[].nonResourceURLs", _urls),
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": (
        row("spec.type", _level_type),
        row("spec.limited.limitResponse", _response),
        *(row(f"spec.{part}.nominalConcurrencyShares", _of_type(part, _SHARES)) for part in ("exempt", "limited")),
        *(row(f"spec.{part}.lendablePercent", _of_type(part, between(0, 100))) for part in ("exempt", "limited")),
        row("spec.limited.borrowingLimitPercent", _of_type("limited", _AT_LEAST_NONE)),
    ),
}

"""Validation of a pod's placement and names: affinity, topology spread, tolerations, host names, name servers."""

from __future__ import annotations

import re
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.addresses import address_errors
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.node_selectors import node_selector_errors, node_term_errors
from setpoint.meta.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required, too_long

Errors = list[FieldError]
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WEIGHT: Final = "must be in the range 1-100"
_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_SEARCH_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    rf"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    rf"'{_LABEL}(\.{_LABEL})*')"
)


# -- affinity ---------------------------------------------------------------------------------------------------------


def affinity_errors(affinity: JsonObject | None, path: str) -> Errors:
    if not affinity:
        return []
    errors: Errors = []
    nodes, field_path = affinity.get("nodeAffinity") or {}, f"{path}.nodeAffinity"
    if nodes.get("requiredDuringSchedulingIgnoredDuringExecution") is not None:
        selector = nodes["requiredDuringSchedulingIgnoredDuringExecution"]
        errors += node_selector_errors(selector, f"{field_path}.requiredDuringSchedulingIgnoredDuringExecution")
    for index, term in enumerate(nodes.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        at = f"{field_path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        errors += _weight_errors(term, at)
        errors += node_term_errors(term.get("preference") or {}, f"{at}.preference", values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        pods, field_path = affinity.get(kind) or {}, f"{path}.{kind}"
        for index, term in enumerate(pods.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            errors += _pod_term_errors(term, f"{field_path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]")
        for index, term in enumerate(pods.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            at = f"{field_path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            errors += _weight_errors(term, at)
            errors += _pod_term_errors(term.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")
    return errors


def _weight_errors(term: JsonObject, path: str) -> Errors:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, _WEIGHT)]


def _pod_term_errors(term: JsonObject, path: str) -> Errors:
    errors = label_selector_errors(term.get("labelSelector"), f"{path}.labelSelector")
    errors += label_selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", name, text) for text in dns1123_label(name)]
    errors += _label_keys_errors(term, path)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + [invalid(f"{path}.topologyKey", key, text) for text in qualified_name(key)]


def _label_keys_errors(term: JsonObject, path: str) -> Errors:
    selector, match = term.get("labelSelector"), term.get("matchLabelKeys") or []
    errors: Errors = []
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(name) or []
        if keys and selector is None:
            errors.append(forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors += [invalid(f"{path}.{name}[{index}]", key, text) for text in qualified_name(key)]
    last = {key: index for index, key in enumerate(match)}
    previous = set(((selector or {}).get("matchLabels") or {}).keys())
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in last and key in previous:
            errors.append(invalid(f"{path}[{last[key]}]", key, "exists in both matchLabelKeys and labelSelector"))
        previous.add(key)
    mismatch = set(term.get("mismatchLabelKeys") or ())
    for index, key in enumerate(match):
        if key in mismatch:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(f"{path}.matchLabelKeys[{index}]", key, text))
    return errors


# -- spreading, tolerations -------------------------------------------------------------------------------------------


def spreading_errors(constraints: list[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    last = {
        (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")): index
        for index, constraint in enumerate(constraints or ())
    }
    for index, constraint in enumerate(constraints or ()):
        field_path, skew = f"{path}[{index}]", constraint.get("maxSkew", 0)
        if skew <= 0:
            errors.append(invalid(f"{field_path}.maxSkew", skew, "must be greater than zero"))
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if not key:
            errors.append(required(f"{field_path}.topologyKey", "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            allowed = ("DoNotSchedule", "ScheduleAnyway")
            errors.append(not_supported(f"{field_path}.whenUnsatisfiable", action, allowed))
        if last[key, action] > index:
            errors.append(duplicate(f"{field_path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        domains = constraint.get("minDomains")
        if domains is not None and domains <= 0:
            errors.append(invalid(f"{field_path}.minDomains", domains, "must be greater than zero"))
        if domains is not None and action != "DoNotSchedule":
            text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.append(invalid(f"{field_path}.minDomains", domains, text))
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(name)
            if policy is not None and policy not in ("Honor", "Ignore"):
                errors.append(not_supported(f"{field_path}.{name}", policy, ("Honor", "Ignore")))
        errors += _label_keys_errors({**constraint, "mismatchLabelKeys": None}, field_path)
        errors += label_selector_errors(constraint.get("labelSelector"), f"{field_path}.labelSelector")
    return errors


def toleration_errors(tolerations: list[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    for index, toleration in enumerate(tolerations or ()):
        field_path, key, operator = f"{path}[{index}]", toleration.get("key", ""), toleration.get("operator", "")
        value, effect = toleration.get("value", ""), toleration.get("effect", "")
        if key:
            errors += [invalid(f"{field_path}.key", key, text) for text in qualified_name(key)]
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{field_path}.operator", operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{field_path}.effect", effect, text))
        if operator in ("", "Equal"):
            problems = label_value(value)
            if problems:
                errors.append(invalid(f"{field_path}.operator", value, ";".join(problems)))
        elif operator == "Exists":
            if value:
                text = "value must be empty when `operator` is 'Exists'"
                errors.append(invalid(f"{field_path}.operator", value, text))
        else:
            allowed = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
            errors.append(not_supported(f"{field_path}.operator", operator, allowed))
        if effect and effect not in _EFFECTS:
            errors.append(not_supported(f"{field_path}.effect", effect, _EFFECTS))
    return errors


# -- names ------------------------------------------------------------------------------------------------------------


def resolving_errors(spec: JsonObject, path: str) -> Errors:
    """The errors in ``dnsPolicy`` and ``dnsConfig``."""
    config, field_path = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(field_path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{field_path}.nameservers", text)]
    if not config:
        return []
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    errors: Errors = []
    if len(servers) > 3:
        errors.append(invalid(f"{field_path}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        errors += address_errors(server, f"{field_path}.nameservers[{index}]")
    if len(searches) > 32:
        errors.append(invalid(f"{field_path}.searches", searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(invalid(f"{field_path}.searches", searches, text))
    for index, search in enumerate(searches):
        name = search if search == "." else search.removesuffix(".")
        at = f"{field_path}.searches[{index}]"
        if name != "." and len(name) > 253:
            errors.append(invalid(at, name, "must be no more than 253 characters"))
        if name != "." and not _SEARCH.fullmatch(name):
            errors.append(invalid(at, name, _SEARCH_RULE))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{field_path}.options[{index}]", "must not be empty"))
    return errors


def naming_errors(spec: JsonObject, path: str) -> Errors:
    """The errors in a pod's network names, and in the names of its service account and node."""
    errors: Errors = []
    override = spec.get("hostnameOverride")
    if override is not None:
        field_path = f"{path}.hostnameOverride"
        if spec.get("setHostnameAsFQDN"):
            errors.append(forbidden(field_path, "may not be specified when setHostnameAsFQDN is true"))
        if spec.get("hostNetwork"):
            errors.append(forbidden(field_path, "may not be specified when hostNetwork is true"))
        if len(override) > 64:
            errors.append(too_long(field_path, 64))
        errors += _name_errors(override, dns1123_subdomain, field_path)
    account = spec.get("serviceAccountName", "")
    errors += _name_errors(account, dns1123_subdomain, f"{path}.serviceAccountName") if account else []
    for name in ("nodeName", "hostname", "subdomain"):
        rule = dns1123_subdomain if name == "nodeName" else dns1123_label
        errors += _name_errors(spec[name], rule, f"{path}.{name}") if spec.get(name) else []
    return errors


def _name_errors(name: str, rule: Any, path: str) -> Errors:
    return [invalid(path, name, text) for text in rule(name)]

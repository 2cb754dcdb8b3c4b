"""Webhook configurations: defaults and validation (upstream's admissionregistration/validation).

The checks of a ``clientConfig`` are also used for the conversion webhooks of CRDs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from setpoint.apiserver.strategies.admission_configuration import AdmissionConfiguration
from setpoint.apiserver.strategies.conditions import condition_errors
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.apiserver.webhooks.responses import REVIEW_VERSIONS
from setpoint.meta.names import dns1035_label, dns1123_subdomain
from setpoint.meta.text import quote
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, invalid, not_supported, required
from setpoint.slices import pace

__all__ = [
    "WebhookConfigurations",
    "client_config_errors",
    "default_client_config",
    "review_version_errors",
    "rule_errors",
]

_FORM: Final = "; desired format: https://host[/path]"
_SCHEME: Final = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_NOT_OF_HOSTS: Final = frozenset(" \\^`{|}")
_OPERATIONS: Final = ("CONNECT", "CREATE", "DELETE", "UPDATE")


class WebhookConfigurations(AdmissionConfiguration):
    """Mutating or validating webhook configurations. The default failure policy is ``Fail``, and the default timeout is
    10 seconds.
    """

    def default(self, obj: JsonObject) -> None:
        for webhook in pace(obj.get("webhooks") or ()):
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("timeoutSeconds", 10)
            if self._mutating:
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in pace(webhook.get("rules") or ()):
                rule.setdefault("scope", "*")
            default_client_config(webhook.get("clientConfig"))

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        errors: list[FieldError] = []
        seen: set[str] = set()
        for index, webhook in enumerate(pace(obj.get("webhooks") or ())):
            path = f"webhooks[{index}]"
            name = webhook.get("name", "")
            errors += _webhook_errors(webhook, path)
            if name in seen:
                errors.append(duplicate(f"{path}.name", name))
            seen.add(name)
        return errors


def default_client_config(config: Any) -> None:
    """Sets (in place) the port of the service in a ``clientConfig`` to 443 if there is a service without a port."""
    service = config.get("service") if isinstance(config, dict) else None
    if isinstance(service, dict):
        service.setdefault("port", 443)


def _webhook_errors(webhook: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = webhook.get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        problems = dns1123_subdomain(name)
        errors += [invalid(f"{path}.name", name, text) for text in problems]
        if not problems and name.count(".") < 2:
            text = "should be a domain with at least three segments separated by dots"
            errors.append(invalid(f"{path}.name", name, text))
    errors += review_version_errors(webhook.get("admissionReviewVersions"), f"{path}.admissionReviewVersions")
    for index, rule in enumerate(pace(webhook.get("rules") or ())):
        errors += rule_errors(rule, f"{path}.rules[{index}]")
    for key, allowed in (
        ("failurePolicy", ("Fail", "Ignore")),
        ("matchPolicy", ("Equivalent", "Exact")),
        ("reinvocationPolicy", ("IfNeeded", "Never")),
    ):
        if key in webhook and webhook[key] not in allowed:
            errors.append(not_supported(f"{path}.{key}", webhook[key], allowed))
    effects = webhook.get("sideEffects")
    if effects is None:
        errors.append(required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        errors.append(not_supported(f"{path}.sideEffects", effects, ("None", "NoneOnDryRun")))
    timeout = webhook.get("timeoutSeconds", 10)
    if not 1 <= timeout <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, text))
    for key in ("namespaceSelector", "objectSelector"):
        errors += label_selector_errors(webhook.get(key), f"{path}.{key}")
    errors += client_config_errors(webhook.get("clientConfig"), f"{path}.clientConfig")
    return errors + condition_errors(webhook.get("matchConditions") or (), f"{path}.matchConditions")


def review_version_errors(versions: Any, path: str) -> list[FieldError]:
    """The errors in the versions of reviews; at least one of them must be supported."""
    known = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {known}")]
    errors: list[FieldError] = []
    again = set(repeats(versions))
    for index, version in enumerate(pace(versions)):
        if index in again:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{path}[{index}]", version, text) for text in dns1035_label(version)]
    if not {*versions} & {*REVIEW_VERSIONS}:
        errors.append(invalid(path, versions, f"must include at least one of {known}"))
    return errors


def rule_errors(rule: JsonObject, path: str) -> list[FieldError]:
    """The errors in an entry of ``rules`` or ``resourceRules``."""
    errors: list[FieldError] = []
    operations = rule.get("operations") or []
    if not operations:
        errors.append(required(f"{path}.operations"))
    elif "*" in operations and len(operations) > 1:
        text = "if '*' is present, must not specify other operations"
        errors.append(invalid(f"{path}.operations", operations, text))
    known = ("*", *_OPERATIONS)
    errors += [
        not_supported(f"{path}.operations[{index}]", name, known)
        for index, name in enumerate(pace(operations))
        if name not in known
    ]
    for key, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(key) or []
        if not values:
            errors.append(required(f"{path}.{key}"))
        elif "*" in values and len(values) > 1:
            errors.append(invalid(f"{path}.{key}", values, f"if '*' is present, must not specify other {what}"))
        if key == "apiVersions":
            errors += [required(f"{path}.{key}[{index}]") for index, value in enumerate(pace(values)) if not value]
    errors += _resource_errors(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope", "*")
    if scope not in ("Cluster", "Namespaced", "*"):
        errors.append(not_supported(f"{path}.scope", scope, ("*", "Cluster", "Namespaced")))
    return errors


def _resource_errors(resources: Sequence[str], path: str) -> list[FieldError]:
    if not resources:
        return [required(path)]
    errors: list[FieldError] = []
    wild_resources = {item.removeprefix("*/") for item in resources if item.startswith("*/")}
    wild_subresources = {item.removesuffix("/*") for item in resources if item.endswith("/*")}
    for index, item in enumerate(pace(resources)):
        where = f"{path}[{index}]"
        name, slash, sub = item.partition("/")
        if not item:
            errors.append(required(where))
            continue
        if slash and item != "*/*" and name in wild_subresources and sub != "*":
            errors.append(invalid(where, item, f"if '{name}/*' is present, must not specify {item}"))
        if slash and name != "*" and sub in wild_resources:
            errors.append(invalid(where, item, f"if '*/{sub}' is present, must not specify {item}"))
    if "*/*" in resources and len(resources) > 1:
        text = "if '*/*' is present, must not specify other resources"
        errors.append(invalid(path, list(resources), text))
    if "*" in resources and any("/" not in item for item in resources if item != "*"):
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, list(resources), text))
    return errors


def client_config_errors(config: Any, path: str) -> list[FieldError]:
    """The errors in a ``clientConfig``, in its url form or its service form."""
    config = config if isinstance(config, dict) else {}
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return _url_errors(url, f"{path}.url")
    errors: list[FieldError] = []
    for key, other in (("namespace", "name"), ("name", "namespace")):  # (upstream confuses them)
        if not service.get(key):
            errors.append(required(f"{path}.service.{other}"))
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{path}.service.port", port, text))
    return errors + _path_errors(service.get("path") or "", f"{path}.service.path")


def _path_errors(where: str, path: str) -> list[FieldError]:
    if where in ("", "/"):
        return []
    if where == "//":
        return [invalid(path, where, "segment[0] may not be empty")]
    errors = [] if where.startswith("/") else [invalid(path, where, "must start with a '/'")]
    for index, step in enumerate(where[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(invalid(path, where, f"segment[{index}] may not be empty"))
        else:
            errors += [invalid(path, where, f"segment[{index}]: {text}") for text in dns1123_subdomain(step)]
    return errors


def _url_problem(url: str) -> str:
    """The error that Go's URL parser reports; empty if the URL is valid."""
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in url):
        return "net/url: invalid control character in URL"
    address, _, fragment = url.partition("#")
    scheme = _SCHEME.match(address)
    rest = address[scheme.end() :] if scheme else address
    if not scheme and rest.startswith(":"):
        return "missing protocol scheme"
    if not rest.startswith("//"):
        if not scheme and ":" in rest.partition("/")[0]:
            return "first path segment in URL cannot contain colon"
        host, where = "", rest.partition("?")[0]
    else:
        host, slash, where = rest[2:].partition("?")[0].partition("/")
        where = slash + where
    return _host_problem(host.rpartition("@")[2]) or _escape_problem(where) or _escape_problem(fragment)


def _host_problem(host: str) -> str:
    name, port = (host, "") if host.startswith("[") else (host.partition(":")[0], host[len(host.partition(":")[0]) :])
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        if not bracket:
            return "missing ']' in host"
    if port and not (port.startswith(":") and (port[1:].isdecimal() or port == ":")):
        return f"invalid port {quote(port)} after host"
    wrong = next((character for character in name if character in _NOT_OF_HOSTS), "")
    return f"invalid character {quote(wrong)} in host name" if wrong else _escape_problem(name)


def _escape_problem(text: str) -> str:
    wrong = _ESCAPE.search(text)
    return f"invalid URL escape {quote(text[wrong.start() : wrong.start() + 3])}" if wrong else ""


def _url_errors(url: str, path: str) -> list[FieldError]:
    problem = _url_problem(url)
    if problem:
        return [required(path, f"url must be a valid URL: parse {quote(url)}: {problem}{_FORM}")]
    parts = urlsplit(url)
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not parts.hostname:
        errors.append(invalid(path, parts.netloc, f"host must be specified{_FORM}"))
    if parts.username is not None:
        errors.append(invalid(path, parts.username, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors

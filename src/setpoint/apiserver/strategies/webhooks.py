"""Webhook configurations: defaults and validation (upstream's admissionregistration/validation).

The checks of a ``clientConfig`` are also used for the conversion webhooks of CRDs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.admission_configuration import AdmissionConfiguration
from setpoint.apiserver.strategies.conditions import condition_errors
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.webhooks.responses import REVIEW_VERSIONS
from setpoint.meta.names import dns1035_label, dns1123_subdomain
from setpoint.meta.text_escaping import quote
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import duplicate, invalid, not_supported, required

_FORM: Final = "; desired format: https://host[/path]"
_SCHEME: Final = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_USER: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PORT: Final = re.compile("(?::[0-9]*)?")
_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_HOST_ESCAPE: Final = re.compile("%(?![89A-Fa-f][0-9A-Fa-f]|25)")
"""An escape that a host must not have: in hosts, only percent signs and characters beyond ASCII are escaped."""
_NOT_OF_HOSTS: Final = frozenset(" \\^`{|}")
_OPERATIONS: Final = ("CONNECT", "CREATE", "DELETE", "UPDATE")


class WebhookConfigurations(AdmissionConfiguration):
    """Mutating or validating webhook configurations. The default failure policy is ``Fail``, and the default timeout is
    10 seconds.
    """

    def default(self, obj: JsonObject) -> None:
        for webhook in obj.get("webhooks") or ():
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("timeoutSeconds", 10)
            if self._mutating:
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in webhook.get("rules") or ():
                rule.setdefault("scope", "*")
            default_client_config(webhook.get("clientConfig"))

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        errors: list[FieldError] = []
        names: set[str] = set()
        for index, webhook in enumerate(obj.get("webhooks") or ()):
            path = f"webhooks[{index}]"
            name = webhook.get("name", "")
            errors += _webhook_errors(webhook, path)
            if name in names:
                errors.append(duplicate(f"{path}.name", name))
            names.add(name)
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
    for index, rule in enumerate(webhook.get("rules") or ()):
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
    errors += condition_errors(webhook.get("matchConditions") or (), f"{path}.matchConditions")
    return errors + review_version_errors(webhook.get("admissionReviewVersions"), f"{path}.admissionReviewVersions")


def review_version_errors(versions: Any, path: str) -> list[FieldError]:
    """The errors in the versions of reviews; at least one of them must be supported."""
    versions_text = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {versions_text}")]
    errors: list[FieldError] = []
    again = set(repeats(versions))
    for index, version in enumerate(versions):
        if index in again:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{path}[{index}]", version, text) for text in dns1035_label(version)]
    if not {*versions} & {*REVIEW_VERSIONS}:
        errors.append(invalid(path, versions, f"must include at least one of {versions_text}"))
    return errors


def rule_errors(rule: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operations = rule.get("operations") or []
    if not operations:
        errors.append(required(f"{path}.operations"))
    elif "*" in operations and len(operations) > 1:
        text = "if '*' is present, must not specify other operations"
        errors.append(invalid(f"{path}.operations", operations, text))
    supported = ("*", *_OPERATIONS)
    errors += [
        not_supported(f"{path}.operations[{index}]", name, supported)
        for index, name in enumerate(operations)
        if name not in supported
    ]
    for key, label in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(key) or []
        if not values:
            errors.append(required(f"{path}.{key}"))
        elif "*" in values and len(values) > 1:
            errors.append(invalid(f"{path}.{key}", values, f"if '*' is present, must not specify other {label}"))
        if key == "apiVersions":
            errors += [required(f"{path}.{key}[{index}]") for index, value in enumerate(values) if not value]
    errors += _resource_errors(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope", "*")
    if scope not in ("Cluster", "Namespaced", "*"):
        errors.append(not_supported(f"{path}.scope", scope, ("*", "Cluster", "Namespaced")))
    return errors


def _resource_errors(resources: Sequence[str], path: str) -> list[FieldError]:
    """As in upstream, a wildcard only excludes what stands after it."""
    if not resources:
        return [required(path)]
    errors: list[FieldError] = []
    wild_resources: set[str] = set()
    wild_subresources: set[str] = set()
    is_whole = False
    for index, item in enumerate(resources):
        field_path = f"{path}[{index}]"
        if not item:
            errors.append(required(field_path))
            continue
        name, slash, sub = item.partition("/")
        if not slash:
            is_whole = item != "*"
            continue
        if name in wild_subresources:
            errors.append(invalid(field_path, item, f"if '{name}/*' is present, must not specify {item}"))
        if sub in wild_resources:
            errors.append(invalid(field_path, item, f"if '*/{sub}' is present, must not specify {item}"))
        if sub == "*":
            wild_subresources.add(name)
        if name == "*":
            wild_resources.add(sub)
    if "*/*" in resources and len(resources) > 1:
        text = "if '*/*' is present, must not specify other resources"
        errors.append(invalid(path, list(resources), text))
    if "*" in resources and is_whole:
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


def _path_errors(url_path: str, path: str) -> list[FieldError]:
    if url_path in ("", "/"):
        return []
    if url_path == "//":
        return [invalid(path, url_path, "segment[0] may not be empty")]
    errors = [] if url_path.startswith("/") else [invalid(path, url_path, "must start with a '/'")]
    for index, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(invalid(path, url_path, f"segment[{index}] may not be empty"))
        else:
            errors += [invalid(path, url_path, f"segment[{index}]: {text}") for text in dns1123_subdomain(step)]
    return errors


class _Url(NamedTuple):
    """The parts of a URL, as Go's parser splits it. ``user`` is None if there is no user information."""

    scheme: str
    user: str | None
    host: str
    path: str
    query: str
    fragment: str

    @classmethod
    def split(cls, url: str) -> _Url:
        address, _, fragment = url.partition("#")
        match = _SCHEME.match(address)
        scheme = match[0] if match else ""
        rest, _, query = address[len(scheme) :].partition("?")
        authority, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "", rest)
        user, at, host = authority.rpartition("@")
        return cls(scheme[:-1].lower(), user if at else None, host, slash + path, query, fragment)


def _url_problem(url: str, parts: _Url) -> str:
    """The error that Go's URL parser reports; empty if the URL is valid."""
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in url):
        return "net/url: invalid control character in URL"
    if not parts.scheme and url.startswith(":"):
        return "missing protocol scheme"
    if not parts.scheme and not url.startswith("//") and ":" in parts.path.partition("/")[0]:
        return "first path segment in URL cannot contain colon"
    if problem := _host_problem(parts.host):
        return problem
    if not _USER.fullmatch(parts.user or ""):
        return "net/url: invalid userinfo"
    return _escape_problem(parts.user or "") or _escape_problem(parts.path) or _escape_problem(parts.fragment)


def _host_problem(host: str) -> str:
    if "[" in host:
        return _literal_problem(host)
    name, colon, port = host.partition(":")
    return _port_problem(colon + port) or _name_problem(name)


def _literal_problem(host: str) -> str:
    """The error in a host with an address in brackets."""
    start, _, rest = host.rpartition("[")
    literal, bracket, port = rest.rpartition("]")
    if start or not bracket:
        return "invalid IP-literal" if start else "missing ']' in host"
    address, _, zone = literal.partition("%25")
    if problem := _port_problem(port) or _name_problem(address) or _name_problem(zone, _ESCAPE):
        return problem
    literal_address = literal.replace("%25", "%", 1)  # begins the zone of an address
    try:
        return "invalid IP-literal" if ip_address(literal_address).version == 4 else ""
    except ValueError:
        return f"invalid host: ParseAddr({quote(literal_address)}): unable to parse IP"


def _port_problem(port: str) -> str:
    return "" if _PORT.fullmatch(port) else f"invalid port {quote(port)} after host"


def _name_problem(name: str, wrong_escape: re.Pattern[str] = _HOST_ESCAPE) -> str:
    wrong = next((character for character in name if character in _NOT_OF_HOSTS), "")
    return f"invalid character {quote(wrong)} in host name" if wrong else _escape_problem(name, wrong_escape)


def _escape_problem(text: str, wrong_escape: re.Pattern[str] = _ESCAPE) -> str:
    wrong = wrong_escape.search(text)
    return f"invalid URL escape {quote(text[wrong.start() : wrong.start() + 3])}" if wrong else ""


def _url_errors(url: str, path: str) -> list[FieldError]:
    parts = _Url.split(url)
    problem = _url_problem(url, parts)
    if problem:
        return [required(path, f"url must be a valid URL: parse {quote(url)}: {problem}{_FORM}")]
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not parts.host:
        errors.append(invalid(path, parts.host, f"host must be specified{_FORM}"))
    if parts.user is not None:
        user = parts.user.partition(":")[0]  # without the password
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors

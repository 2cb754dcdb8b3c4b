"""Non-resource paths: version, health, discovery, OpenAPI."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from setpoint.apiserver.discovery import groups as discovery
from setpoint.apiserver.discovery import openapi
from setpoint.apiserver.discovery.openapi_roots import CONFIGURATION, KEYS
from setpoint.apiserver.errors import ApiStatusError, no_representation, no_such_path
from setpoint.apiserver.http_types import IncomingRequest, Response
from setpoint.apiserver.requests.accept import accepted, has_representation
from setpoint.apiserver.requests.body import JSON_TYPE
from setpoint.apiserver.responses.metrics import exposition, process_families
from setpoint.apiserver.responses.representation import respond
from setpoint.apiserver.state import State

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUILD: Final = {
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": f"{platform.python_implementation()} {platform.python_version()}",
    "platform": f"{platform.system().lower()}/{platform.machine()}",
}
_EMULATION_SINCE: Final = 33
_JSON: Final = (openapi.JSON, "*/*", "application/*")
_DAMAGE: Final = "/debug/damage"
_METRICS: Final = "/metrics"
_INDICATORS: Final = "/metrics/slis"
_ROOTS: Final = frozenset({"api", "apis", "openapi", "healthz", "livez", "readyz"})
_PATHS: Final = frozenset({"/", "/version", _DAMAGE, _METRICS, _INDICATORS})
_STARTED: Final = (
    *(
        f"poststarthook/{name}"
        for name in (
            "start-apiserver-admission-initializer",
            "generic-apiserver-start-informers",
            "priority-and-fairness-config-consumer",
            "priority-and-fairness-filter",
            "storage-object-count-tracker-hook",
            "start-apiextensions-informers",
            "start-apiextensions-controllers",
            "crd-informer-synced",
            "start-system-namespaces-controller",
            "peer-endpoint-reconciler-controller",
            "start-cluster-authentication-info-controller",
            "start-kube-apiserver-identity-lease-controller",
            "start-kube-apiserver-identity-lease-garbage-collector",
            "storage-readiness",
            "start-legacy-token-tracking-controller",
            "start-service-ip-repair-controllers",
            "rbac/bootstrap-roles",
            "scheduling/bootstrap-system-priority-classes",
            "priority-and-fairness-config-producer",
            "bootstrap-controller",
            "start-kubernetes-service-cidr-controller",
            "start-kube-aggregator-informers",
            "apiservice-status-local-available-controller",
            "apiservice-status-remote-available-controller",
            "apiservice-registration-controller",
            "apiservice-discovery-controller",
            "kube-apiserver-autoregistration",
        )
    ),
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
"""The names of the health checks for a kube-apiserver's startup steps. In this server, all of these steps are complete
before a client is served.
"""
_VERSION_DEPTH: Final = 3
"""The number of slashes in ``/apis/GROUP/VERSION``; above it, upstream does not look at the method."""
_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_TEXT: Final = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}


def answer(state: State, request: IncomingRequest) -> Response:
    """The response for a non-resource path; for most unknown paths, a 404 in plain text.

    Raises ApiStatusError: 404 for an unknown path below ``/api``, ``/openapi``, ``/version`` or a served group, 405
    where upstream serves only GET, and 406 if discovery has none of the accepted media types.
    """
    if not request.path.startswith("/"):  # ``OPTIONS *``, and CONNECT, which names a host
        return nothing()
    path = request.path.rstrip("/") or "/"
    accept = request.headers.get("accept", "")
    root = path.split("/")[1]
    if path in (CONFIGURATION, KEYS):
        return _issuer(state, request, path)
    if path.startswith("/version/"):
        raise no_such_path()
    if root not in _ROOTS and path not in _PATHS:
        return nothing()
    if root in ("api", "apis"):
        response = discovery.respond(path, state.registry, accept)
        built_in = root == "api" or knows(state, path.removeprefix("/apis").strip("/").partition("/")[0])
        if response is None:
            if not built_in:
                return nothing()
            raise no_such_path()
        if root == "api" or (built_in and path.count("/") == _VERSION_DEPTH):
            _only_get(request)
        response.headers["vary"] = "Accept"
        return response
    if root == "openapi":
        return _openapi(state, request, path, accept)
    if path == "/version":
        _only_get(request)
        if not has_representation(accept, (JSON_TYPE,)):
            raise no_representation((JSON_TYPE,))
        return respond(_version(state.registry.minor))
    if path == _METRICS:
        if state.metrics is None:
            return nothing()
        families = (*process_families(), *state.metrics.families(state.watches))
        content, kind = exposition(families, accept, state.metrics.native_histograms())
        return Response(200, {"content-type": kind, "cache-control": "no-cache, private"}, content)
    if path == _INDICATORS:
        content, kind = exposition(_indicators(state), accept)
        return Response(200, {"content-type": kind, "cache-control": "no-cache, private"}, content)
    if path == _DAMAGE:
        return respond(_damage(state))
    if path == "/":
        return respond({"paths": _paths(state)})
    return _health(state, request, path)


def _only_get(request: IncomingRequest) -> None:
    if request.method != "GET":
        text = "the server does not allow this method on the requested resource"
        raise ApiStatusError(405, "MethodNotAllowed", text, {})


def nothing() -> Response:
    """The response for a path that does not belong to any API group."""
    return Response(404, dict(_TEXT), b"404 page not found\n")


def knows(state: State, group: str) -> bool:
    """Whether the group has built-in resources; upstream answers differently about others."""
    return any(served.resource.group == group and not served.custom for served in state.registry)


def _version(minor: int) -> dict[str, str]:
    """The answer at ``/version``; servers name the version that they emulate since 1.33 (KEP-4330)."""
    own, before = str(minor), str(minor - 1)
    emulation = {"emulationMajor": "1", "emulationMinor": own, "minCompatibilityMajor": "1"}
    return {
        "major": "1",
        "minor": own,
        **(emulation | {"minCompatibilityMinor": before} if minor >= _EMULATION_SINCE else {}),
        "gitVersion": f"v1.{minor}.0+setpoint",
        **_BUILD,
    }


def _openapi(state: State, request: IncomingRequest, path: str, accept: str) -> Response:
    kind = next((clause.kind for clause in accepted(accept) if clause.kind in _described_as(path)), None)
    if kind is None:
        return Response(406, {"cache-control": "no-cache, private"}, b"")
    issuer = bool(state.account_tokens.jwks)
    document = openapi.respond(
        path, state.registry, minor=state.registry.minor, protobuf=kind in openapi.PROTOBUF_TYPES, issuer=issuer
    )
    if document is None:
        raise no_such_path()
    body, etag, kind = document
    headers = {"content-type": kind, "etag": etag, "vary": "Accept", "cache-control": "no-cache, private"}
    hashed = dict(request.query).get("hash")
    if hashed and hashed == etag.strip('"'):
        headers["cache-control"] = "public"  # the address changes with the content
    if request.headers.get("if-none-match") == etag:
        return Response(304, headers, b"")
    return Response(200, headers, body)


def _described_as(path: str) -> tuple[str, ...]:
    """The media types in which the OpenAPI document at a path can be requested."""
    return (*_JSON, *openapi.PROTOBUF_TYPES) if path == "/openapi/v2" else _JSON


def _issuer(state: State, request: IncomingRequest, path: str) -> Response:
    """The response with one of the OIDC documents with which clients verify service account tokens; 404 if the tokens
    are signed with a secret.
    """
    tokens = state.account_tokens
    keys = tokens.jwks
    if not keys:
        return nothing()
    _only_get(request)
    issuer = tokens.issuers[0]
    document: object = {"keys": keys}
    if path == CONFIGURATION:
        document = {
            "issuer": issuer,
            "jwks_uri": f"https://{state.address}{KEYS}" if state.address else f"{issuer.rstrip('/')}{KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": tokens.algorithms,
        }
    response = respond(document)
    response.headers["content-type"] = "application/json" if path == CONFIGURATION else "application/jwk-set+json"
    response.headers["cache-control"] = "public, max-age=3600"
    return response


def _paths(state: State) -> list[str]:
    roots = {served.resource.root for served in state.registry}
    groups = {root.rsplit("/", 1)[0] for root in roots}
    others = {"/apis", "/openapi/v2", "/openapi/v3", "/version", _METRICS, _INDICATORS, *_HEALTH}
    if state.account_tokens.jwks:
        others |= {CONFIGURATION, KEYS}
    return sorted(roots | groups | others)


def _damage(state: State) -> dict[str, object]:
    """A Status that lists the stored objects that can't be used; the reason is that of upstream."""
    causes = [{"reason": "StorageReadError", "message": item.reason, "field": item.subject} for item in state.damage]
    status: dict[str, object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if causes:
        status |= {"status": "Failure", "reason": "StorageReadError", "details": {"causes": causes}}
        status["message"] = f"stored objects that can't be used: {len(causes)}"
    return status


def _checks(state: State, base: str) -> dict[str, bool]:
    """The health checks of ``/healthz``, ``/livez`` or ``/readyz``, and whether they succeed."""
    checks = {"ping": True, "log": True, "etcd": state.running}
    if base == "readyz":
        checks |= {"etcd-readiness": state.running, "informer-sync": True}
    else:
        checks = {"ping": True, "log": True, "loopback-serving-certificate": True, "etcd": state.running}
    checks |= dict.fromkeys(_STARTED, True)
    if base == "readyz":
        checks["shutdown"] = not state.stopping
    return checks


def _indicators(state: State) -> list[Metric]:
    """The results of the health checks that were asked for, and the start of the process, as metrics (KEP-3466)."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    last = GaugeMetricFamily(
        "kubernetes_healthcheck",
        "[STABLE] This metric records the result of a single healthcheck.",
        labels=["name", "type"],
    )
    for name, base in dict.fromkeys((name, base) for name, base, _ in state.checked):
        last.add_metric([name, base], float(_checks(state, base)[name]))
    total = CounterMetricFamily(
        "kubernetes_healthchecks",
        "[STABLE] This metric records the results of all healthcheck.",
        labels=["name", "status", "type"],
    )
    for (name, base, good), count in state.checked.items():
        total.add_metric([name, "success" if good else "error", base], count)
    started = (family for family in process_families() if family.name == "process_start_time_seconds")
    return [last, total, *started]


def _health(state: State, request: IncomingRequest, path: str) -> Response:
    base, _, check = path[1:].partition("/")
    checks = _checks(state, base)
    if check:
        if check not in checks:
            return nothing()
        good = checks[check]
        text = b"ok" if good else b"internal server error: process is shutting down\n"
        return Response(200 if good else 500, dict(_TEXT), text)
    query = dict(request.query)
    excluded = {value for name, value in request.query if name == "exclude"}
    state.checked.update((name, base, good) for name, good in checks.items() if name not in excluded)
    healthy = all(good for name, good in checks.items() if name not in excluded)
    if healthy and "verbose" not in query:
        return Response(200, dict(_TEXT), b"ok")
    lines = []
    for name, good in checks.items():
        if name in excluded:
            lines.append(f"[+]{name} excluded: ok")
        else:
            lines.append(f"[+]{name} ok" if good else f"[-]{name} failed: reason withheld")
    unknown = ",".join(f'"{name}"' for name in sorted(excluded - set(checks)))
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
    lines.append(f"{base} check {'passed' if healthy else 'failed'}\n")
    return Response(200 if healthy else 500, dict(_TEXT), "\n".join(lines).encode())

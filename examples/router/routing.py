"""routing.py: the paths of Ingresses as the configuration of nginx. Nothing here knows of a cluster.

The rules are those of the documentation of Ingress: an exact host before a wildcard, which stands for one label; the
longest path first, and of equal ones `Exact` before `Prefix`, which matches whole elements.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from setpoint.meta import ObjectKey
from setpoint.models.networking_v1 import Ingress, IngressBackend

CLASS = "kubernetes.io/ingress.class"
"""The annotation that named the class before there was a field."""
PORT = 8080
HEAD = (
    "events {}",
    "http {",
    "    access_log /dev/stdout;",
    "    server_names_hash_bucket_size 512;",
    "    proxy_http_version 1.1;",
    "    proxy_set_header Host $http_host;",
    "    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    "    proxy_set_header X-Forwarded-Proto $scheme;",
    *(f"    {kind}_temp_path /tmp/nginx-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")),
)
_PRINTABLE = re.compile(r"/[^\x00-\x1f\x7f]*")


class Backend(NamedTuple):
    """A port of a Service: its number, or its name."""

    service: str
    port: int | str

    def __str__(self) -> str:
        return f"{self.service}:{self.port}"

    @property
    def upstream(self) -> str:
        """A name for nginx; no part of it has an underscore."""
        return f"{self.service.replace('/', '_')}_{self.port}"


class Path(NamedTuple):
    """One path of one Ingress. ``path`` has no slash at its end if it is a prefix, unless it is ``/``."""

    ingress: ObjectKey
    host: str
    path: str
    is_exact: bool
    is_default: bool
    backend: Backend

    @property
    def place(self) -> tuple[str, str, bool]:
        return self.host, self.path, self.is_exact

    def __str__(self) -> str:
        return f"{'Exact' if self.is_exact else 'Prefix'} {self.host or '*'}{self.path}"


class Complaint(NamedTuple):
    """A part of an Ingress that is not served as it says."""

    ingress: ObjectKey
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.ingress} {self.reason}: {self.message}"


def class_of(ingress: Ingress) -> str:
    return ingress.spec.ingress_class_name or ingress.annotations.get(CLASS, "")


def backend_of(ingress: Ingress, backend: IngressBackend) -> Backend | None:
    service = backend.service
    if service is None or service.port is None or not (service.port.number or service.port.name):
        return None
    return Backend(f"{ingress.namespace}/{service.name}", service.port.number or service.port.name or "")


def paths_of(ingress: Ingress, complaints: list[Complaint]) -> list[Path]:
    """The paths of an Ingress; the reasons against others go to ``complaints``."""
    paths: list[Path] = []

    def add(host: str, path: str, backend: IngressBackend, *, is_exact: bool = False, is_default: bool = False) -> None:
        decoded = unquote(path)  # nginx compares with the decoded path of a request
        to = backend_of(ingress, backend)
        if to is None:
            complaints.append(Complaint(ingress.key, "NotSupported", f"{path}: its backend is not a port of a Service"))
        elif not _PRINTABLE.fullmatch(decoded):
            text = f"{path!r} does not begin with a slash, or has characters that can't be printed"
            complaints.append(Complaint(ingress.key, "NotSupported", text))
        else:
            normal = decoded if is_exact else decoded.rstrip("/") or "/"
            paths.append(Path(ingress.key, host, normal, is_exact, is_default, to))

    for rule in ingress.spec.rules:
        for http_path in rule.http.paths if rule.http is not None else ():
            add(rule.host or "", http_path.path or "/", http_path.backend, is_exact=http_path.path_type == "Exact")
    if ingress.spec.default_backend is not None:
        for host in sorted({rule.host or "" for rule in ingress.spec.rules}) or [""]:
            add(host, "/", ingress.spec.default_backend, is_default=True)
    if ingress.spec.tls:
        complaints.append(Complaint(ingress.key, "NotSupported", "TLS is not served: its hosts are served without"))
    return paths


def age(ingress: Ingress) -> tuple[str, str]:
    return str(ingress.metadata.creation_timestamp), ingress.key


def chosen(ingresses: Iterable[Ingress]) -> tuple[list[Path], list[Complaint]]:
    """The paths that are served, and the complaints: of two Ingresses that claim one place the older has it.

    A default backend has the rest.
    """
    complaints: list[Complaint] = []
    claims = [path for ingress in sorted(ingresses, key=age) for path in paths_of(ingress, complaints)]
    winners: dict[tuple[str, str, bool], Path] = {}
    for claim in sorted(claims, key=lambda path: path.is_default):  # stable: the older Ingress first
        winner = winners.setdefault(claim.place, claim)
        if winner.ingress != claim.ingress and winner.is_default == claim.is_default:
            complaints.append(Complaint(claim.ingress, "Conflict", f"{claim} is served for Ingress {winner.ingress}"))
    return sorted(
        winners.values(), key=lambda path: (path.host, -len(path.path), path.path, not path.is_exact)
    ), complaints


def served_by(paths: Iterable[Path], request: str) -> Path | None:
    """The path of one host that serves a request's path."""
    fitting = [
        path
        for path in paths
        if path.path == request or (not path.is_exact and (path.path == "/" or request.startswith(path.path + "/")))
    ]
    return max(fitting, key=lambda path: (len(path.path), path.is_exact), default=None)


def locations(paths: list[Path]) -> dict[tuple[str, str], Path | None]:
    """The locations of one host, by sign and path: with ``=`` for an equal path, without for one that begins so. An
    equal one wins, then the longest."""
    sources: dict[tuple[str, str], Path | None] = {("", "/"): None}
    for path in paths:
        if path.is_exact and path.path.endswith("/") and path.path != "/":
            sources["= ", path.path[:-1]] = served_by(paths, path.path[:-1])  # nginx would redirect it
        if path.is_exact or path.path != "/":
            sources["= ", path.path] = served_by(paths, path.path)
        if not path.is_exact:
            sources["", path.path.rstrip("/") + "/"] = path
    return sources


# -- the text ----------------------------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def server_name(host: str) -> str:
    if host.startswith("*."):
        return quoted(rf"~^[^.]+{re.escape(host[1:])}$")
    return quoted(host) if host else "_"


def config(paths: Iterable[Path], addresses: Mapping[Backend, str]) -> str:
    """The whole configuration. A backend without an address answers 503."""
    hosts: dict[str, list[Path]] = defaultdict(list, {"": []})
    for path in paths:
        hosts[path.host].append(path)
    lines = [*HEAD]
    for backend in sorted({path.backend for group in hosts.values() for path in group}, key=str):
        if backend in addresses:
            lines.append(f"    upstream {backend.upstream} {{ server {addresses[backend]}; }}")
    for host in sorted(hosts):
        lines += ["    server {", f"        listen {PORT}{'' if host else ' default_server'};"]
        lines.append(f"        server_name {server_name(host)};")
        for (sign, place), served in sorted(locations(hosts[host]).items(), key=lambda item: item[0]):
            lines.append(f"        location {sign}{quoted(place)} {{ {does(served, addresses)} }}")
        lines.append("    }")
    return "\n".join([*lines, "}", ""])


def does(path: Path | None, addresses: Mapping[Backend, str]) -> str:
    """The directive of a location."""
    if path is None:
        return "return 404;"
    return f"proxy_pass http://{path.backend.upstream};" if path.backend in addresses else "return 503;"

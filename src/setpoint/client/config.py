"""ClientConfig: the address of an API server and the user, from files, from a service account, or from arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from urllib.parse import urlsplit

from setpoint.client.credentials import Anonymous, Credentials, TokenFile
from setpoint.client.errors import ConfigError
from setpoint.client.tls import ClientCertificate, TlsConfig

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Impersonation:
    """The identity under which a client acts.

    Raises:
        ConfigError: there are ``uid``, ``groups`` or ``extra``, but no ``user``.
    """

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user and (self.uid or self.groups or self.extra):
            raise ConfigError("a uid, groups or extra values can only be impersonated together with a user")

    def headers(self) -> list[tuple[str, str]]:
        """The request headers. Characters that a header name can't contain are percent-encoded in the keys of
        ``extra``.
        """
        if not self.user:
            return []
        headers = [("impersonate-user", self.user)]
        if self.uid:
            headers.append(("impersonate-uid", self.uid))
        headers += [("impersonate-group", group) for group in self.groups]
        for key, values in self.extra.items():
            name = "impersonate-extra-" + _header_key(key)
            headers += [(name, value) for value in values]
        return headers


@dataclass(frozen=True, slots=True, repr=False)
class ClientConfig:
    """The address of one API server, and the credentials for it.

    ``server`` is a URL and may have a path. ``source`` names the origin of the configuration in messages.
    ``proxy_url`` is an ``http`` or ``https`` URL, or ``""`` for no proxy. The repr does not show secrets: tokens, keys,
    passwords and the user information of URLs are left out.
    """

    server: str
    ca_file: Path | None = None
    ca_data: bytes = b""
    verify: bool = True
    tls_server_name: str = ""
    certificate: ClientCertificate | None = None
    credentials: Credentials = field(default_factory=Anonymous)
    proxy_url: str = ""
    impersonate: Impersonation | None = None
    namespace: str = "default"
    user_agent: str = ""
    compression: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        source_note = self.source and f" ({self.source})"
        if not _is_http(self.server):
            raise ConfigError(f"server {redacted(self.server)!r} is not an http(s) URL with a host{source_note}")
        if self.proxy_url and not _is_http(self.proxy_url):
            scheme = self.proxy_url.partition("://")[0] if "://" in self.proxy_url else ""
            why = "is not a URL with a host"
            if scheme not in ("http", "https"):
                unsupported = f"{scheme} proxies are" if scheme else "a URL without a scheme is"
                why = f"can't be used: {unsupported} not supported, only http and https"
            raise ConfigError(f"proxy-url {redacted(self.proxy_url)!r} {why}{source_note}")
        if not self.verify and (self.ca_file is not None or self.ca_data):
            raise ConfigError(
                f"insecure-skip-tls-verify and a certificate authority exclude each other: remove one{source_note}"
            )

    @property
    def tls(self) -> TlsConfig:
        return TlsConfig(
            ca_file=self.ca_file,
            ca_data=self.ca_data,
            verify=self.verify,
            certificate=self.certificate,
            source=self.source,
        )

    def __repr__(self) -> str:
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value in (None, "", b"") or (item.name in ("verify", "compression") and value):
                continue
            if item.name in ("server", "proxy_url"):
                value = redacted(value)
            parts.append(f"{item.name}=…" if item.name == "ca_data" else f"{item.name}={value!r}")
        return f"ClientConfig({', '.join(parts)})"


def in_cluster_config(
    *, environ: Mapping[str, str] | None = None, service_account: str | Path | None = None
) -> ClientConfig:
    """The configuration from the service account of the pod that this process runs in. As in Go, a proxy of the
    environment counts (see ``NO_PROXY``).

    Raises:
        ConfigError: the process is not in a pod, or the token of the service account is not mounted.
    """
    environ = os.environ if environ is None else environ
    directory = Path(SERVICE_ACCOUNT if service_account is None else service_account)
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError("not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set")
    token, ca = directory / "token", directory / "ca.crt"
    if not token.is_file():
        raise ConfigError(f"inside a cluster, but there is no {token}: is automountServiceAccountToken off?")
    try:
        namespace = (directory / "namespace").read_text("utf-8").strip()
    except OSError:
        namespace = ""
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    return ClientConfig(
        server=server,
        ca_file=ca if ca.is_file() else None,
        credentials=TokenFile(token),
        proxy_url=environment_proxy(server, environ),
        namespace=namespace or "default",
        source=f"in-cluster, {directory}",
    )


def _is_http(url: str) -> bool:
    """Whether ``url`` is an http(s) URL with a host and, if it has a port, a valid one."""
    if not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def redacted(url: str) -> str:
    """``url`` without its user information, which may hold a password."""
    scheme, mark, rest = url.partition("//") if "//" in url else ("", "", url)
    _, at, host = rest.rpartition("@")  # a password that was not percent-encoded may contain anything, even an @
    return f"{scheme}{mark}…@{host}" if at else url


def environment_proxy(server: str, environ: Mapping[str, str]) -> str:
    """The proxy that ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` select, or ``""`` for no proxy.

    As in Go, lower-case names count, too, and loopback addresses never go through a proxy. ``NO_PROXY`` is ``*``, or a
    list of hosts, ``.domains``, networks and ``host:port`` pairs.
    """
    if not _is_http(server):
        return ""  # refused later, when it is used
    parts = urlsplit(server)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    proxy = environ.get(name) or environ.get(name.lower()) or ""
    if not proxy or host == "localhost" or _is_loopback(host):
        return ""
    for entry in (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(","):
        if _bypasses(entry.strip().lower(), host, port):
            return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypasses(entry: str, host: str, port: int) -> bool:
    import ipaddress

    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    bare, colon, number = entry.rpartition(":")
    if colon and number.isdigit() and "]" not in number and (bare.count(":") == 0 or bare.endswith("]")):
        if int(number) != port:
            return False
        entry = bare
    entry = entry.strip("[]").removeprefix("*")
    if entry.startswith("."):
        return host.endswith(entry)
    return host == entry or host.endswith("." + entry)


def _is_loopback(host: str) -> bool:
    return host == "::1" or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def _header_key(key: str) -> str:
    return "".join(
        character
        if character.isascii() and (character.isalnum() or character in "!#$&'*+-.^_`|~")
        else encoded(character)
        for character in key.lower()
    )


def encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())

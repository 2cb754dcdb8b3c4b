"""kubeconfig files, with client-go's rules (``tools/clientcmd``).

``KUBECONFIG`` is a list of files; for each cluster, user and context, and for ``current-context``, the first file
that has it wins. Relative paths are relative to the file that says them. Missing files of the list are passed over;
one that can't be read or understood is an error, never ignored.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from setpoint.client.config import ClientConfig, Impersonation, environment_proxy, in_cluster_config
from setpoint.client.credentials import Anonymous, Basic, Credentials, StaticToken, TokenFile
from setpoint.client.errors import ConfigError, CredentialsError
from setpoint.client.tls import ClientCertificate, check_readable

__all__ = ["Kubeconfig", "load_config", "load_kubeconfig"]

_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(frozen=True, slots=True)
class Stanza:
    """One cluster, user or context, and the file that it stands in."""

    what: str
    name: str
    path: Path
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def where(self) -> str:
        return f"{self.what} {self.name!r} in {self.path}"

    def text(self, key: str) -> str:
        value = self.fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise ConfigError(f"{self.where}: {key} must be a string, not {_form(value)}")
        return value

    def flag(self, key: str) -> bool:
        value = self.fields.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise ConfigError(f"{self.where}: {key} must be true or false, not {_form(value)}")
        return value

    def file(self, key: str) -> Path | None:
        text = self.text(key)
        return self.path.parent / text if text else None

    def data(self, key: str) -> bytes:
        text = self.text(key)
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError(f"{self.where}: {key} is no base64") from None

    def names(self, key: str) -> tuple[str, ...]:
        value = self.fields.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{self.where}: {key} must be a list of strings")
        return tuple(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.fields.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise ConfigError(f"{self.where}: {key} must be a mapping, not {_form(value)}")
        return value


class Kubeconfig:
    """What a list of files says together.

    Attributes:
        clusters, users, contexts: the stanzas by name.
        current_context: ``""`` if no file names one.
        files: those that were there.
    """

    def __init__(self) -> None:
        self.clusters: dict[str, Stanza] = {}
        self.users: dict[str, Stanza] = {}
        self.contexts: dict[str, Stanza] = {}
        self.current_context = ""
        self.files: list[Path] = []

    @classmethod
    def read(cls, *paths: Path, missing_ok: bool = False) -> Kubeconfig:
        """Merges the files; the first that says something wins.

        Raises:
            ConfigError: a file can't be read or is no kubeconfig.
        """
        merged = cls()
        for path in dict.fromkeys(paths):
            document = _read_yaml(path, missing_ok)
            if document is not None:
                merged._merge(path, document)
        return merged

    def _merge(self, path: Path, document: Any) -> None:
        if not isinstance(document, dict):
            raise ConfigError(f"{path} is no kubeconfig: it holds {_form(document)}, not a mapping")
        kind, version = document.get("kind") or "Config", document.get("apiVersion") or "v1"
        if kind != "Config" or version != "v1":
            raise ConfigError(
                f"{path} is no kubeconfig of a known version: it says apiVersion {version!r}, kind {kind!r}"
            )
        self.files.append(path)
        current = document.get("current-context")
        if current is not None and not isinstance(current, str):
            raise ConfigError(f"{path}: current-context must be a string, not {_form(current)}")
        self.current_context = self.current_context or current or ""
        for section, what in _SECTIONS.items():
            known: dict[str, Stanza] = getattr(self, section)
            entries = document.get(section)
            if entries is None:
                continue
            if not isinstance(entries, list):
                raise ConfigError(f"{path}: {section} must be a list, not {_form(entries)}")
            for place, entry in enumerate(entries):
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise ConfigError(f"{path}: {section}[{place}] must be a mapping with a name")
                content = entry.get(what)
                if content is not None and not isinstance(content, dict):
                    raise ConfigError(f"{path}: {section}[{place}].{what} must be a mapping, not {_form(content)}")
                known.setdefault(entry["name"], Stanza(what, entry["name"], path, content or {}))

    def config(self, context: str | None = None, *, environ: Mapping[str, str] | None = None) -> ClientConfig:
        """The configuration of a context, by default the current one. Nothing is connected or run yet.

        Raises:
            ConfigError: the context, its cluster or its user is missing or can't be used.
        """
        environ = os.environ if environ is None else environ
        chosen = self._context(context)
        cluster = self._named(self.clusters, "cluster", chosen)
        user = self._named(self.users, "user", chosen)
        source = f"context {chosen.name!r} of {chosen.path}"
        server = cluster.text("server")
        if not server:
            raise ConfigError(f"{cluster.where} has no server")
        ca_file, ca_data = cluster.file("certificate-authority"), cluster.data("certificate-authority-data")
        if ca_file is not None and ca_data:
            raise ConfigError(
                f"{cluster.where} has both certificate-authority and certificate-authority-data: drop one"
            )
        if ca_file is not None:
            check_readable(ca_file, "certificate-authority", cluster.where)
        impersonate = None
        extra = {name: tuple(map(str, _listed(user, values))) for name, values in user.mapping("as-user-extra").items()}
        if user.text("as") or user.text("as-uid") or user.names("as-groups") or extra:
            try:
                impersonate = Impersonation(user.text("as"), user.text("as-uid"), user.names("as-groups"), extra)
            except ConfigError as problem:
                raise ConfigError(f"{user.where}: {problem}") from None
        try:
            config = ClientConfig(
                server=server if "://" in server else f"https://{server}",
                ca_file=ca_file,
                ca_data=ca_data,
                verify=not cluster.flag("insecure-skip-tls-verify"),
                tls_server_name=cluster.text("tls-server-name"),
                certificate=_certificate(user),
                proxy_url=cluster.text("proxy-url") or environment_proxy(server, environ),
                impersonate=impersonate,
                namespace=chosen.text("namespace") or "default",
                compression=not cluster.flag("disable-compression"),
                source=source,
            )
        except ConfigError as problem:
            if str(chosen.path) in str(problem):
                raise
            raise ConfigError(f"{cluster.where}: {problem}") from None
        return replace(config, credentials=_credentials(user, cluster, config, environ))

    def _context(self, context: str | None) -> Stanza:
        name = context or self.current_context
        files = " and ".join(map(str, self.files)) or "no file"
        known = ", ".join(sorted(self.contexts)) or "none"
        if not name:
            raise ConfigError(f"{files}: there is no current-context; choose one of the contexts: {known}")
        if name not in self.contexts:
            raise ConfigError(f"context {name!r} does not exist in {files}; there are: {known}")
        return self.contexts[name]

    def _named(self, stanzas: Mapping[str, Stanza], what: str, context: Stanza) -> Stanza:
        name = context.text(what)
        if not name:
            if what == "user":  # as kubectl has it: no user is nobody
                return Stanza("user", "", context.path, {})
            raise ConfigError(f"{context.where} names no {what}")
        if name not in stanzas:
            known = ", ".join(sorted(stanzas)) or "none"
            raise ConfigError(f"{context.where} names {what} {name!r}, which does not exist; there are: {known}")
        return stanzas[name]


def kubeconfig_paths(environ: Mapping[str, str]) -> list[Path]:
    """The files to look at: those of ``KUBECONFIG``, else ``~/.kube/config``."""
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return listed or [(Path(home) if home else Path.home()) / ".kube" / "config"]


def load_kubeconfig(
    path: str | Path | None = None, context: str | None = None, *, environ: Mapping[str, str] | None = None
) -> ClientConfig:
    """The configuration of a context (default: the current one) of ``path``, or of the usual files.

    Raises:
        ConfigError: names the file, context, cluster or user, and what is wrong with it.
    """
    environ = os.environ if environ is None else environ
    if path is not None:
        return Kubeconfig.read(Path(path).expanduser()).config(context, environ=environ)
    paths = kubeconfig_paths(environ)
    merged = Kubeconfig.read(*paths, missing_ok=True)
    if not merged.files:
        raise ConfigError(f"no kubeconfig: {' and '.join(map(str, paths))} does not exist; set KUBECONFIG")
    return merged.config(context, environ=environ)


def load_config(
    path: str | Path | None = None, context: str | None = None, *, environ: Mapping[str, str] | None = None
) -> ClientConfig:
    """The configuration to use: ``path`` > ``$KUBECONFIG`` > ``~/.kube/config`` > the pod that this runs in.

    Raises:
        ConfigError: there is none, or the first that there is can't be used.
    """
    environ = os.environ if environ is None else environ
    if path is not None or context is not None:
        return load_kubeconfig(path, context, environ=environ)
    paths = kubeconfig_paths(environ)
    merged = Kubeconfig.read(*paths, missing_ok=True)
    if merged.files:
        return merged.config(environ=environ)
    try:
        return in_cluster_config(environ=environ)
    except ConfigError as problem:
        tried = " and ".join(map(str, paths))
        raise ConfigError(f"no configuration: {tried} does not exist, and {problem}") from None


def _certificate(user: Stanza) -> ClientCertificate | None:
    cert_file, cert_data = user.file("client-certificate"), user.data("client-certificate-data")
    key_file, key_data = user.file("client-key"), user.data("client-key-data")
    if not (cert_file or cert_data or key_file or key_data):
        return None
    if not (cert_file or cert_data):
        raise ConfigError(f"{user.where} has a client key but no client-certificate(-data)")
    if not (key_file or key_data):
        raise ConfigError(f"{user.where} has a client certificate but no client-key(-data)")
    for what, file, data in (("client-certificate", cert_file, cert_data), ("client-key", key_file, key_data)):
        if file is not None and not data:
            check_readable(file, what, user.where)
    return ClientCertificate(cert_file, key_file, cert_data, key_data)


def _credentials(user: Stanza, cluster: Stanza, config: ClientConfig, environ: Mapping[str, str]) -> Credentials:
    token, token_file, username = user.text("token"), user.file("tokenFile"), user.text("username")
    methods = [
        name
        for name, given in (
            ("token", token or token_file),
            ("username", username),
            ("exec", user.mapping("exec")),
            ("auth-provider", user.mapping("auth-provider")),
        )
        if given
    ]
    if len(methods) > 1:
        raise ConfigError(f"{user.where} has several ways to authenticate ({', '.join(methods)}): keep one")
    try:
        if token_file is not None:
            return TokenFile(token_file, fallback=token)
        if token:
            return StaticToken(token)
        if username:
            return Basic(username, user.text("password"))
    except CredentialsError as problem:
        raise ConfigError(f"{user.where}: {problem}") from None
    for method, make in _PROVIDERS.items():
        if user.mapping(method):
            return make(user, cluster, config, environ)
    return Anonymous()


_PROVIDERS: dict[str, Callable[[Stanza, Stanza, ClientConfig, Mapping[str, str]], Credentials]] = {}


def _read_yaml(path: Path, missing_ok: bool) -> Any:
    import yaml

    try:
        text = path.read_bytes()
    except FileNotFoundError:
        if missing_ok:
            return None
        raise ConfigError(f"kubeconfig {path} does not exist") from None
    except OSError as problem:
        raise ConfigError(f"kubeconfig {path} can't be read: {problem.strerror or problem}") from None
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark is not None else ""
        why = getattr(problem, "problem", None) or type(problem).__name__
        raise ConfigError(f"kubeconfig {path} is no YAML:{line} {why}") from None
    if document is None:
        raise ConfigError(f"kubeconfig {path} is empty")
    return document


def _listed(user: Stanza, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ConfigError(f"{user.where}: the values of as-user-extra must be lists")
    return values


def _form(value: Any) -> str:
    forms = {dict: "a mapping", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "nothing" if value is None else forms.get(type(value), type(value).__name__)

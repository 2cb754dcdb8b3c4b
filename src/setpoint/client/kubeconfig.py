"""kubeconfig files, read by client-go's rules (``tools/clientcmd``).

``KUBECONFIG`` is a list of files. For each cluster, user and context, and for ``current-context``, the first file that
has it wins. Relative paths are relative to the file that contains them. Missing and empty files in the list are
skipped; a file that can't be read or parsed is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from setpoint.client.config import ClientConfig, Impersonation, environment_proxy, in_cluster_config
from setpoint.client.errors import ConfigError
from setpoint.client.file_permissions import warn_if_open
from setpoint.client.kubeconfig_entry import KubeconfigEntry, form, parse_yaml, read_yaml
from setpoint.client.kubeconfig_user import certificate_of, credentials_of
from setpoint.client.tls import read_file

_OUTSIDE = frozenset(
    {"auth-provider", "certificate-authority", "client-certificate", "client-key", "exec", "tokenFile"}
)
_SECRETS = frozenset({"auth-provider", "client-key-data", "exec", "password", "token"})
"""The fields of a user that only the owner of the kubeconfig should be able to read or change: secrets, and ``exec``,
which names a command to run.
"""
_SECTIONS = {"clusters": "cluster", "users": "user", "contexts": "context"}


class Kubeconfig:
    """The merged content of a list of files.

    Attributes:
        clusters, users, contexts: the entries_by_name by name.
        current_context: the name of the current context; ``""`` if no file has one.
        files: the files that exist.
    """

    def __init__(self) -> None:
        self.clusters: dict[str, KubeconfigEntry] = {}
        self.users: dict[str, KubeconfigEntry] = {}
        self.contexts: dict[str, KubeconfigEntry] = {}
        self.current_context = ""
        self.files: list[Path] = []

    @classmethod
    def read(cls, *paths: Path, missing_ok: bool = False) -> Kubeconfig:
        """The merged content of the files; for each value the first file that has it wins.

        Raises:
            ConfigError: a file can't be read or is not a kubeconfig.
        """
        merged = cls()
        for path in dict.fromkeys(paths):
            document = read_yaml(path, missing_ok)
            if document is not None:
                merged._merge(path, document)
        return merged

    @classmethod
    def parse(cls, text: bytes, origin: str) -> Kubeconfig:
        """A kubeconfig that is not in a file, such as the content of a Secret; ``origin`` names it in messages.

        It must contain its credentials. Otherwise the author of such a Secret could read this machine's files or run
        its programs.

        Raises:
            ConfigError: the text is not a kubeconfig, or it refers to a file, a command or an auth-provider.
        """
        path = Path(origin)
        parsed = cls()
        parsed._merge(path, parse_yaml(text, path))
        for entry in (*parsed.clusters.values(), *parsed.users.values()):
            for field in _OUTSIDE & entry.fields.keys():
                raise ConfigError(
                    f"{entry.location}: {field} is not allowed in this kubeconfig, which must contain its certificates "
                    "and credentials"
                )
        return parsed

    @classmethod
    def merged(cls, documents: Mapping[Path, Any]) -> Kubeconfig:
        """The merged content of documents that this program has put together, by the paths that name them in messages.
        Commands and files in them are used.

        Raises:
            ConfigError: a document is not a kubeconfig.
        """
        merged = cls()
        for path, document in documents.items():
            merged._merge(path, document)
        return merged

    @property
    def is_empty(self) -> bool:
        """Whether there is no cluster, user, context or current context. client-go treats that like missing files."""
        return not (self.clusters or self.users or self.contexts or self.current_context)

    def _merge(self, path: Path, document: Any) -> None:
        if not isinstance(document, dict):
            raise ConfigError(f"{path} is not a kubeconfig: it holds {form(document)}, not a mapping")
        kind, version = document.get("kind") or "Config", document.get("apiVersion") or "v1"
        if kind != "Config" or version != "v1":
            raise ConfigError(
                f"{path} is not a kubeconfig of a known version: it has apiVersion {version!r}, kind {kind!r}"
            )
        self.files.append(path)
        current = document.get("current-context")
        if current is not None and not isinstance(current, str):
            raise ConfigError(f"{path}: current-context must be a string, not {form(current)}")
        self.current_context = self.current_context or current or ""
        for section, key in _SECTIONS.items():
            entries_by_name: dict[str, KubeconfigEntry] = getattr(self, section)
            entries = document.get(section)
            if entries is None:
                continue
            if not isinstance(entries, list):
                raise ConfigError(f"{path}: {section} must be a list, not {form(entries)}")
            for place, entry in enumerate(entries):
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise ConfigError(f"{path}: {section}[{place}] must be a mapping with a name")
                content = entry.get(key)
                if content is not None and not isinstance(content, dict):
                    raise ConfigError(f"{path}: {section}[{place}].{key} must be a mapping, not {form(content)}")
                entries_by_name.setdefault(entry["name"], KubeconfigEntry(key, entry["name"], path, content or {}))

    def config(self, context: str | None = None, *, environ: Mapping[str, str] | None = None) -> ClientConfig:
        """The configuration of a context, by default the current one. This neither opens a connection nor runs a
        plugin.

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
            raise ConfigError(f"{cluster.location} has no server")
        ca_file, ca_data = cluster.file("certificate-authority"), cluster.data("certificate-authority-data")
        if "://" not in server:  # as in client-go: https if anything is said of TLS
            has_certificate = user.text("client-certificate") or user.text("client-certificate-data")
            is_tls = ca_file or ca_data or has_certificate or cluster.flag("insecure-skip-tls-verify")
            server = f"{'https' if is_tls else 'http'}://{server}"
        if ca_file is not None and ca_data:
            raise ConfigError(
                f"{cluster.location} has both certificate-authority and certificate-authority-data: remove one"
            )
        if ca_file is not None:
            read_file(ca_file, "certificate-authority", cluster.location)
        if not _SECRETS.isdisjoint(user.fields):
            warn_if_open(user.path, "kubeconfig")
        impersonate = None
        extra = {name: tuple(map(str, _listed(user, values))) for name, values in user.mapping("as-user-extra").items()}
        if user.text("as") or user.text("as-uid") or user.names("as-groups") or extra:
            try:
                impersonate = Impersonation(user.text("as"), user.text("as-uid"), user.names("as-groups"), extra)
            except ConfigError as problem:
                raise ConfigError(f"{user.location}: {problem}") from None
        try:
            config = ClientConfig(
                server=server,
                ca_file=ca_file,
                ca_data=ca_data,
                verify=not cluster.flag("insecure-skip-tls-verify"),
                tls_server_name=cluster.text("tls-server-name"),
                certificate=certificate_of(user),
                proxy_url=cluster.text("proxy-url") or environment_proxy(server, environ),
                impersonate=impersonate,
                namespace=chosen.text("namespace") or "default",
                compression=not cluster.flag("disable-compression"),
                source=source,
            )
        except ConfigError as problem:
            if str(chosen.path) in str(problem):
                raise
            raise ConfigError(f"{cluster.location}: {problem}") from None
        return replace(config, credentials=credentials_of(user, cluster, config, environ))

    def _context(self, context: str | None) -> KubeconfigEntry:
        name = context or self.current_context
        files = " and ".join(map(str, self.files)) or "no file"
        names = ", ".join(sorted(self.contexts)) or "none"
        if self.is_empty:
            raise ConfigError(f"kubeconfig {files} is empty: it has no clusters, users and contexts")
        if not name:
            raise ConfigError(f"{files}: there is no current-context; choose one of the contexts: {names}")
        if name not in self.contexts:
            raise ConfigError(f"context {name!r} does not exist in {files}; there are: {names}")
        return self.contexts[name]

    def _named(
        self, entries_by_name: Mapping[str, KubeconfigEntry], key: str, context: KubeconfigEntry
    ) -> KubeconfigEntry:
        name = context.text(key)
        if not name:
            if key == "user":  # as in kubectl: no user means anonymous
                return KubeconfigEntry("user", "", context.path, {})
            raise ConfigError(f"{context.location} names no {key}")
        if name not in entries_by_name:
            names = ", ".join(sorted(entries_by_name)) or "none"
            raise ConfigError(f"{context.location} names {key} {name!r}, which does not exist; there are: {names}")
        return entries_by_name[name]


def kubeconfig_paths(environ: Mapping[str, str]) -> list[Path]:
    """The files to read: those that ``KUBECONFIG`` lists, or ``~/.kube/config`` if it is not set."""
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return listed or [(Path(home) if home else Path.home()) / ".kube" / "config"]


def load_kubeconfig(
    path: str | Path | None = None, context: str | None = None, *, environ: Mapping[str, str] | None = None
) -> ClientConfig:
    """The configuration of a context (default: the current one) in ``path`` or, without a ``path``, in the usual files.

    Raises:
        ConfigError: the configuration can't be used; the message names the file, context, cluster or user at fault.
    """
    environ = os.environ if environ is None else environ
    if path is not None:
        return Kubeconfig.read(Path(path).expanduser()).config(context, environ=environ)
    paths = kubeconfig_paths(environ)
    merged = Kubeconfig.read(*paths, missing_ok=True)
    if merged.is_empty:
        tried = " and ".join(map(str, paths))
        raise ConfigError(f"no kubeconfig: {tried} {_absence(merged)}; set KUBECONFIG")
    return merged.config(context, environ=environ)


def load_config(
    path: str | Path | None = None, context: str | None = None, *, environ: Mapping[str, str] | None = None
) -> ClientConfig:
    """The configuration from ``path`` if it is given; otherwise from the files in ``KUBECONFIG`` (``~/.kube/config`` if
    it is not set) or, if none of these files exists or all are empty, from the service account of the pod. With a
    ``context``, only kubeconfigs are used.

    Raises:
        ConfigError: there is no configuration, or it can't be used.
    """
    environ = os.environ if environ is None else environ
    if path is not None or context is not None:
        return load_kubeconfig(path, context, environ=environ)
    paths = kubeconfig_paths(environ)
    merged = Kubeconfig.read(*paths, missing_ok=True)
    if not merged.is_empty:
        return merged.config(environ=environ)
    try:
        return in_cluster_config(environ=environ)
    except ConfigError as problem:
        tried = " and ".join(map(str, paths))
        raise ConfigError(f"no configuration: {tried} {_absence(merged)}, and {problem}") from None


def _absence(merged: Kubeconfig) -> str:
    return "has no clusters, users and contexts" if merged.files else "does not exist"


def _listed(user: KubeconfigEntry, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ConfigError(f"{user.location}: the values of as-user-extra must be lists")
    return values

"""The user in a kubeconfig: the client certificate and the credentials."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any

from setpoint.client.config import ClientConfig, environment_proxy
from setpoint.client.credentials import Anonymous, Basic, Credentials, StaticToken, TokenFile
from setpoint.client.errors import ConfigError, CredentialsError
from setpoint.client.exec_plugin import API_GROUP, VERSIONS, ExecPlugin, ExecPluginConfig
from setpoint.client.file_permissions import warn_if_open
from setpoint.client.kubeconfig_entry import KubeconfigEntry
from setpoint.client.oidc import Oidc, OidcConfig
from setpoint.client.tls import ClientCertificate, read_file
from setpoint.client.transport import Transport


def certificate_of(user: KubeconfigEntry) -> ClientCertificate | None:
    cert_file, cert_data = user.file("client-certificate"), user.data("client-certificate-data")
    key_file, key_data = user.file("client-key"), user.data("client-key-data")
    if not (cert_file or cert_data or key_file or key_data):
        return None
    if not (cert_file or cert_data):
        raise ConfigError(f"{user.location} has a client key but no client-certificate(-data)")
    if not (key_file or key_data):
        raise ConfigError(f"{user.location} has a client certificate but no client-key(-data)")
    for label, file, data in (("client-certificate", cert_file, cert_data), ("client-key", key_file, key_data)):
        if file is not None and not data:
            read_file(file, label, user.location)
    if key_file is not None and not key_data:
        warn_if_open(key_file, "client-key")
    return ClientCertificate(cert_file, key_file, cert_data, key_data)


def credentials_of(
    user: KubeconfigEntry, cluster: KubeconfigEntry, config: ClientConfig, environ: Mapping[str, str]
) -> Credentials:
    """The credentials of a user. As in client-go, an exec plugin is not run, and an auth provider not used, beside a
    token or a user name; a plugin also not beside a client certificate.
    """
    token, token_file, username = user.text("token"), user.file("tokenFile"), user.text("username")
    plugin, provider = user.mapping("exec"), user.mapping("auth-provider")
    for first, second, are_both in (
        ("token", "username", (token or token_file) and username),
        ("exec", "auth-provider", plugin and provider),
    ):
        if are_both:
            raise ConfigError(f"{user.location} has several ways to authenticate ({first}, {second}): keep one")
    try:
        if token_file is not None:
            return TokenFile(token_file, fallback=token)
        if token:
            return StaticToken(token)
        if username:
            return Basic(username, user.text("password"))
    except CredentialsError as problem:
        raise ConfigError(f"{user.location}: {problem}") from None
    if plugin and config.certificate is None:
        return ExecPlugin(
            _exec_config(KubeconfigEntry("exec of user", user.name, user.path, plugin), cluster, config),
            environ=environ,
        )
    if provider:
        return _oidc(user, KubeconfigEntry("auth-provider of user", user.name, user.path, provider), environ)
    return Anonymous()


def _exec_config(plugin: KubeconfigEntry, cluster: KubeconfigEntry, config: ClientConfig) -> ExecPluginConfig:
    command, version = plugin.text("command"), plugin.text("apiVersion")
    if not command:
        raise ConfigError(f"{plugin.location} names no command")
    if version not in VERSIONS:
        raise ConfigError(f"{plugin.location}: apiVersion {version!r} is not supported, only {' and '.join(VERSIONS)}")
    mode = plugin.text("interactiveMode")
    if mode not in ("", "Never", "IfAvailable", "Always"):
        raise ConfigError(f"{plugin.location}: interactiveMode {mode!r} is not Never, IfAvailable or Always")
    if not mode and version == VERSIONS[0]:
        raise ConfigError(f"{plugin.location}: interactiveMode must be given with {version}")
    if os.sep in command and not os.path.isabs(command):
        command = str(plugin.path.parent / command)
    environ: dict[str, str] = {}
    for place, entry in enumerate(plugin.entries("env")):
        name, value = entry["name"], entry.get("value")
        if not isinstance(value, str | None) or not _fits(name, value or "") or "=" in name:
            raise ConfigError(
                f"{plugin.location}: env[{place}] must have a valid name and value for an environment variable"
            )
        environ[name] = value or ""
    args = plugin.names("args")
    if not _fits(command, *args):
        raise ConfigError(f"{plugin.location}: command and args contain characters that a command line can't carry")
    return ExecPluginConfig(
        command,
        version,
        args,
        environ,
        plugin.text("installHint"),
        _cluster_info(cluster, config) if plugin.flag("provideClusterInfo") else None,
        f"user {plugin.name!r} in {plugin.path}",
        mode or "IfAvailable",
    )


def _cluster_info(cluster: KubeconfigEntry, config: ClientConfig) -> dict[str, Any]:
    """The ``spec.cluster`` of an ExecCredential: the cluster's address, and its configuration for the plugin."""
    authority = config.ca_data
    if config.ca_file is not None:
        try:
            authority = config.ca_file.read_bytes()
        except OSError as problem:
            raise ConfigError(f"{cluster.location}: {config.ca_file} can't be read: {problem.strerror}") from None
    info: dict[str, Any] = {"server": config.server}
    if authority:
        info["certificate-authority-data"] = base64.b64encode(authority).decode()
    if not config.verify:
        info["insecure-skip-tls-verify"] = True
    for key, value in (("tls-server-name", config.tls_server_name), ("proxy-url", cluster.text("proxy-url"))):
        if value:
            info[key] = value
    if not config.compression:
        info["disable-compression"] = True
    for extension in cluster.entries("extensions"):
        if extension["name"] == f"{API_GROUP}/exec":
            info["config"] = extension.get("extension")
    try:
        json.dumps(info, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(f"{cluster.location}: the extension {API_GROUP}/exec has no JSON form: {problem}") from None
    return info


def _fits(*words: str) -> bool:
    """Whether the operating system accepts these words as arguments or in the environment."""
    try:
        return all(b"\0" not in os.fsencode(word) for word in words)
    except UnicodeEncodeError:
        return False


def _oidc(user: KubeconfigEntry, provider: KubeconfigEntry, environ: Mapping[str, str]) -> Credentials:
    name = provider.text("name")
    if name != "oidc":
        raise ConfigError(f"{user.location}: auth-provider {name!r} is not supported (Kubernetes dropped it); use exec")
    settings = KubeconfigEntry("auth-provider config of user", user.name, user.path, provider.mapping("config"))
    issuer, client_id = settings.text("idp-issuer-url"), settings.text("client-id")
    if not issuer or not client_id:
        raise ConfigError(f"{settings.location} needs idp-issuer-url and client-id")
    ca_file, ca_data = settings.file("idp-certificate-authority"), settings.data("idp-certificate-authority-data")
    source = f"user {user.name!r} in {user.path}"

    def connect(server: str) -> Transport:
        from setpoint.client.http_transport import HttpTransport

        # As in client-go: the proxy of a kubeconfig is that of its cluster, not of the issuer.
        proxy = environment_proxy(server, environ)
        return HttpTransport(
            ClientConfig(server=server, ca_file=ca_file, ca_data=ca_data, proxy_url=proxy, source=source)
        )

    return Oidc(
        OidcConfig(
            issuer,
            client_id,
            settings.text("client-secret"),
            settings.text("id-token"),
            settings.text("refresh-token"),
            source,
        ),
        connect,
    )

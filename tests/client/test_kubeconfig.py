"""The sources of a configuration, and the errors for one that can't be used."""

from __future__ import annotations

import base64
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.client import (
    Anonymous,
    Basic,
    ClientConfig,
    ConfigError,
    StaticToken,
    TokenFile,
    load_config,
    load_kubeconfig,
)
from setpoint.client import config as config_module
from setpoint.client.config import Impersonation, environment_proxy, in_cluster_config
from setpoint.client.exec_plugin import ExecPlugin
from setpoint.client.http_transport import HttpTransport
from setpoint.client.oidc import Oidc

SECRET = "s3cret-value"


def write(path: Path, **changes: Any) -> Path:
    """A kubeconfig with one context ``c``; ``cluster``, ``user`` and ``context`` replace those entries."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": changes.pop("current", "c"),
        "clusters": [{"name": "k", "cluster": changes.pop("cluster", {"server": "https://h:6443"})}],
        "users": [{"name": "u", "user": changes.pop("user", {})}],
        "contexts": [{"name": "c", "context": changes.pop("context", {"cluster": "k", "user": "u"})}],
        **changes,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def error(path: Path, context: str | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_kubeconfig(path, context, environ={})
    return str(caught.value)


def test_the_current_context_decides(file: Path) -> None:
    write(file, context={"cluster": "k", "user": "u", "namespace": "team"}, user={"token": "t"})
    config = load_kubeconfig(file, environ={})
    assert (config.server, config.namespace) == ("https://h:6443", "team")
    assert isinstance(config.credentials, StaticToken)
    assert config.source == f"context 'c' of {file}"


def test_the_first_file_of_the_list_wins_per_name(tmp_path: Path) -> None:
    first = write(tmp_path / "1", cluster={"server": "https://first"}, current=None)
    second = write(tmp_path / "2", cluster={"server": "https://second"}, current="d")
    third = tmp_path / "3"
    third.write_text(yaml.safe_dump({"contexts": [{"name": "d", "context": {"cluster": "k", "user": "x"}}]}))
    environ = {"KUBECONFIG": os.pathsep.join(map(str, [tmp_path / "missing", first, first, second, third]))}
    assert load_kubeconfig(environ=environ, context="c").server == "https://first"
    with pytest.raises(ConfigError, match=f"context 'd' in {third} names user 'x', which does not exist; there are: u"):
        load_kubeconfig(environ=environ)


def test_home_then_the_pod_itself_are_looked_at_last(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    with pytest.raises(ConfigError, match=r"no configuration: .*/.kube/config .*, and not inside a cluster"):
        load_config(environ=environ)
    with pytest.raises(ConfigError, match="set KUBECONFIG"):
        load_kubeconfig(environ=environ)
    write(tmp_path / ".kube" / "config")
    assert load_config(environ=environ).server == "https://h:6443"
    assert load_config(environ={**environ, "KUBERNETES_SERVICE_HOST": "x"}).server == "https://h:6443"


def test_in_cluster(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        in_cluster_config(environ=environ, service_account=tmp_path)
    for name in ("token", "ca.crt", "namespace"):
        (tmp_path / name).write_text(name)
    config = in_cluster_config(environ=environ, service_account=tmp_path)
    assert (config.server, config.namespace, config.ca_file) == (
        "https://[fd00::1]:443",
        "namespace",
        tmp_path / "ca.crt",
    )
    assert isinstance(config.credentials, TokenFile)


def test_relative_paths_are_relative_to_their_own_file(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key", "token"):
        (tmp_path / "sub" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "sub" / name).write_text("x")
    path = write(
        tmp_path / "sub" / "config",
        cluster={"server": "https://h", "certificate-authority": "ca"},
        user={"client-certificate": "crt", "client-key": "../sub/key", "tokenFile": "token"},
    )
    config = load_kubeconfig(path, environ={})
    assert config.ca_file == tmp_path / "sub" / "ca"
    assert config.certificate is not None
    assert config.certificate.cert_file == tmp_path / "sub" / "crt"
    assert repr(config.credentials) == f"TokenFile('{tmp_path / 'sub' / 'token'}')"


def test_every_kind_of_user(file: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Never"}
    oidc = {"name": "oidc", "config": {"idp-issuer-url": "https://i", "client-id": "c", "refresh-token": SECRET}}
    for user, kind in (
        ({}, Anonymous),
        ({"token": SECRET}, StaticToken),
        ({"username": "me", "password": SECRET}, Basic),
        ({"exec": {**plugin, "args": [SECRET], "env": [{"name": "A", "value": SECRET}]}}, ExecPlugin),
        ({"auth-provider": oidc}, Oidc),
    ):
        config = load_kubeconfig(write(file, user=user), environ={})
        assert type(config.credentials) is kind
        assert SECRET not in repr(config)


def test_no_secret_is_in_a_repr(file: Path) -> None:
    data = base64.b64encode(SECRET.encode()).decode()
    write(
        file,
        cluster={
            "server": f"https://me:{SECRET}@h",
            "certificate-authority-data": data,
            "proxy-url": f"http://me:{SECRET}@p:1",
        },
        user={"token": SECRET, "client-certificate-data": data, "client-key-data": data},
    )
    config = load_kubeconfig(file, environ={})
    assert config.certificate is not None
    assert config.certificate.key_data == SECRET.encode()
    for shown in (repr(config), str(config), repr(config.certificate), repr(config.tls), repr(config.credentials)):
        assert SECRET not in shown
        assert data not in shown
    assert "h" in repr(config)


def test_impersonation_becomes_headers(file: Path) -> None:
    write(file, user={"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"Scopes/é": ["x"]}})
    config = load_kubeconfig(file, environ={})
    assert config.impersonate is not None
    assert config.impersonate.headers() == [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "7"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-scopes%2F%C3%A9", "x"),
    ]
    with pytest.raises(ConfigError, match="together with a user"):
        Impersonation("", groups=("a",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("a: [", "is not YAML: line 2"),
        ("\0", "is not YAML"),
        ("- a", "is not a kubeconfig: it holds a list"),
        ("clusters: &a [*a]", r"clusters\[0\] must be a mapping with a name"),
        ("&a {clusters: [{name: k, cluster: *a}], contexts: 3}", "contexts must be a list"),
        ("apiVersion: v9\nkind: Config", "known version: it has apiVersion 'v9'"),
        ("kind: Pod", "kind 'Pod'"),
        ("current-context: 3", "current-context must be a string, not a number"),
        ("clusters: {}\n", "clusters must be a list, not a mapping"),
        ("users: [{name: a, user: []}]", r"users\[0\].user must be a mapping, not a list"),
        ("clusters: []", "is empty: it has no clusters, users and contexts"),
        ("contexts: [{name: b}]", "there is no current-context; choose one of the contexts: b"),
        ("current-context: a\ncontexts: [{name: b}]", "context 'a' does not exist in .*; there are: b"),
        ("current-context: b\ncontexts: [{name: b}]", "context 'b' in .* names no cluster"),
        ("current-context: b\ncontexts: [{name: b, context: {cluster: k}}]", "names cluster 'k', which does not exist"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_kubeconfig(file, environ={})
    assert str(file) in str(caught.value)


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Never"}


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({}, {}, "cluster 'k' in .* has no server"),
        ({"server": "ftp://x"}, {}, "not an http.s. URL"),
        ({"server": 3}, {}, "server must be a string, not a number"),
        (
            {"server": "https://h", "certificate-authority": "gone"},
            {},
            "-authority .*gone can't be read: No such",
        ),
        ({"server": "https://h", "certificate-authority-data": "%%"}, {}, "certificate-authority-data is not base64"),
        ({"server": "https://h", "insecure-skip-tls-verify": "yes"}, {}, "must be true or false, not a string"),
        (
            {"server": "https://h", "insecure-skip-tls-verify": True, "certificate-authority-data": "YQ=="},
            {},
            "remove one",
        ),
        (None, {"client-certificate": "gone", "client-key": "gone"}, "client-certificate .*gone can't be read"),
        (None, {"client-certificate-data": "YQ=="}, r"user 'u' in .* has a client certificate but no client-key"),
        (None, {"client-key-data": "YQ=="}, r"has a client key but no client-certificate"),
        (None, {"token": "a", "username": "b"}, r"several ways to authenticate \(token, username\)"),
        (None, {"token": "a\nb"}, "user 'u' in .*: token contains characters"),
        (None, {"as-groups": ["a"]}, "user 'u' in .*together with a user"),
        (None, {"exec": {**PLUGIN, "command": None}}, "names no command"),
        (
            None,
            {"exec": {**PLUGIN, "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            "v1alpha1' is not supported",
        ),
        (None, {"exec": {**PLUGIN, "interactiveMode": None}}, "interactiveMode must be given"),
        (None, {"tokenFile": "t", "username": "b"}, r"several ways to authenticate \(token, username\)"),
        (
            None,
            {"exec": PLUGIN, "auth-provider": {"name": "oidc"}},
            r"several ways to authenticate \(exec, auth-provider\)",
        ),
        (None, {"auth-provider": {"name": "gcp"}}, "auth-provider 'gcp' is not supported"),
        (None, {"auth-provider": {"name": "oidc"}}, "needs idp-issuer-url and client-id"),
    ],
)
def test_what_is_wrong_with_a_stanza_is_said(file: Path, cluster: Any, user: Any, message: str) -> None:
    write(file, cluster=cluster if cluster is not None else {"server": "https://h"}, user=user)
    with pytest.raises(ConfigError, match=message) as caught:
        load_kubeconfig(file, environ={})
    assert str(file) in str(caught.value)


def test_unreadable_files_are_said(tmp_path: Path) -> None:
    assert "does not exist" in error(tmp_path / "gone")
    assert "can't be read" in error(tmp_path)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "can't be read: Too many levels of symbolic links" in error(loop)


@contextmanager
def unprivileged() -> Iterator[None]:
    """As a user to whom permissions of files apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="there are no such permissions")
@pytest.mark.parametrize("name", ["config", "ca", "crt", "key"])
def test_a_file_that_may_not_be_read_is_named_with_the_reason(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory:  # pytest's own are closed to other users altogether
        place = Path(directory)
        for file in ("ca", "crt", "key"):
            (place / file).write_text("x")
        cluster = {"server": "https://h", "certificate-authority": "ca"}
        write(place / "config", cluster=cluster, user={"client-certificate": "crt", "client-key": "key"})
        place.chmod(0o755)
        for file in place.iterdir():
            file.chmod(0o644)
        (place / name).chmod(0o000)
        with unprivileged():
            if os.access(place / name, os.R_OK, effective_ids=True):
                pytest.skip("this user has the capability to read every file")
        with unprivileged(), pytest.raises(ConfigError, match=f"{name} can't be read: Permission denied"):
            load_kubeconfig(place / "config", environ={})


@pytest.mark.skipif(os.name != "posix", reason="there are no such permissions")
@pytest.mark.parametrize(
    ("user", "open_file", "mode", "message"),
    [
        ({"token": SECRET}, "config", 0o644, "kubeconfig .*config has mode 0644: every user of this machine can read"),
        ({"token": SECRET}, "config", 0o602, "mode 0602: every user of this machine can change it"),
        ({"token": SECRET}, "config", 0o640, ""),
        ({"client-certificate": "crt", "client-key": "key"}, "config", 0o644, ""),
        ({"client-certificate": "crt", "client-key": "key"}, "crt", 0o644, ""),
        ({"client-certificate": "crt", "client-key": "key"}, "key", 0o644, "client-key .*key has mode 0644"),
        ({"tokenFile": "key"}, "key", 0o644, ""),  # as service accounts' are mounted
    ],
)
def test_a_secret_that_others_can_read_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, user: dict[str, str], open_file: str, mode: int, message: str
) -> None:
    for name in ("crt", "key"):
        (tmp_path / name).write_text("x")
    path = write(tmp_path / "config", user=user)
    for file in tmp_path.iterdir():
        file.chmod(0o600)
    (tmp_path / open_file).chmod(mode)
    load_kubeconfig(path, environ={})
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == (1 if message else 0), warnings
    assert SECRET not in caplog.text
    assert re.search(message, caplog.text)


@pytest.mark.parametrize("empty", ["", "# nothing\n", "---\n", "apiVersion: v1\nkind: Config\n", "clusters: []\n"])
def test_an_empty_file_counts_as_absent_as_in_kubectl(tmp_path: Path, empty: str) -> None:
    good, nothing = tmp_path / "good", tmp_path / "nothing"
    write(good, cluster={"server": "https://h"}, user={"token": "t"})
    nothing.write_text(empty)
    for names in ((nothing, good), (good, nothing)):
        config = load_config(environ={"KUBECONFIG": ":".join(map(str, names))})
        assert config.server == "https://h"
    for load in (load_config, load_kubeconfig):
        with pytest.raises(ConfigError, match=f"{nothing} has no clusters, users and contexts"):
            load(environ={"KUBECONFIG": str(nothing)})


def test_in_a_pod_an_empty_kubeconfig_gives_way_to_the_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").touch()
    (tmp_path / "token").write_text("t")
    monkeypatch.setattr(config_module, "SERVICE_ACCOUNT", tmp_path)
    environ = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert load_config(environ=environ).server == "https://10.0.0.1:443"
    with pytest.raises(ConfigError, match="is empty"):
        load_kubeconfig(tmp_path / ".kube" / "config", environ=environ)


OIDC = {"name": "oidc", "config": {"idp-issuer-url": "https://x", "client-id": "y"}}


@pytest.mark.parametrize("other", [{"exec": PLUGIN}, {"auth-provider": OIDC}, {"auth-provider": {"name": "gcp"}}])
@pytest.mark.parametrize(
    ("own", "kind"),
    [
        ({"token": "t"}, StaticToken),
        ({"tokenFile": "t"}, TokenFile),
        ({"username": "a", "password": "b"}, Basic),
    ],
)
def test_beside_a_token_or_a_user_name_no_plugin_is_run(file: Path, own: Any, kind: type, other: Any) -> None:
    write(file, cluster={"server": "https://h"}, user={**own, **other})
    assert isinstance(load_kubeconfig(file, environ={}).credentials, kind)


def test_beside_a_client_certificate_no_plugin_is_run(file: Path) -> None:
    certificate = {"client-certificate-data": "YQ==", "client-key-data": "YQ=="}
    write(file, cluster={"server": "https://h"}, user={**certificate, "exec": PLUGIN})
    assert isinstance(load_kubeconfig(file, environ={}).credentials, Anonymous)


def test_a_proxy_of_the_environment_counts_in_a_pod_too(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HTTPS_PROXY": "http://p:1"}
    assert in_cluster_config(environ=environ, service_account=tmp_path).proxy_url == "http://p:1"
    environ["NO_PROXY"] = "10.0.0.0/8"
    assert in_cluster_config(environ=environ, service_account=tmp_path).proxy_url == ""


@pytest.mark.parametrize(("no_proxy", "proxy"), [("", "http://p:3128"), ("login.example.com", "")])
def test_a_provider_of_tokens_is_reached_by_the_proxy_of_the_environment(file: Path, no_proxy: str, proxy: str) -> None:
    provider = {"idp-issuer-url": "https://login.example.com", "client-id": "c", "refresh-token": SECRET}
    user = {"auth-provider": {"name": "oidc", "config": provider}}
    write(file, cluster={"server": "https://h", "proxy-url": "http://of-the-cluster:3128"}, user=user)
    config = load_kubeconfig(file, environ={"HTTPS_PROXY": "p:3128", "NO_PROXY": no_proxy})
    assert config.proxy_url == "http://of-the-cluster:3128"
    assert isinstance(config.credentials, Oidc)
    transport = config.credentials._connect("https://login.example.com")
    assert isinstance(transport, HttpTransport)
    assert transport._config.proxy_url == proxy


def test_a_broken_file_of_the_list_is_never_ignored(tmp_path: Path) -> None:
    good = write(tmp_path / "good")
    (tmp_path / "bad").write_text("{")
    with pytest.raises(ConfigError, match="bad is not YAML"):
        load_config(environ={"KUBECONFIG": f"{good}{os.pathsep}{tmp_path / 'bad'}"})


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://api.example.com", "", True),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("https://[::1]:6443", "", False),
        ("https://api.example.com", "example.com", False),
        ("https://api.example.com", ".example.com", False),
        ("https://example.com", ".example.com", True),
        ("https://example.com", "*", False),
        ("https://10.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "11.0.0.0/8,10.1.2.4", True),
        ("https://h:6443", "h:6443", False),
        ("https://h:6443", "h:443", True),
        ("http://h", "", False),
    ],
)
def test_proxies_of_the_environment_count_as_in_go(server: str, no_proxy: str, proxied: bool) -> None:
    proxy = environment_proxy(server, {"HTTPS_PROXY": "p:3128", "NO_PROXY": no_proxy})
    assert proxy == ("http://p:3128" if proxied else "")


@pytest.mark.parametrize(
    ("fields", "scheme"), [({}, "http"), ({"insecure-skip-tls-verify": True}, "https")], ids=["plain", "insecure"]
)
def test_a_server_without_a_scheme_has_https_if_tls_is_configured(
    file: Path, fields: dict[str, Any], scheme: str
) -> None:
    write(file, cluster={"server": "api.example.com:6443", **fields})
    config = load_kubeconfig(file, environ={"HTTPS_PROXY": "s:3128", "HTTP_PROXY": "p:3128"})
    proxy = "http://s:3128" if scheme == "https" else "http://p:3128"
    assert (config.server, config.proxy_url) == (f"{scheme}://api.example.com:6443", proxy)


def test_a_config_by_hand_is_checked_too() -> None:
    with pytest.raises(ConfigError, match="not an http"):
        ClientConfig(server="h:6443")

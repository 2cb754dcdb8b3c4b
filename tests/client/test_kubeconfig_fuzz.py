"""Kubeconfigs with anything anywhere: a configuration or a clear error that names the file, and never a secret."""

from __future__ import annotations

import copy
import datetime
import logging
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from setpoint.client import Client, ClientConfig, ConfigError, CredentialsError, TransportError, load_kubeconfig
from setpoint.client.config import redacted

V1 = "client.authentication.k8s.io/v1"
GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "exec",
    "clusters": [
        {
            "name": "k",
            "cluster": {
                "server": "https://h:6443/x",
                "certificate-authority-data": "YQ==",
                "tls-server-name": "n",
                "proxy-url": "http://a:b@p:1",
                "disable-compression": True,
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
            },
        }
    ],
    "users": [
        {
            "name": "exec",
            "user": {
                "exec": {
                    "apiVersion": V1,
                    "command": "./x",
                    "args": ["a"],
                    "env": [{"name": "A", "value": "B"}],
                    "interactiveMode": "Never",
                    "provideClusterInfo": True,
                    "installHint": "h",
                },
                "as": "j",
                "as-uid": "1",
                "as-groups": ["g"],
                "as-user-extra": {"k": ["v"]},
                "client-certificate-data": "YQ==",
                "client-key-data": "YQ==",
            },
        },
        {
            "name": "oidc",
            "user": {
                "auth-provider": {
                    "name": "oidc",
                    "config": {
                        "idp-issuer-url": "https://i",
                        "client-id": "c",
                        "client-secret": "s",
                        "id-token": "a.b.c",
                        "refresh-token": "r",
                        "idp-certificate-authority-data": "YQ==",
                    },
                }
            },
        },
        {"name": "basic", "user": {"username": "a", "password": "b"}},
        {"name": "token", "user": {"token": "t"}},
        {"name": "file", "user": {"tokenFile": "t", "client-certificate": "c", "client-key": "k"}},
    ],
    "contexts": [
        {"name": name, "context": {"cluster": "k", "user": name, "namespace": "ns"}}
        for name in ("exec", "oidc", "basic", "token", "file")
    ],
}
ODD: list[Any] = [
    *(None, "", 0, -1, 1.5, True, False, [], {}, [None], [[]], {"a": None}, {1: 2}, float("inf"), 10**30),
    *("x", "\n", "é", "\x00", "%%", "YQ", "YQ==\n", "..", "~", "//", "a" * 5000, b"\x00\xff"),
    *("http://[::1", "https://h:99999", "https://", "https://h:abc", "http://:80", "https://u:p@h@i", "a:b@c"),
    *("https://h\r\nx: y", "https://h:0", "https://h?x=1", "https://é.example.com", "socks5://h"),
    *(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), {"x", "y"}),
]


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    pairs: Any = ()
    if isinstance(document, dict):
        pairs = document.items()
    elif isinstance(document, list):
        pairs = enumerate(document)
    for key, value in pairs:
        yield from places(value, (*path, key))


PLACES = list(places(GOOD))


@settings(max_examples=200, deadline=None)
@example(changes=[(("users", 4, "user", "client-certificate"), "\x00")], context="file")
@given(
    changes=st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD)), min_size=1, max_size=3),
    context=st.sampled_from(["exec", "oidc", "basic", "token", "file"]),
)
def test_anything_anywhere_is_a_configuration_or_a_clear_error(
    changes: list[tuple[tuple[Any, ...], Any]], context: str
) -> None:
    document = copy.deepcopy(GOOD)
    for path, value in changes:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key] if isinstance(inner, dict | list) and len(inner) and _has(inner, key) else None
        if isinstance(inner, dict | list) and _has(inner, path[-1]):
            inner[path[-1]] = value
    with tempfile.TemporaryDirectory() as directory:
        for name in "tck":
            (Path(directory) / name).write_text("x")
        path = Path(directory) / "config"
        path.write_text(yaml.dump(document, Dumper=yaml.SafeDumper), "utf-8")
        shown = said(lambda: load_kubeconfig(path, context, environ={"HTTPS_PROXY": "p"}))
        assert shown.startswith("ClientConfig(") or str(path) in shown
        assert len(shown) < 40_000


def said(make: Callable[[], ClientConfig]) -> str:
    """The text of a configuration, or of the error instead of one."""
    try:
        return repr(make())
    except ConfigError as problem:
        return str(problem)


def _has(inner: Any, key: Any) -> bool:
    return key in inner if isinstance(inner, dict) else isinstance(key, int) and key < len(inner)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_a_clear_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "config"
        path.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            load_kubeconfig(path, environ={})
        assert str(path) in str(caught.value)


# -- secrets ----------------------------------------------------------------------------------------------------------

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "url",
    [
        f"https://me:{SECRET}@h/x",
        f"https://me:{SECRET}@h@h",
        f"https://me:a/{SECRET}@h",
        f"https://me:{SECRET}@{SECRET}@h",
        f"me:{SECRET}@h:3128",
        f"https://{SECRET}@h",
    ],
)
def test_a_url_is_shown_without_its_user_information(url: str) -> None:
    assert SECRET not in redacted(url)
    assert redacted(url).endswith(("@h", "@h/x", "@h:3128"))
    for field in ("server", "proxy_url"):
        given: dict[str, Any] = {"server": "https://h", field: url}
        assert SECRET not in said(lambda given=given: ClientConfig(**given))  # type: ignore[misc]


PLUGIN = {"apiVersion": V1, "command": "true", "interactiveMode": "Never"}
OIDC = {"idp-issuer-url": "https://127.0.0.1:1", "client-id": "c"}


@pytest.mark.parametrize(
    "user",
    [
        {"token": SECRET},
        {"username": "me", "password": SECRET},
        {"exec": {**PLUGIN, "args": [SECRET]}},
        {"exec": {**PLUGIN, "env": [{"name": "A", "value": SECRET}]}},
        {"auth-provider": {"name": "oidc", "config": {**OIDC, "client-secret": SECRET, "refresh-token": "r"}}},
        {"auth-provider": {"name": "oidc", "config": {**OIDC, "refresh-token": SECRET}}},
        {"auth-provider": {"name": "oidc", "config": {**OIDC, "id-token": SECRET}}},
    ],
)
async def test_no_secret_is_in_a_repr_a_log_or_an_error(
    tmp_path: Path, user: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    document = {
        **GOOD,
        "clusters": [
            {
                "name": "k",
                "cluster": {
                    "server": "https://127.0.0.1:1",
                    "insecure-skip-tls-verify": True,
                    "proxy-url": f"http://me:{SECRET}@127.0.0.1:1",
                },
            }
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "current-context": "c",
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    config = load_kubeconfig(path, environ={})
    with caplog.at_level(logging.DEBUG):
        async with Client.from_config(config) as client:
            with pytest.raises((TransportError, CredentialsError)) as caught:
                await client.request("POST", "/x", timeout=5)
    shown = [
        repr(config),
        repr(config.credentials),
        repr(vars(client)),
        str(caught.value),
        repr(caught.value),
        caplog.text,
    ]
    assert [text for text in shown if SECRET in text] == []
    assert "insecure-skip-tls-verify" in caplog.text

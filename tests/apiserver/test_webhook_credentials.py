"""The file of ``--admission-control-config-file``: as which users webhooks are called."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.apiserver.webhooks.admission_configuration import MUTATING, VALIDATING, webhook_users
from setpoint.apiserver.webhooks.credentials import CredentialsError, WebhookUsers

KIND = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration"}
WEBHOOKS = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmission"}


def kubeconfig(folder: Path, **users: Any) -> Path:
    file = folder / "webhooks.kubeconfig"
    named = [{"name": name, "user": user} for name, user in users.items()]
    file.write_text(yaml.safe_dump({"users": named, "current-context": "c", "contexts": [
        {"name": "c", "context": {"user": "current", "cluster": "none"}}
    ]}))  # fmt: skip
    return file


USERS = {
    "hooks.system.svc:8443": {"token": "port"},
    "*.system.svc:8443": {"token": "starred port"},
    "hooks.system.svc": {"token": "name"},
    "*.system.svc": {"token": "starred name"},
    "*.example.com": {"token": "company"},
}


@pytest.mark.parametrize(
    ("host", "port", "user"),
    [
        ("hooks.system.svc", 8443, "port"),
        ("other.system.svc", 8443, "starred port"),
        ("hooks.system.svc", 443, "name"),
        ("other.system.svc", 443, "starred name"),
        ("a.b.example.com", 443, "company"),
        ("hooks.system.svc", 9443, "rest"),
        ("example.com", 443, "rest"),
    ],
)
def test_the_most_specific_user_is_taken(host: str, port: int, user: str, tmp_path: Path) -> None:
    for rest in ("*", "current"):
        users = WebhookUsers(kubeconfig(tmp_path, **USERS, **{rest: {"token": "rest"}}))
        assert users.of(host, port).authorization == f"Bearer {user}"


def test_a_token_file_is_read_at_each_call(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    users = WebhookUsers(kubeconfig(tmp_path, **{"*": {"tokenFile": "token"}}))
    assert users.of("a", 1).authorization == "Bearer one"
    (tmp_path / "token").write_text("two\n")
    assert users.of("a", 1).authorization == "Bearer two"


def test_a_password_is_sent_as_basic_authentication(tmp_path: Path) -> None:
    users = WebhookUsers(kubeconfig(tmp_path, **{"*": {"username": "a", "password": "b"}}))
    assert users.of("a", 1).authorization == f"Basic {base64.b64encode(b'a:b').decode()}"


def test_each_plugin_has_users_of_its_own(tmp_path: Path) -> None:
    config = {**WEBHOOKS, "kubeConfigFile": str(kubeconfig(tmp_path, **{"*": {"token": "t"}}))}
    (tmp_path / "webhooks.yaml").write_text(yaml.safe_dump(config))
    plugins = [{"name": VALIDATING, "configuration": config}, {"name": MUTATING, "path": "webhooks.yaml"}]
    file = tmp_path / "admission.yaml"
    file.write_text(yaml.safe_dump({**KIND, "plugins": plugins}))
    assert webhook_users(file).keys() == {VALIDATING, MUTATING}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({**KIND, "plugins": [{"name": "PodSecurity"}]}, "plugins[0].name: PodSecurity can't be configured here, only"),
        ({**KIND, "plugins": [{"name": VALIDATING}]},
         "plugins[0]: give it a configuration with kubeConfigFile, or a path"),
        ({**KIND, "plugins": [{"name": VALIDATING, "configuration": {**WEBHOOKS, "kubeConfigFile": "x"}}]},
         "plugins[0]: kubeConfigFile: x must be an absolute file path"),
        ({**KIND, "plugins": [{"name": VALIDATING, "configuration": {**WEBHOOKS, "kubeConfigFile": "/none"}}]},
         "/none: No such file or directory"),
        ({**KIND, "plugins": [{"name": VALIDATING, "configuration": {**KIND, "kubeConfigFile": "/none"}}]},
         "plugins[0].configuration: expected apiserver.config.k8s.io/v1, WebhookAdmission, not"),
        ({**KIND, "plugins": 1}, "is not a AdmissionConfiguration: Expected `array`, got `int` - at `$.plugins`"),
        ({**WEBHOOKS}, "expected apiserver.config.k8s.io/v1, AdmissionConfiguration, not"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_is_said_with_its_field(document: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(CredentialsError) as problem:
        webhook_users(file)
    assert message in str(problem.value)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"exec": {"command": "x"}}, "the user '*' runs a program for its credentials, which is not supported here"),
        ({"client-certificate-data": "eA=="}, "the user '*' needs both a client certificate and its key"),
        ({"client-certificate-data": "?"}, "the user '*': its data is not base64"),
        ({"client-certificate": "none.crt"}, "none.crt: No such file or directory"),
        ({"client-certificate-data": "eA==", "client-key-data": "eA=="},
         "the user '*': the client certificate and its key can't be used"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_user_is_said_at_the_start(user: Any, message: str, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, **{"*": user})
    with pytest.raises(CredentialsError) as problem:
        WebhookUsers(file)
    assert message in str(problem.value)
    assert str(problem.value).startswith(str(file))

"""The file of ``--admission-control-config-file``: with which credentials a server calls admission webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from setpoint.apiserver.webhooks.credentials import CredentialsError, WebhookUsers

MUTATING: Final = "MutatingAdmissionWebhook"
VALIDATING: Final = "ValidatingAdmissionWebhook"
_FILE: Final = ("AdmissionConfiguration", ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"))
_PLUGIN: Final = ("WebhookAdmission", ("apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"))


class _Webhooks(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    kube_config_file: str


class _Plugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    path: str = ""
    configuration: dict[str, Any] | None = None


class _Document(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    plugins: tuple[_Plugin, ...] = ()


def webhook_users(path: Path) -> Mapping[str, WebhookUsers]:
    """The users in the kubeconfigs of the plugins `MUTATING` and `VALIDATING`, by the plugin's name.

    A plugin's configuration stands in the file, or in the file that its ``path`` names, relative to this file.

    Raises:
        CredentialsError: a file can't be used, or configures another plugin; the message names the file and the field.
    """
    document = _read(path, _Document, _FILE)
    users: dict[str, WebhookUsers] = {}
    for index, plugin in enumerate(document.plugins):
        field = f"{path}: plugins[{index}]"
        if plugin.name not in (MUTATING, VALIDATING):
            raise CredentialsError(
                f"{field}.name: {plugin.name} can't be configured here, only {MUTATING} and {VALIDATING}"
            )
        if plugin.configuration is not None:
            config = _checked(plugin.configuration, f"{field}.configuration", _Webhooks, _PLUGIN)
        elif plugin.path:
            config = _read(path.parent / plugin.path, _Webhooks, _PLUGIN)
        else:
            raise CredentialsError(f"{field}: give it a configuration with kubeConfigFile, or a path")
        file = Path(config.kube_config_file)
        if not file.is_absolute():
            raise CredentialsError(f"{field}: kubeConfigFile: {file} must be an absolute file path")
        users[plugin.name] = WebhookUsers(file)
    return users


def _read(path: Path, form: Any, kinds: tuple[str, tuple[str, ...]]) -> Any:
    from setpoint.meta.yaml_files import YamlFileError, read_first

    try:
        document = read_first(path)
    except YamlFileError as problem:
        raise CredentialsError(str(problem)) from None
    return _checked(document, str(path), form, kinds)


def _checked(document: Any, place: str, form: Any, kinds: tuple[str, tuple[str, ...]]) -> Any:
    kind, versions = kinds
    try:
        checked = msgspec.convert(document, form)
    except msgspec.ValidationError as problem:
        raise CredentialsError(f"{place} is not a {kind}: {problem}") from None
    if checked.kind != kind or checked.api_version not in versions:
        raise CredentialsError(f"{place}: expected {versions[0]}, {kind}, not {checked.api_version}, {checked.kind}")
    return checked

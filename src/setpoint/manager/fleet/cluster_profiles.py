"""A provider of fleets: ClusterProfiles of the Cluster Inventory API, with access providers (KEP-4322, KEP-5339)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from setpoint.client import Client, ClientConfig, ConfigError
from setpoint.client.kubeconfig import Kubeconfig
from setpoint.manager.fleet.kubeconfig_providers import Members

if TYPE_CHECKING:
    from setpoint.client import DynamicObject
    from setpoint.manager.fleet.fleet import Fleet

RESOURCE: Final = "clusterprofiles.multicluster.x-k8s.io"
_ARGS: Final = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args"
_ENVIRONMENT: Final = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs"
_FROM_PROFILE: Final = (
    "server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url",
    "disable-compression", "extensions",
)  # fmt: skip
"""The fields of a cluster that a profile may set: none of them names a file or a command of this machine."""
logger = logging.getLogger("setpoint.fleet")


class _AccessProvider(msgspec.Struct, rename="camel", frozen=True):
    """A way to get credentials: a program that this machine's administrator trusts, and what a profile may add."""

    name: str
    exec_config: dict[str, Any]
    profile_sourced_args: Literal["", "Ignore", "Append"] = msgspec.field(
        default="", name="profileSourcedCLIArgsPolicy"
    )
    profile_sourced_environment: Literal["", "Ignore", "AppendIfNotExists", "Replace"] = msgspec.field(
        default="", name="profileSourcedEnvVarsPolicy"
    )


class _File(msgspec.Struct, frozen=True):
    providers: list[_AccessProvider]


class ClusterProfiles:
    """A provider that reads the ClusterProfiles in one namespace of the manager's own cluster (multicluster.x-k8s.io).
    Each profile with access providers stands for a cluster, which has the profile's name.

    ``access_providers`` is the file of KEP-5339, as other consumers of ClusterProfiles read it: a list of names of
    access providers, each with the exec plugin that prints credentials (``execConfig``). The first of them that a
    profile names in its status is used. A profile gives the server's address and certificates, and arguments and
    variables for the plugin where the file permits that; it can't name a command or a file of this machine.

    A changed profile replaces the connection; one that can't be used is logged and leaves the last one in place; one
    that is deleted, or has no access providers any more, leaves the fleet. The health in its status is not asked:
    the fleet finds out itself which clusters answer.

    The manager needs ``get``, ``list`` and ``watch`` on ClusterProfiles in that namespace.
    https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/5339-clusterprofile-plugin-credentials
    """

    def __init__(
        self,
        namespace: str,
        access_providers: Path | str,
        *,
        connect: Callable[[ClientConfig], Client] = Client.from_config,
    ) -> None:
        self._namespace = namespace
        self._path = Path(access_providers)
        self._connect = connect

    async def run(self, fleet: Fleet, home: Client) -> None:
        """See `Provider`.

        Raises:
            ConfigError: the file of the access providers can't be used.
            NoMatchError: the manager's own cluster has no ClusterProfiles.
        """
        providers = _read(self._path)
        kind = await home.kind(RESOURCE)

        def member_of(profile: DynamicObject) -> tuple[str, bytes, Callable[[], Kubeconfig]] | None:
            access = _access(profile.raw.get("status"))
            if not access:
                return None
            read = partial(self._kubeconfig, f"ClusterProfile {profile.key}", access, providers)
            return profile.name, msgspec.json.encode(access, order="sorted"), read

        await Members(fleet, self._connect).follow(home, kind, member_of, namespace=self._namespace)

    def _kubeconfig(
        self, origin: str, access: Mapping[str, dict[str, Any]], providers: list[_AccessProvider]
    ) -> Kubeconfig:
        provider = next((provider for provider in providers if provider.name in access), None)
        if provider is None:
            names = " and ".join(sorted(access))
            raise ConfigError(f"{origin} has the access providers {names}, and {self._path} has none of them")
        cluster = {name: value for name, value in access[provider.name].items() if name in _FROM_PROFILE}
        context = {"cluster": provider.name, "user": provider.name}
        user = {"exec": _plugin(provider, cluster, origin)}
        # A name in the same folder, so that a relative command is found. The file itself has no secrets, unlike a
        # kubeconfig, which is warned of if others can read it.
        place = self._path.with_name(f"{self._path.name} (access provider)")
        documents = {
            Path(origin): {
                "current-context": provider.name,
                "clusters": [{"name": provider.name, "cluster": cluster}],
                "contexts": [{"name": provider.name, "context": context}],
            },
            place: {"users": [{"name": provider.name, "user": user}]},
        }
        return Kubeconfig.merged(documents)


def _read(path: Path) -> list[_AccessProvider]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).providers
    except OSError as problem:
        raise ConfigError(f"the access providers {path}: {problem.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"the access providers {path}: {problem}") from None


def _access(status: Any) -> dict[str, dict[str, Any]]:
    """The clusters in the status of a profile, by the names of their access providers."""
    clusters = {}
    for field in ("credentialProviders", "accessProviders"):  # the second name is the newer one
        entries = status.get(field) if isinstance(status, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                cluster = entry.get("cluster")
                clusters[entry["name"]] = cluster if isinstance(cluster, dict) else {}
    return clusters


def _plugin(provider: _AccessProvider, cluster: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The plugin's configuration, with the arguments and variables that the profile may add to it."""
    plugin = {**provider.exec_config, "interactiveMode": "Never"}
    if provider.profile_sourced_args == "Append":
        plugin["args"] = [*(plugin.get("args") or ()), *_extension(cluster, _ARGS, list[str], origin)]
    if provider.profile_sourced_environment in ("AppendIfNotExists", "Replace"):
        own = {entry.get("name"): entry for entry in plugin.get("env") or ()}
        pairs = dict(_extension(cluster, _ENVIRONMENT, dict[str, str], origin))
        added = {name: {"name": name, "value": value} for name, value in pairs.items()}
        replaces = provider.profile_sourced_environment == "Replace"
        plugin["env"] = list(({**own, **added} if replaces else {**added, **own}).values())
    return plugin


def _extension(cluster: Mapping[str, Any], name: str, type: Any, origin: str) -> Any:
    for value in _extensions(cluster, name):
        try:
            return msgspec.convert(value, type)
        except msgspec.ValidationError as problem:
            raise ConfigError(f"{origin}: the extension {name}: {problem}") from None
    return type()


def _extensions(cluster: Mapping[str, Any], name: str) -> Iterator[Any]:
    entries = cluster.get("extensions")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            yield entry.get("extension")

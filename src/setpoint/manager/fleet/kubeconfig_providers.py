"""Providers of fleets: a kubeconfig for each cluster, in the files of a folder or in Secrets of the manager's own
cluster.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from setpoint.cache import InformerFactory
from setpoint.client import Client, ClientConfig, ConfigError
from setpoint.client.kubeconfig import Kubeconfig
from setpoint.concurrency import every
from setpoint.meta import Object

if TYPE_CHECKING:
    from setpoint.manager.fleet.fleet import Fleet
    from setpoint.models.core_v1 import Secret

K = TypeVar("K", bound=Object)

LOOK_EVERY: Final = 10.0
"""Seconds between two checks of a folder."""
LOOK_AGAIN: Final = 60.0
"""Seconds after which an unusable kubeconfig is tried again, because the files it refers to may have changed."""
LABEL: Final = "fleet.setpoint.io/cluster"
CLUSTER_API_LABEL: Final = "cluster.x-k8s.io/cluster-name"
logger = logging.getLogger("setpoint.fleet")


class _Refused(NamedTuple):
    """An unusable kubeconfig, and the loop time of the next attempt. That attempt may succeed, because the kubeconfig
    may refer to a file that does not exist yet.
    """

    text: bytes
    why: str
    again: float


class Members:
    """Keeps a fleet in line with kubeconfigs, and closes the clients of removed clusters."""

    def __init__(self, fleet: Fleet, connect: Callable[[ClientConfig], Client]) -> None:
        self._fleet = fleet
        self._connect = connect
        self._clients: dict[str, Client] = {}
        self._kubeconfigs: dict[str, bytes] = {}
        self._refused: dict[str, _Refused] = {}

    async def now(self, kubeconfigs: Mapping[str, tuple[bytes, Callable[[], Kubeconfig]]]) -> None:
        """Makes the fleet match these kubeconfigs, which map the name of each cluster to the text of its kubeconfig and
        a function that reads it.
        """
        removed = (self._kubeconfigs.keys() | self._refused.keys()) - kubeconfigs.keys()
        await every(
            *(self._add(name, text, read) for name, (text, read) in kubeconfigs.items()),
            *(self._remove(name) for name in removed),
        )

    async def follow(
        self,
        home: Client,
        kind: type[K],
        member_of: Callable[[K], tuple[str, bytes, Callable[[], Kubeconfig]] | None],
        *,
        namespace: str,
        selector: str | None = None,
    ) -> None:
        """Makes the fleet match the objects of a kind at each of their changes, until it is cancelled; then it closes
        all clients. ``member_of`` returns the name of an object's cluster and its kubeconfig as `now` takes it, or None
        for an object that has none.
        """
        changed = asyncio.Event()
        try:
            async with (
                InformerFactory(home, random=home.random) as factory,
                factory.informer(kind, namespace=namespace, selector=selector) as informer,
            ):
                informer.add_event_handler(
                    on_add=lambda _head, _initial: changed.set(),
                    on_update=lambda _old, _new: changed.set(),
                    on_delete=lambda _head, _unknown: changed.set(),
                    name="fleet",
                )
                while True:
                    await changed.wait()
                    changed.clear()
                    members = [member for obj in informer.lister.list() if (member := member_of(obj)) is not None]
                    await self.now({name: (text, read) for name, text, read in members})
        finally:
            await self.close()

    async def _add(self, name: str, text: bytes, read: Callable[[], Kubeconfig]) -> None:
        """Updates one cluster. An unusable kubeconfig leaves the last usable one in place."""
        refused = self._refused.get(name)
        if self._kubeconfigs.get(name) == text:
            if refused is not None:
                del self._refused[name]
            return
        now = asyncio.get_running_loop().time()
        if refused is not None and refused.text == text and now < refused.again:
            return
        try:
            config = read().config()
            if urlsplit(config.server).scheme == "https":
                config.tls.context()  # invalid certificates must not replace valid ones
            client = self._connect(config)
        except ConfigError as problem:
            self._refused[name] = _Refused(text, str(problem), now + LOOK_AGAIN)
            if refused is None or refused.why != str(problem):
                logger.warning("a cluster can't be used", extra={"fields": {"cluster": name, "error": str(problem)}})
            return
        self._refused.pop(name, None)
        self._kubeconfigs[name] = text
        try:
            await self._fleet.engage(name, client)
        except ValueError as problem:
            logger.warning("a cluster can't be used", extra={"fields": {"cluster": name, "error": str(problem)}})
            await client.close()
            return
        former = self._clients.pop(name, None)
        self._clients[name] = client
        if former is not None:
            await former.close()

    async def _remove(self, name: str) -> None:
        self._kubeconfigs.pop(name, None)
        self._refused.pop(name, None)
        if (client := self._clients.pop(name, None)) is not None:
            await self._fleet.disengage(name)
            await client.close()

    async def close(self) -> None:
        """Removes all clusters from the fleet, and closes their clients."""
        await every(*(self._remove(name) for name in list(self._clients)))


class KubeconfigFolder:
    """A provider that reads the kubeconfigs in a folder. Each file stands for a cluster, whose name is the file's name
    without its extension.

    A new, changed or removed file is noticed within ``every`` seconds, even in a mounted volume (a ConfigMap or a
    Secret). Hidden files are ignored. An unusable file is logged, and its last usable version stays in use.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        every: float = LOOK_EVERY,
        connect: Callable[[ClientConfig], Client] = Client.from_config,
    ) -> None:
        self._folder = Path(folder)
        self._every = every
        self._connect = connect

    async def run(self, fleet: Fleet, home: Client) -> None:
        """See `Provider`. Raises `OSError` if the folder cannot be read at the start."""
        members = Members(fleet, self._connect)
        try:
            files = self._files()
            while True:
                await members.now(
                    {name: (text, partial(Kubeconfig.read, path)) for name, (path, text) in files.items()}
                )
                await asyncio.sleep(self._every)
                try:
                    files = self._files()
                except OSError as problem:  # also of one that was removed between two checks
                    logger.warning("the folder of clusters can't be read", extra={"fields": {"error": str(problem)}})
        finally:
            await members.close()

    def _files(self) -> dict[str, tuple[Path, bytes]]:
        files = (path for path in sorted(self._folder.iterdir()) if not path.name.startswith(".") and path.is_file())
        return {path.stem: (path, path.read_bytes()) for path in files}


class KubeconfigSecrets:
    """A provider that reads kubeconfigs from the Secrets with the label ``fleet.setpoint.io/cluster`` in one namespace
    of the manager's own cluster. Each Secret stands for a cluster, whose name is the label's value; the kubeconfig
    is under the key ``kubeconfig``.

    Such a kubeconfig must contain its credentials: references to files and commands are refused.

    The manager needs ``get``, ``list`` and ``watch`` on Secrets in that namespace.
    """

    _key = "kubeconfig"

    def __init__(
        self, namespace: str, *, connect: Callable[[ClientConfig], Client] = Client.from_config, label: str = LABEL
    ) -> None:
        self._namespace = namespace
        self._connect = connect
        self._label = label

    async def run(self, fleet: Fleet, home: Client) -> None:
        """See `Provider`."""
        from setpoint.models.core_v1 import Secret  # a module of models, imported only when needed

        members = Members(fleet, self._connect)
        await members.follow(home, Secret, self._member_of, namespace=self._namespace, selector=self._label)

    def _member_of(self, secret: Secret) -> tuple[str, bytes, Callable[[], Kubeconfig]] | None:
        name = secret.labels[self._label]
        if not self._is_kubeconfig(secret.name, name):
            return None
        text = secret.data.get(self._key, b"")
        return name, text, partial(Kubeconfig.parse, text, f"{self._key} of Secret {secret.key}")

    def _is_kubeconfig(self, _secret: str, _cluster: str) -> bool:
        return True


class ClusterApiSecrets(KubeconfigSecrets):
    """A provider that reads the kubeconfigs that Cluster API keeps for the clusters of one namespace: the Secrets
    ``NAME-kubeconfig`` with the label ``cluster.x-k8s.io/cluster-name: NAME``, under the key ``value``. Certificates
    and kubeconfigs for users, which have the same label, are left out.

    A cluster joins when its control plane has a kubeconfig and leaves when that is deleted. A kubeconfig that Cluster
    API renews replaces the connection. The manager needs ``get``, ``list`` and ``watch`` on Secrets in that namespace.
    https://cluster-api.sigs.k8s.io/developer/core/certificate-management
    """

    _key = "value"

    def __init__(self, namespace: str, *, connect: Callable[[ClientConfig], Client] = Client.from_config) -> None:
        super().__init__(namespace, connect=connect, label=CLUSTER_API_LABEL)

    def _is_kubeconfig(self, secret: str, cluster: str) -> bool:
        return secret == f"{cluster}-kubeconfig"

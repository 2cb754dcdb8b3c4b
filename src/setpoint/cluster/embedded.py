"""EmbeddedCluster: a whole Kubernetes API in this process, on loopback, for programs that need no other cluster."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from msgspec.structs import replace

from setpoint.apiserver import Access, ApiServer, HttpFront, MemoryStorage, Rbac, SqliteStorage
from setpoint.apiserver.http.allowed_hosts import is_loopback
from setpoint.apiserver.plugins.service_account import TOKENS
from setpoint.apiserver.resources.service_networks import SERVICE_NETWORKS, ServiceNetwork
from setpoint.apiserver.server import NEEDING_CONTROLLERS, OFF_BY_DEFAULT
from setpoint.client import Client, ClientConfig, InProcessTransport, PatchType
from setpoint.client.credentials import StaticToken
from setpoint.cluster.control_plane import ControlPlane, Credentials
from setpoint.cluster.controller_registry import GARBAGE_COLLECTOR, chosen, names_of
from setpoint.cluster.in_process_webhooks import LocalWebhooks
from setpoint.cluster.networking.service_resolver import ServiceAddresses
from setpoint.cluster.nodes import HollowNode
from setpoint.manager import Manager, Serving
from setpoint.manager.http_server import split_address
from setpoint.manager.ui import PATH
from setpoint.meta.yaml_text import to_yaml
from setpoint.models import KUBERNETES
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.history import minor_of
from setpoint.webhook import Webhooks

if TYPE_CHECKING:
    from setpoint.cluster.server_security import Secured, Security

_AUTHENTICATION: Final = "extension-apiserver-authentication"
ESTABLISHED_WITHIN = 10.0
"""Seconds within which the server has to serve a CustomResourceDefinition that was just installed."""
_WITH_ACCOUNTS: Final = NEEDING_CONTROLLERS - {TOKENS}
"""The plugins, and parts of plugins, that are off if users are authenticated and the control plane makes
ServiceAccounts.
"""


class EmbeddedCluster:
    """The embedded API server over HTTP, with its control plane, in the running loop.

    ```python
    async with EmbeddedCluster() as cluster:
        print(cluster.url)
        await cluster.client.list(Pod)
    ```

    Args:
        address: the host and port where HTTP listens; port 0 picks a free one.
        data_dir: the directory in which the objects are stored (SQLite); None keeps them in memory.
        control_plane: whether the controllers of `ControlPlane` and the hollow nodes run, or the names of the
            controllers to run.
        nodes: the number of hollow nodes, or a description of each; with 0, pods stay pending until another program
            creates a Node. With ``local``, there is one node, on which containers that are marked accordingly run as
            processes on this machine.
        security: TLS and authentication of the server; None for plain HTTP without authentication.
        default_objects: whether the server has the default roles, priorities and other objects of a kube-apiserver,
            and the Service ``kubernetes``. It always has them if users are restricted by roles.
        ui: the address of the web page about the cluster, such as ``127.0.0.1:8080``, which also serves ``/metrics`` of
            the control plane; port 0 picks a free port, and ``"0"`` turns the page off. The page is served over plain
            HTTP, and therefore only at loopback addresses. If the server authenticates its clients, the page asks for a
            token.
        kubernetes: the version of Kubernetes whose kinds and fields the server has, as for `ApiServer`.
        service_networks: the networks of the addresses of Services, as for `ApiServer`. With one of each IP family,
            Services can be dual-stack, and hollow nodes and their pods have an address of each family.

    ``client`` talks to the server's core without a socket, as an administrator; all other clients use ``url``.
    `page_url` is the URL of the web page. If the control plane fails, the ``async with`` block ends with its error.

    Raises:
        VersionError: ``kubernetes`` is not a version that the server can be.
        ValueError: ``ui`` is not the address of a loopback interface, as HOST:PORT.
        UnknownControllerError: a name in ``control_plane`` does not belong to any controller.
    """

    client: Client
    _webhooks: LocalWebhooks

    def __init__(
        self,
        *,
        address: tuple[str, int] = ("127.0.0.1", 0),
        data_dir: Path | None = None,
        control_plane: bool | Iterable[str] = True,
        nodes: int | Sequence[HollowNode] | Literal["local"] = 1,
        security: Security | None = None,
        default_objects: bool = False,
        ui: str = "0",
        kubernetes: str = KUBERNETES,
        service_networks: Sequence[ServiceNetwork] = SERVICE_NETWORKS,
    ) -> None:
        place = split_address(ui)
        if place is not None and not is_loopback(place[0]):
            raise ValueError(
                f"the page can't listen at {ui}, since it is plain HTTP: use a loopback address (127.0.0.1:8080), "
                "reached from elsewhere over ssh -L"
            )
        self._host, self._port = address
        self._data_dir = data_dir
        self._controllers = names_of(control_plane)
        self._nodes: int | Sequence[HollowNode] | Literal["local"] = nodes
        self._security = security
        self._secured: Secured | None = None
        self._default_objects = default_objects or (security is not None and security.auth)
        self._stack = AsyncExitStack()
        self._front: HttpFront | None = None
        self._ui = ui
        minor_of(kubernetes)
        self._kubernetes = kubernetes
        self._service_networks = service_networks
        self._manager: Manager | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            secured = self._secured = await self._secure()
            storage = MemoryStorage() if self._data_dir is None else SqliteStorage(self._data_dir)
            self._webhooks = LocalWebhooks(ServiceAddresses(storage))
            auth = secured is not None and secured.authentication is not None
            server = ApiServer(
                storage=storage,
                webhook_caller=self._webhooks,
                access=Access(
                    authentication=None if secured is None else secured.authentication,
                    authorizer=Rbac(storage) if auth else None,
                    account_tokens=None if secured is None else secured.account_tokens,
                    audit=None if secured is None else secured.audit,
                    webhook_users={} if secured is None else secured.webhook_users,
                ),
                default_objects=self._default_objects,
                kubernetes=self._kubernetes,
                service_networks=self._service_networks,
                plugins_off=(_WITH_ACCOUNTS if auth and self._controllers is not None else NEEDING_CONTROLLERS)
                | (OFF_BY_DEFAULT - frozenset(self._security.plugins_on if self._security else ())),
            )
            await stack.enter_async_context(server)
            server.state.loopback_endpoints = self._nodes == "local" and self._controllers is not None
            front = HttpFront(
                server,
                host=self._host,
                port=self._port,
                tls=None if secured is None else secured.tls,
                authority=b"" if secured is None else secured.authority,
                authenticates=auth,
            )
            self._front = await stack.enter_async_context(front)
            server.listens_at(self._host, self._front.port)
            self.client = await stack.enter_async_context(Client(InProcessTransport(server.handle)))
            if secured is not None and secured.client_ca:
                await self._publish(secured.client_ca)
            serving = self._page(server, tokens=auth)
            if self._controllers is not None:
                ca = "" if secured is None else secured.authority.decode()
                signer = None if secured is None else secured.signer
                plane = ControlPlane(
                    self.client,
                    server=server,
                    controllers=self._controllers,
                    nodes=self._nodes,
                    credentials=Credentials(
                        ca=ca, signer=signer, kubeconfig=lambda token: front.kubeconfig(token=token)
                    ),
                    serving=serving,
                )
                server.kubelets = plane.kubelets
                self._manager = plane.manager
                await stack.enter_async_context(plane)
            elif serving is not None:
                self._manager = Manager(self.client, serving=serving)
                await stack.enter_async_context(self._manager)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    async def _secure(self) -> Secured | None:
        if self._security is None:
            return None
        from setpoint.cluster.server_security import secure

        directory = None if self._data_dir is None else self._data_dir / "pki"
        kubernetes_service = str(self._service_networks[0][1])
        security = replace(self._security, tls_sans=(*self._security.tls_sans, kubernetes_service))
        return await secure(security, self._host, directory)

    def _page(self, server: ApiServer, *, tokens: bool) -> Serving | None:
        if split_address(self._ui) is None:
            return None
        from setpoint.cluster.object_browser.json_endpoints import ClusterPages

        collects = any(entry.name == GARBAGE_COLLECTOR for entry in chosen(self._controllers or ()))
        pages = ClusterPages(server, others=[GARBAGE_COLLECTOR] if collects else ())
        return Serving(metrics_bind_address=self._ui, ui=True, local_access=not tokens, browser=pages)

    async def _publish(self, client_ca: bytes) -> None:
        """Stores the certificate of the client certificate authority in the ConfigMap where extension servers look for
        it.
        """
        data = {"data": {"client-ca-file": client_ca.decode()}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", **data}
        await self.client.patch(
            ConfigMap,
            _AUTHENTICATION,
            body | {"metadata": {"name": _AUTHENTICATION, "namespace": "kube-system"}},
            namespace="kube-system",
            type=PatchType.APPLY,
            field_manager="kube-apiserver",
        )

    @property
    def url(self) -> str:
        """The URL of the server, such as ``https://127.0.0.1:43210``."""
        assert self._front is not None, "the cluster has not been entered"
        return self._front.url

    @property
    def page_url(self) -> str:
        """The URL of the web page; ``""`` if there is none."""
        served = None if self._manager is None else self._manager.metrics_server
        if served is None:
            return ""
        host = f"[{served.host}]" if ":" in served.host else served.host
        return f"http://{host}:{served.port}{PATH}"

    def config(self) -> ClientConfig:
        """The configuration of a client that reaches the server over HTTP, as an administrator."""
        if self._secured is None:
            return ClientConfig(server=self.url)
        credentials = StaticToken(self._secured.token)
        return ClientConfig(server=self.url, ca_data=self._secured.authority, credentials=credentials)

    def kubeconfig_text(self) -> str:
        """A kubeconfig for this server (YAML), with the credentials of an administrator."""
        assert self._front is not None, "the cluster has not been entered"
        token = "" if self._secured is None else self._secured.token
        return to_yaml([self._front.kubeconfig(token=token)])

    def write_kubeconfig(self, path: Path) -> None:
        """Writes `kubeconfig_text` to a file that only its owner can read; replaces an older file atomically.

        Raises:
            OSError: the file can't be written.
        """
        text = self.kubeconfig_text()
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.touch(mode=0o600)
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)

    async def serve(self, webhooks: Webhooks) -> None:
        """Makes the server call ``webhooks`` in this process from now on, and applies the definitions of the kinds that
        they convert.

        Raises:
            ApiError: the server refused a configuration or a definition.
            NotInForce: a definition was not established within 30 s.
        """
        await self._webhooks.serve(self.client, webhooks)

    async def install(self, definition: dict[str, Any]) -> None:
        """Applies a CustomResourceDefinition and waits until the server serves it.

        Raises:
            ApiError: the server refused the definition.
            TimeoutError: the definition was not served within 10 s.
        """
        name = definition["metadata"]["name"]
        await self.client.patch(
            CustomResourceDefinition, name, definition, type=PatchType.APPLY, field_manager="setpoint"
        )
        async with asyncio.timeout(ESTABLISHED_WITHIN):
            while True:
                crd = await self.client.get(CustomResourceDefinition, name)
                if crd.is_established:
                    return
                await asyncio.sleep(0.02)

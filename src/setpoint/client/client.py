"""Client: every verb on every kind, typed by the class of the request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from setpoint.client.config import ClientConfig
from setpoint.client.discovery import Discovery
from setpoint.client.groups import Groups
from setpoint.client.http import HttpTransport
from setpoint.client.kubeconfig import load_config, load_kubeconfig
from setpoint.client.limiter import AdaptiveLimiter
from setpoint.client.options import Query
from setpoint.client.requester import IDLE_TIMEOUT, JSON, Requester
from setpoint.client.rest_mapper import RestMapper
from setpoint.client.retry import RetryPolicy
from setpoint.client.transport import DEFAULT_TIMEOUT, Response, Transport
from setpoint.client.websocket import PodConnections
from setpoint.client.write_record import WriteObserver
from setpoint.meta import Resource

__all__ = ["Client"]


class Client(PodConnections, Groups):
    """A client of one API server, as one user.

        async with Client.from_kubeconfig() as client:
            pod = await client.get(Pod, "web-0")
            pod.labels["seen"] = "yes"
            await client.update(pod)

    *Guarantees*

    - No field is lost: `update` sends a patch computed on the JSON that was read, under the version that
      was read; fields that the models don't know stay, and a concurrent change by another client is a `Conflict`.
    - Every request has a deadline, every stream an idle deadline.
    - Every error of the server is an `ApiError` that names the request and the server; see `setpoint.client.errors`.
    - `close` (or leaving ``async with``) ends every connection that this client opened.

    *Caveats*

    - A verb that ends in a `TransportError` with ``sent`` may have been carried out. Only reads are repeated.
    - A client belongs to one event loop.

    ``get``, ``list``, ``pages``, ``patch``, ``delete`` and ``delete_all`` take a kind by name, too, in kubectl's forms
    (``po``, ``deployments.apps``, ``mykinds.v1.grp.example.com``); the objects are then of `DynamicObject`.

    ``namespace`` is the default for namespaced objects. ``field_manager`` names this program in
    ``managedFields``.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        field_manager: str = "setpoint",
        config: ClientConfig | None = None,
        random: Random | None = None,
        retry: RetryPolicy | None = None,
        on_warning: Callable[[str], None] | None = None,
        limiter: AdaptiveLimiter | None = None,
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self.field_manager = field_manager
        self.config = config
        self.random = random or Random()
        self._requester = Requester(transport, retry=retry, on_warning=on_warning, limiter=limiter)
        self._observers: list[WriteObserver] = []
        self._made_over: Client | None = None
        self.discovery = Discovery(self)
        self.rest_mapper = RestMapper(self.discovery)
        self._names = self.rest_mapper

    @classmethod
    def from_kubeconfig(
        cls, path: str | Path | None = None, *, context: str | None = None, field_manager: str = "setpoint"
    ) -> Self:
        """A client configured by a kubeconfig: ``path``, or the files of ``KUBECONFIG``, or ``~/.kube/config``.

        Raises:
            ConfigError: the kubeconfig is missing or can't be used.
        """
        return cls.from_config(load_kubeconfig(path, context), field_manager=field_manager)

    @classmethod
    def from_environment(
        cls, path: str | Path | None = None, *, context: str | None = None, field_manager: str = "setpoint"
    ) -> Self:
        """As `from_kubeconfig`; without any kubeconfig, configured by the pod that it runs in.

        Raises:
            ConfigError: there is no configuration, or it can't be used.
        """
        return cls.from_config(load_config(path, context), field_manager=field_manager)

    @classmethod
    def from_config(cls, config: ClientConfig, *, field_manager: str = "setpoint") -> Self:
        return cls(HttpTransport(config), namespace=config.namespace, field_manager=field_manager, config=config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends every connection and stream. It may be called twice."""
        await self.transport.close()

    @property
    def answers(self) -> Counter[tuple[str, str]]:
        """The number of answers by method and HTTP status (``<error>`` stands for none), of this client and of clients
        made by `over`. For metrics."""
        return self._requester.answers

    def over(self, transport: Transport) -> Client:
        """The same client over another transport: it shares retries, limits and warnings, but has its own observers of
        writes."""
        made = Client(
            transport,
            namespace=self.namespace,
            field_manager=self.field_manager,
            config=self.config,
            random=self.random,
        )
        made._requester = self._requester.over(transport)
        made._made_over = self
        return made

    @property
    def lineage(self) -> Iterator[Client]:
        """The client itself, and those that it was made from with `over`, up to the first."""
        client: Client | None = self
        while client is not None:
            yield client
            client = client._made_over

    def on_write(self, observer: WriteObserver) -> Callable[[], None]:
        """Calls ``observer`` with the `WriteRecord` of every successful write; returns a function that removes it.

        The call comes before the verb returns, so the caller of the verb finds the write noted.
        """
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    # -- the raw layer ----------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = DEFAULT_TIMEOUT,
        verb: str = "",
        resource: Resource | str = "",
        key: str = "",
    ) -> bytes:
        """Sends any request, with this client's retries and errors; returns the body of the answer.

        Write observers are not called. ``verb``, ``resource`` and ``key`` appear in errors only.
        """
        return await self._requester.request(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
            headers=headers,
            timeout=timeout,
            verb=verb,
            resource=resource,
            key=key,
        )

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        idle_timeout: float | None = IDLE_TIMEOUT,
        verb: str = "",
        resource: Resource | str = "",
        key: str = "",
    ) -> AbstractAsyncContextManager[Response]:
        """Sends any request and streams the answer: ``async with client.stream(...) as response``."""
        return self._requester.stream(
            method,
            path,
            query=query,
            accept=accept,
            headers=headers,
            idle_timeout=idle_timeout,
            verb=verb,
            resource=resource,
            key=key,
        )

"""Client: the verbs for objects of all kinds; the class in a request determines the type of the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from setpoint.client.clientset import Clientset
from setpoint.client.concurrency_limiter import AdaptiveLimiter
from setpoint.client.config import ClientConfig
from setpoint.client.discovery import Discovery
from setpoint.client.http_transport import HttpTransport
from setpoint.client.kubeconfig import load_config, load_kubeconfig
from setpoint.client.request_info import RequestInfo
from setpoint.client.requester import IDLE_TIMEOUT, JSON, Requester
from setpoint.client.rest_mapper import RestMapper
from setpoint.client.retry import RetryPolicy
from setpoint.client.transport import DEFAULT_TIMEOUT, Request, Response, Transport
from setpoint.client.verb_options import Query
from setpoint.client.websocket import PodConnections
from setpoint.client.write_record import WriteObserver


class Client(PodConnections, Clientset):
    """A client of one API server, as one user.

        async with Client.from_kubeconfig() as client:
            pod = await client.get(Pod, "web-0")
            pod.labels["seen"] = "yes"
            await client.update(pod)

    *Guarantees*

    - No field is lost: `update` sends a patch computed from the JSON that was read. Fields that the models don't know
      stay. The patch applies only to the version that was read, so a concurrent change by another client leads to a
      `Conflict`.
    - By default every request has a deadline, and every stream has an idle timeout.
    - Every error that the server reports is an `ApiError` that names the request; see `setpoint.client.errors`.
    - `close` (or leaving ``async with``) ends every connection that this client opened.

    *Caveats*

    - The server may have carried out a verb that ends in a `TransportError` whose ``sent`` is true. Only reads are sent
      again after such an error.
    - A client belongs to one event loop at a time. When that loop is closed, such as at the end of `asyncio.run`, the
      client may be used in another loop, with new connections.

    ``get``, ``list``, ``pages``, ``patch``, ``delete`` and ``delete_all`` also accept the name of a kind, in kubectl's
    forms (``po``, ``deployments.apps``, ``mykinds.v1.grp.example.com``); the objects are then `DynamicObject`
    instances.

    ``namespace`` is the default for namespaced objects. ``field_manager`` names this program in ``managedFields``.
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
        """A client configured by a kubeconfig (see `from_kubeconfig`) or, if no kubeconfig exists and neither ``path``
        nor ``context`` is given, by the service account of the pod that this process runs in.

        Raises:
            ConfigError: there is no configuration, or it can't be used.
        """
        return cls.from_config(load_config(path, context), field_manager=field_manager)

    @classmethod
    def from_config(cls, config: ClientConfig, *, field_manager: str = "setpoint") -> Self:
        """A client with this configuration. Audit logs and metrics of the server name the ``user_agent``; without one
        it is the field manager, which for an operator is its name.
        """
        if not config.user_agent and field_manager.isascii() and field_manager.isprintable():  # it is a header
            config = replace(config, user_agent=f"{field_manager} (setpoint)")
        return cls(HttpTransport(config), namespace=config.namespace, field_manager=field_manager, config=config)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends every connection and stream. A second call has no effect."""
        await self.transport.close()

    @property
    def answers(self) -> Counter[tuple[str, str]]:
        """The number of answers by method and HTTP status (``<error>`` if there was no answer), for metrics.

        Answers to clients made from this one by `over` are included.
        """
        return self._requester.answers

    def over(self, transport: Transport) -> Client:
        """A copy of this client that uses a different transport. The two share retries, limits, warnings and observers
        of writes.
        """
        client = Client(
            transport,
            namespace=self.namespace,
            field_manager=self.field_manager,
            config=self.config,
            random=self.random,
        )
        client._requester = self._requester.over(transport)
        client._observers = self._observers
        return client

    def on_write(self, observer: WriteObserver) -> Callable[[], None]:
        """Registers ``observer``, which is called with the `WriteRecord` of every successful write of a single object:
        by this client, by those made `over` other transports, and by the client that it was itself made from. Returns
        a function that removes the observer.

        The observer is called before the verb returns, so the caller of the verb can rely on the write having been
        noted. Dry runs, `delete_all`, `evict`, `bind`, `create_token` and `request` are not reported.
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
    ) -> bytes:
        """Sends any request, with this client's retries, and returns the body of the answer.

        Write observers are not called. ``timeout`` is in seconds and applies to each attempt. ``verb`` (such as
        ``list``; by default that of the method) is used only in error messages.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer, or an incomplete one.
        """
        all_headers = {"accept": accept}
        if body is not None:
            all_headers["content-type"] = content_type
        request = Request(method, path, query, {**all_headers, **(headers or {})}, body, timeout)
        return await self._requester.request(request, RequestInfo(verb, path) if verb else None)

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
    ) -> AbstractAsyncContextManager[Response]:
        """Sends any request and streams the answer: ``async with client.stream(...) as response``. The errors are those
        of `request`; they may also occur while the stream is read. A stream that receives nothing for ``idle_timeout``
        seconds ends in a `TransportError`.
        """
        request = Request(method, path, query, {"accept": accept, **(headers or {})}, None, None, idle_timeout)
        return self._requester.stream(request, RequestInfo(verb, path) if verb else None)

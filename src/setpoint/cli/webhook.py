"""``setpoint webhook``: serves admission and conversion webhooks as a separate program."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from cyclopts import App, Parameter
from cyclopts.validators import Number

from setpoint.cache import InformerFactory
from setpoint.cli.default_names import webhook_name
from setpoint.cli.program_declarations import served_by
from setpoint.cli.program_loader import loaded
from setpoint.cli.program_options import OptionValues
from setpoint.cli.run_flags import CallerFlags, KubeconfigFlags, LogFlags, check_address
from setpoint.cli.webhook_registration import (
    DEFAULT_CLUSTER,
    FIELD_MANAGER,
    PROGRAM,
    install_webhooks,
    manifests,
    reported_trouble,
    uninstall_webhooks,
)
from setpoint.client import Client
from setpoint.manager import stopping_on_signals
from setpoint.manager.http_server import HttpServer
from setpoint.manager.logging import configure
from setpoint.manager.metrics import ProcessMetrics
from setpoint.starting import freeze_heap
from setpoint.webhook import (
    Admission,
    CertificateFiles,
    Converter,
    MemoryCertificates,
    NotInForce,
    SecretCertificates,
    ServiceTarget,
    UrlTarget,
    WebhookMetrics,
    Webhooks,
    WebhookServer,
    install,
    service_names,
    trusting,
    uninstall,
)
from setpoint.webhook.installation import generated_samples
from setpoint.webhook.registration import address_of, converters_of, definition_name
from setpoint.webhook.webhook_program import serve_webhooks

logger = logging.getLogger("setpoint.webhook")

command = App(name="webhook")
command.command(manifests)
command.command(install_webhooks, name="install")
command.command(uninstall_webhooks, name="uninstall")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlaceFlags:
    """The place at which API servers reach the webhooks, and their registration.

    Parameters
    ----------
    cert_dir
        Serve with tls.crt and tls.key from this directory; they are read again when they change.
    service
        Serve behind this Service: make certificates in the Secret SERVICE-tls and have API servers trust them.
    namespace
        The Service's namespace.
    url
        Serve at this address, for development against a remote cluster: register the webhooks at the start, and
        unregister them at the end.
    name
        The name of the webhook configurations; default: the API group of their kinds.
    register
        With --service: apply the webhook configurations at the start.
    """

    cert_dir: Path | None = None
    service: str | None = None
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"])] = "default"
    url: str | None = None
    name: str | None = None
    register: Annotated[bool, Parameter(negative="")] = False

    def check(self) -> None:
        """Raises `SystemExit` if not exactly one place is given."""
        if [self.cert_dir, self.service, self.url].count(None) != 2:
            raise SystemExit(f"{PROGRAM}: give exactly one of --cert-dir, --service and --url")
        if self.register and self.service is None:
            raise SystemExit(f"{PROGRAM}: --register needs --service")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ListenFlags:
    """The server of the webhooks.

    Parameters
    ----------
    host
        The address to listen on; default: all.
    port
        The port to listen on; 0 picks a free one.
    drain_delay
        How many seconds to continue serving after SIGTERM, while endpoints are updated.
    """

    host: str = ""
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 9443
    drain_delay: float = 5.0


_DEFAULT_PLACE: Final = PlaceFlags()
_DEFAULT_LISTEN: Final = ListenFlags()
_DEFAULT_CALLERS: Final = CallerFlags()
_DEFAULT_LOG: Final = LogFlags()


@command.default
def serve(
    app: str,
    *,
    place: PlaceFlags = _DEFAULT_PLACE,
    callers: CallerFlags = _DEFAULT_CALLERS,
    listen: ListenFlags = _DEFAULT_LISTEN,
    option: OptionValues = (),
    cluster: KubeconfigFlags = DEFAULT_CLUSTER,
    metrics_bind_address: str = "0",
    log: LogFlags = _DEFAULT_LOG,
) -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    app
        A file (app.py), a package's folder or a module, with Admissions and custom resource classes as globals.
    option
        An option of the program, NAME=VALUE, if its controllers are made of options. Repeatable.
    metrics_bind_address
        The address for Prometheus metrics, such as :8080; 0 means off.
    """
    place.check()
    cert_dir, service, namespace, url = place.cert_dir, place.service, place.namespace, place.url
    with reported_trouble():
        callers.check(url or service or "")
        check_address("--metrics-bind-address", metrics_bind_address)
    configure(log.log_format, log.log_level.upper())

    async def work(served: Sequence[Admission[Any] | Converter], configuration: str) -> None:
        metrics = WebhookMetrics()
        reads = any(getattr(handler, "read_kinds", ()) for handler in served)
        async with AsyncExitStack() as stack:
            client: Client | None = None
            if reads or cert_dir is None or callers.verifies_tokens:
                client = await stack.enter_async_context(cluster.client(FIELD_MANAGER))
            factory = InformerFactory(client) if reads and client is not None else None
            beside: list[Any] = []
            target: ServiceTarget | UrlTarget | None = None
            certificates: CertificateFiles | MemoryCertificates | SecretCertificates
            if cert_dir is not None:
                certificates = CertificateFiles(cert_dir, metrics=metrics)
            elif url is not None:
                target = UrlTarget(url)
                certificates = MemoryCertificates([urlsplit(url).hostname or ""])
            else:
                assert service is not None
                assert client is not None
                target = ServiceTarget(service, namespace)
                certificates = SecretCertificates(
                    client,
                    f"{service}-tls",
                    namespace,
                    names=service_names(service, namespace),
                    trusting=trusting(served, configuration),
                    metrics=metrics,
                )
            webhooks = Webhooks(*served, factory=factory, metrics=metrics)
            delay = listen.drain_delay if url is None else 0.0
            allowed = callers.allowed(client, address_of(target) if target is not None else "")
            server = WebhookServer(
                webhooks, certificates, host=listen.host, port=listen.port, drain_delay=delay, callers=allowed
            )
            if target is not None and (place.register or url is not None):
                assert client is not None
                assert not isinstance(certificates, CertificateFiles)
                beside.append(_Registering(client, served, configuration, target, certificates, server.ready))
            if metrics_bind_address not in ("", "0"):
                beside.append(_metrics_server(metrics_bind_address, metrics))
            stopping = asyncio.Event()
            goes = client if url is not None else None
            beside.append(_Stopping(stopping, server, goes, served, configuration))
            with stopping_on_signals(stopping.set, waits_for=lambda: ["the answers in progress"]):
                freeze_heap()
                await serve_webhooks(server, factory=factory, beside=beside)

    with reported_trouble(), loaded(app) as program:
        served = served_by(program, option)
        # With another program's certificate files, the registration also belongs to another program.
        asyncio.run(work(served, webhook_name(served, place.name) if cert_dir is None else ""))


@dataclass(frozen=True)
class _Registering:
    """Applies the configurations once the server listens."""

    client: Client
    served: Sequence[Admission[Any] | Converter]
    name: str
    target: ServiceTarget | UrlTarget
    certificates: MemoryCertificates | SecretCertificates
    listening: asyncio.Event

    async def run(self) -> None:
        await self.listening.wait()
        # In development this is the only replica, and its versions should be visible at once.
        alone = isinstance(self.target, UrlTarget)
        bundle = self.certificates.bundle
        samples = generated_samples(self.served, self.client.namespace) if alone else []
        try:
            await install(
                self.client, self.served, self.name, self.target, bundle=bundle, samples=samples, definitions=alone
            )
        except NotInForce as problem:
            # Everything is registered; a sample that fits the schema but breaks a rule must not end the program.
            logger.warning("%s", problem)


@dataclass(frozen=True)
class _Stopping:
    """Stops the server on request; with ``--url``, first removes the webhook configurations."""

    stopping: asyncio.Event
    server: WebhookServer
    client: Client | None
    served: Sequence[Admission[Any] | Converter]
    name: str

    async def run(self) -> None:
        await self.stopping.wait()
        if self.client is not None:
            # It may be back in a moment; without its conversions, objects would lose fields meanwhile.
            await uninstall(self.client, self.served, self.name, conversions=False)
            for definition in map(definition_name, converters_of(self.served)):
                logger.warning("only this program converts it", extra={"fields": {"definition": definition}})
        self.server.stop()


def _metrics_server(address: str, metrics: WebhookMetrics) -> HttpServer:
    process = ProcessMetrics()
    process.add_process()
    process.registry.register(metrics)
    server = HttpServer(address, name="metrics")
    server.add("/metrics", process.answer)
    return server

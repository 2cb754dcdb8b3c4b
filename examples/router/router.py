"""router.py: the Ingresses of a class as the configuration of an nginx, in a ConfigMap.

An IngressClass whose controller is ``router.example.com/nginx`` is routed here. All Ingresses of a class are decided
about together, since they share hosts and paths; an Ingress that loses a path to an older one is told so by an Event.

python examples/router/router.py run --embedded
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from routing import Backend, Complaint, chosen, class_of, config

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Service
from setpoint.models.networking_v1 import (
    Ingress,
    IngressClass,
    IngressLoadBalancerIngress,
    IngressLoadBalancerStatus,
)

CONTROLLER = "router.example.com/nginx"
CONFIG, COMPLAINTS = "nginx.conf", "complaints"


@dataclass
class Options:
    """The program's own flags of ``run``."""

    config_namespace: str = "default"
    """The namespace of the ConfigMaps; each has the name of its class."""
    publish_service: str = ""
    """The Service, as namespace/name, whose addresses are those of all Ingresses."""
    nginx: str = ""
    """The nginx that checks a configuration before it is published; none by default."""


class Nginx:
    """The program's settings, and the nginx that judges configurations."""

    def __init__(self, options: Options) -> None:
        self.options = options

    async def problem(self, text: str) -> str:
        """The reason for which nginx would not take the configuration, "" if it would."""
        if not self.options.nginx:
            return ""
        with TemporaryDirectory() as directory:
            file = Path(directory) / CONFIG
            file.write_text(f"pid {directory}/pid;\nerror_log stderr;\n{text}", "utf-8")
            command = (self.options.nginx, "-t", "-q", "-p", directory, "-c", str(file))
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
            _, output = await process.communicate()
        return output.decode("utf-8", "replace").strip() if process.returncode else ""


def address_of(backend: Backend, service: Service | None) -> str:
    """The address of a Service's port, "" if it has none: the Service itself spreads requests over its pods."""
    if service is None or service.spec.cluster_ip in (None, "", "None"):
        return ""
    ports = [port.port for port in service.spec.ports if backend.port in (port.port, port.name)]
    address = service.spec.cluster_ip
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{ports[0]}" if ports else ""


async def resolved(backends: Iterable[Backend], ctx: sp.Context) -> dict[Backend, str]:
    addresses_: dict[Backend, str] = {}
    for backend in sorted(set(backends), key=str):
        namespace, _, name = backend.service.partition("/")
        if address := address_of(backend, await ctx.get(Service, name, namespace=namespace)):
            addresses_[backend] = address
    return addresses_


def report(
    complaints: Iterable[Complaint], before: str, ingresses: Mapping[sp.ObjectKey, Ingress], ctx: sp.Context
) -> None:
    """Tells each Ingress of what is new to complain about."""
    known_lines = set(before.splitlines())
    for complaint in complaints:
        if str(complaint) not in known_lines:
            ctx.event("Warning", complaint.reason, complaint.message, about=ingresses[complaint.ingress])


async def publish(ingress: Ingress, addresses: list[IngressLoadBalancerIngress], ctx: sp.Context) -> None:
    """Writes the addresses at which an Ingress is served into its status."""
    present = ingress.status.load_balancer
    if (present.ingress if present is not None else []) != addresses:
        ingress.status.load_balancer = IngressLoadBalancerStatus(ingress=addresses)
        await ctx.client.update_status(ingress)


async def addresses(ctx: sp.Context) -> list[IngressLoadBalancerIngress] | None:
    """The addresses of the Service that is published; None if there is no such option."""
    namespace, _, name = ctx.state(Nginx).options.publish_service.partition("/")
    if not name:
        return None
    service = await ctx.get(Service, name, namespace=namespace)
    balancer = service.status.load_balancer if service is not None else None
    ingress = balancer.ingress if balancer is not None else []
    return [IngressLoadBalancerIngress(ip=entry.ip, hostname=entry.hostname) for entry in ingress]


async def reconcile(which: IngressClass, ctx: sp.Context) -> sp.Outcome:
    if which.spec.controller != CONTROLLER:
        return sp.done()
    nginx = ctx.state(Nginx)
    matching = await ctx.list(Ingress, namespace="*", index=("class", which.name))
    ingresses = {ingress.key: ingress for ingress in matching if not ingress.is_deleting}
    paths, complaints = chosen(ingresses.values())
    backends = await resolved((path.backend for path in paths), ctx)
    for path in paths:
        if path.backend not in backends:
            text = f"{path} answers 503: there is no Service {path.backend} with an address"
            complaints.append(Complaint(path.ingress, "NoService", text))
    text = config(paths, backends)
    data = {CONFIG: text, COMPLAINTS: "".join(f"{complaint}\n" for complaint in complaints)}
    name, namespace = f"router-{which.name}", nginx.options.config_namespace
    present = next(
        (
            config_map
            for config_map in ctx.owned(ConfigMap)
            if (config_map.namespace, config_map.name) == (namespace, name)
        ),
        None,
    )
    before = present.data if present is not None else {}
    if before != data:
        if before.get(CONFIG) != text and (problem := await nginx.problem(text)):
            ctx.event("Warning", "InvalidConfiguration", problem)
            return sp.retry("nginx does not take the configuration; the last one stays")
        report(complaints, before.get(COMPLAINTS, ""), ingresses, ctx)
    await ctx.keep(ConfigMap, [ConfigMap.named(name, namespace, data=data)])
    served, wanted = {path.ingress for path in paths}, await addresses(ctx)
    for key, ingress in sorted(ingresses.items()):
        if wanted is not None:
            await publish(ingress, wanted if key in served else [], ctx)
    return sp.done()


def all_classes(_changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """A head does not say which class an Ingress has, or had; there are few."""
    return caches.lister(IngressClass).keys()


controller = (
    sp.Controller(IngressClass, reconcile, name="router")
    .owns(ConfigMap)
    .watches(Ingress, all_classes)
    .index("class", class_of, of=Ingress)
    .watches(Service, all_classes)
    .needs(Ingress, "patch", subresource="status")
)


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncGenerator[Nginx]:
    yield Nginx(program.options)


if __name__ == "__main__":
    sp.main(controller, name="router.example.com", options=Options, lifespan=lifespan)

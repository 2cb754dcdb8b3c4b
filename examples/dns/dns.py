"""dns.py: records in a DNS zone for Services of the type LoadBalancer, by the rules that external-dns made known.

A Service asks for names with the annotation ``dns.example.com/hostname: shop.example.org,www.example.org``. Beside each
record the operator makes a TXT record that says for which Service it is. A name that has records without one is never
touched; of two Services that want one name the first has it, until it lets go.

python examples/dns/dns.py run --embedded
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

import setpoint as sp
from setpoint.controller.predicates import objects_where
from setpoint.models.core_v1 import Service

HOSTNAME = "dns.example.com/hostname"
FINALIZER = "dns.example.com/records"
TTL = 300
"""Seconds for which resolvers may remember a record."""


class Record(NamedTuple):
    """The values of one type that a name has."""

    name: str
    type: str
    values: tuple[str, ...]
    ttl: int = TTL


class Taken(Exception):
    """There is a record already of that name and type."""


class Zone:
    """A zone that is forgotten with the process; it stands for the client of a DNS provider.

    As those of most providers, it carries out the changes of one call together or not at all.
    """

    def __init__(self, *records: Record) -> None:
        self.content = {f"{record.type} {record.name}": record for record in records}

    async def records(self) -> list[Record]:
        return list(self.content.values())

    async def change(self, create: list[Record], replace: list[Record], delete: list[Record]) -> None:
        """Raises `Taken` if a record to create is there. Deleting what is gone is not an error."""
        kept_records = {place: record for place, record in self.content.items() if record not in delete}
        for record in create:
            if (place := f"{record.type} {record.name}") in kept_records:
                raise Taken(place)
        self.content = kept_records | {f"{record.type} {record.name}": record for record in (*create, *replace)}


def ownership(service: Service) -> str:
    """The text that marks a name as this Service's. The uid tells it from an earlier one of its name."""
    return f"heritage=dns.example.com,service={service.key},uid={service.uid}"


def marks(service: Service, names: Iterable[str]) -> list[Record]:
    return [Record(name, "TXT", (ownership(service),)) for name in names]


def hostnames(service: Service) -> list[str]:
    """The names that a Service asks for: the values of the index."""
    names = service.annotations.get(HOSTNAME, "").split(",")
    return sorted({name.strip().rstrip(".").lower() for name in names if name.strip()})


def wanted(service: Service) -> dict[str, Record]:
    """A record for every name, once the load balancer has an address: A for addresses, CNAME for a name."""
    balancer = service.status.load_balancer
    if service.spec.type != "LoadBalancer" or balancer is None:
        return {}
    addresses = tuple(sorted(ingress.ip for ingress in balancer.ingress if ingress.ip))
    aliases = tuple(sorted(ingress.hostname for ingress in balancer.ingress if ingress.hostname))
    if addresses:
        return {name: Record(name, "A", addresses) for name in hostnames(service)}
    return {name: Record(name, "CNAME", aliases[:1]) for name in hostnames(service) if aliases}


async def write(service: Service, ctx: sp.Context, wanted: dict[str, Record]) -> list[str]:
    """Makes the Service's records as they are wanted; returns the names that belong to others."""
    zone = ctx.state(Zone)
    records = await zone.records()
    own = {record.name for record in records if record.type == "TXT" and ownership(service) in record.values}
    present = [record for record in records if record.type in ("A", "CNAME")]
    others = {record.name for record in records} - own
    fresh = sorted(wanted.keys() - own - others)
    create = [wanted[name] for name in fresh] + marks(service, fresh)
    present_names = [wanted[name] for name in sorted(wanted.keys() & own)]
    types = {(record.name, record.type) for record in present}
    replace = [record for record in present_names if (record.name, record.type) in types and record not in present]
    create += [record for record in present_names if (record.name, record.type) not in types]
    delete = [
        record
        for record in present
        if record.name in own and (record.name not in wanted or wanted[record.name].type != record.type)
    ]
    delete += marks(service, sorted(own - wanted.keys()))
    if create or replace or delete:
        await ctx.ensure_current()  # records of a Service that is gone would stay
        await zone.change(create, replace, delete)
        ctx.event("Normal", "Recorded", f"records are as wanted: {', '.join(sorted(wanted.keys() - others)) or 'none'}")
    return sorted(wanted.keys() & others)


async def reconcile(service: Service, ctx: sp.Context) -> sp.Outcome:
    try:
        refused = await write(service, ctx, wanted(service))
    except Taken as conflict:
        return sp.retry(f"{conflict} was taken in between")
    if refused:
        ctx.event("Warning", "Taken", f"{', '.join(refused)}: the zone has records that are not this Service's")
    return sp.done()


async def clean_up(service: Service, ctx: sp.Context) -> None:
    """Runs before a Service goes: its records go first."""
    await write(service, ctx, {})


def rivals(changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """The other Services that ask for a name of the changed one, which it may have let go."""
    names = changed.annotations.get(HOSTNAME, "").split(",")
    keys = {key for name in names for key in caches.lister(Service).keys(index=("hostname", name.strip()))}
    return sorted(keys - {changed.key})


def is_concerned(head: sp.Head) -> bool:
    """Whether a Service asks for names, or has asked."""
    return HOSTNAME in head.annotations or FINALIZER in head.finalizers


controller = (
    sp.Controller(Service, reconcile, name="dns", predicates=[objects_where(is_concerned)])
    .index("hostname", hostnames)
    .watches(Service, rivals)
    .finalize(clean_up, name=FINALIZER)
)


@asynccontextmanager
async def lifespan(program: sp.Program[None]) -> AsyncGenerator[Zone]:
    yield Zone()


if __name__ == "__main__":
    sp.main(controller, name="dns.example.com", lifespan=lifespan)

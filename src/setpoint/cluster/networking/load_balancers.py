"""Services of type LoadBalancer: a hollow load balancer gives each of them an address, as a cloud provider would."""

from __future__ import annotations

from hashlib import blake2b
from ipaddress import IPv4Address
from typing import Final

from setpoint.controller import Context, Controller, Outcome, done
from setpoint.models.core_v1 import LoadBalancerIngress, LoadBalancerStatus, Service

FIRST: Final = int(IPv4Address("198.18.0.1"))
"""The first address of the hollow load balancer. It is in a range that is reserved for benchmarks (RFC 2544) and is not
routed.
"""
ADDRESSES: Final = 2**17 - 2
_TYPE: Final = "LoadBalancer"


class LoadBalancers:
    """Writes an address into the status of each Service of type LoadBalancer, and removes the address when the type
    changes.

    Services with a ``loadBalancerClass`` belong to the controllers of that class. The address is the ``loadBalancerIP``
    of the Service. Without it, the address is derived from the name of the Service; if a different Service has that
    address, the next free one is used.

    *Guarantees*: a Service keeps its address, even if a different controller has assigned it.
    """

    def __init__(self) -> None:
        self.controller = Controller(
            Service, self._reconcile, name="service-lb-controller", owns_status=False, leader_only=False
        )

    async def _reconcile(self, service: Service, ctx: Context) -> Outcome:
        status = service.status
        addresses = status.load_balancer.ingress if status.load_balancer is not None else []
        if service.spec.load_balancer_class:
            return done()
        if service.spec.type != _TYPE:
            if addresses:
                status.load_balancer = LoadBalancerStatus()
            return done()
        if not addresses:
            address = await self._free(service, ctx)
            status.load_balancer = LoadBalancerStatus(ingress=[LoadBalancerIngress(ip=address, ip_mode="VIP")])
            ctx.event("Normal", "EnsuredLoadBalancer", "Ensured load balancer")
        return done()

    async def _free(self, service: Service, ctx: Context) -> str:
        used = {
            ingress.ip
            for other in await ctx.list(Service, namespace="*")
            if other.status.load_balancer is not None
            for ingress in other.status.load_balancer.ingress
        }
        wanted = service.spec.load_balancer_ip
        if wanted:
            return wanted
        number = int.from_bytes(blake2b(str(service.key).encode(), digest_size=4).digest(), "big")
        while (address := str(IPv4Address(FIRST + number % ADDRESSES))) in used:
            number += 1
        return address

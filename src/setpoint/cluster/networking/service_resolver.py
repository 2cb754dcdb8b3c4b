"""The addresses behind Services, for an API server that calls webhooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from setpoint.apiserver import CallFailed
from setpoint.apiserver.storage import Storage
from setpoint.cluster.networking.endpoints import SERVICE
from setpoint.cluster.nodes.behaviour import PREFIX
from setpoint.cluster.nodes.node_networks import LOOPBACKS

Document = dict[str, Any]
AT: Final = f"{PREFIX}/at"
"""The annotation of a hollow pod with the addresses at which programs on this machine answer for it: ``PORT=ADDRESS``,
such as ``9443=127.0.0.1:54321``, separated by commas.
"""
_SERVICES: Final = "services"
_SLICES: Final = "endpointslices.discovery.k8s.io"
_PODS: Final = "pods"
_MAX_TURNS: Final = 1000
"""The number of Services whose rotations are remembered; then all begin again."""


class ServiceAddresses:
    """Finds the address of a Service's port, as a kube-apiserver does: the addresses of the ready pods in the
    Service's first IP family (if there are none, in the other), in rotation.

    There is no pod network here. The pods that can be reached are processes on this machine, and hollow pods whose
    annotation `AT` names a program that answers for them. A Service of type ExternalName resolves to its external name.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._turns: Counter[tuple[str, str, int]] = Counter()

    def __call__(self, service: tuple[str, str, int]) -> str | None:
        """``host:port`` for ``(namespace, name, port)``; None if there is no such Service.

        Raises:
            CallFailed: the Service does not have that port, or none of its pods is ready and can be reached.
        """
        namespace, name, port = service
        record = self._storage.get(_SERVICES, namespace, name)
        if record is None:
            return None
        spec: Document = msgspec.json.decode(record.value).get("spec") or {}
        if spec.get("type") == "ExternalName":
            return f"{spec.get('externalName')}:{port}"
        wanted = next(
            (service_port for service_port in spec.get("ports") or () if service_port.get("port") == port), None
        )
        if wanted is None:
            raise CallFailed(f'no service port {port} found for service "{name}"')
        addresses: list[str] = []
        hollow: list[str] = []
        family = next(iter(spec.get("ipFamilies") or ()), "IPv4")
        endpoints = [*self._endpoints(namespace, name, wanted.get("name") or "")]
        preferred = [endpoint for endpoint in endpoints if (":" in endpoint[0]) == (family == "IPv6")]
        for address, number, pod in preferred or endpoints:
            real = self._real(address, number, namespace, pod)
            (addresses if real else hollow).append(real or _at(address, number))
        if addresses:
            if len(self._turns) >= _MAX_TURNS and service not in self._turns:
                self._turns.clear()
            self._turns[service] += 1
            return addresses[self._turns[service] % len(addresses)]
        if hollow:
            raise CallFailed(
                f"dial tcp {hollow[0]}: connect: no route to host (the pod is hollow and has no annotation {AT})"
            )
        raise CallFailed(f'no endpoints available for service "{name}"')

    def _endpoints(self, namespace: str, service: str, port: str) -> Iterator[tuple[str, int, str]]:
        """The ready endpoints of a Service's port: the address, the port number, and the name of the pod."""
        for record in self._storage.scan(_SLICES, namespace):
            endpoint_slice: Document = msgspec.json.decode(record.value)
            if (endpoint_slice["metadata"].get("labels") or {}).get(SERVICE) != service:
                continue
            numbers = [
                int(endpoint_port["port"])
                for endpoint_port in endpoint_slice.get("ports") or ()
                if (endpoint_port.get("name") or "") == port
            ]
            for endpoint in endpoint_slice.get("endpoints") or () if numbers else ():
                if (endpoint.get("conditions") or {}).get("ready") is not False:
                    pod = str((endpoint.get("targetRef") or {}).get("name") or "")
                    yield endpoint["addresses"][0], numbers[0], pod

    def _real(self, address: str, number: int, namespace: str, pod: str) -> str:
        """The address to connect to. For a hollow pod, it is the address that the pod's annotation gives, or empty if
        there is no annotation; for any other pod, it is the address of the endpoint itself.
        """
        record = self._storage.get(_PODS, namespace, pod) if pod else None
        if record is None or address in LOOPBACKS:
            return _at(address, number)  # a process; or an endpoint that a user has written
        annotations = msgspec.json.decode(record.value)["metadata"].get("annotations") or {}
        for part in annotations.get(AT, "").split(","):
            place, equals, real = part.strip().partition("=")
            if equals and place == str(number):
                return str(real)
        return ""


def _at(address: str, number: int) -> str:
    return f"[{address}]:{number}" if ":" in address else f"{address}:{number}"

"""The Lease with which an API server of a cluster announces its presence (KEP-1965)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from setpoint.apiserver.http_types import Request, Response
from setpoint.concurrency import end
from setpoint.meta import format_micro_time

_log = logging.getLogger(__name__)
JsonObject = dict[str, Any]
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_SECONDS: Final = 3600
"""The duration of the lease, in seconds."""
_PERIOD: Final = 10.0
"""The time between renewals, in seconds."""
_COMPONENT: Final = "kube-apiserver"


class IdentityLease:
    """Maintains the Lease through requests to ``handle``: creates it when the server starts and renews it until the
    server stops.

    ``hostname`` determines the name of the lease, as it does upstream; ``holder`` differs between runs of the server. A
    renewal that is refused is retried at the next interval.
    """

    def __init__(
        self,
        handle: Callable[[Request], Awaitable[Response]],
        now: Callable[[], datetime],
        *,
        hostname: str,
        holder: str,
    ) -> None:
        self._handle = handle
        self._now = now
        self._hostname = hostname
        parts = b"".join(len(raw).to_bytes(2, "big") + raw for raw in (hostname.encode(), _COMPONENT.encode()))
        short = base64.b32encode(hashlib.sha256(parts).digest()[:16]).rstrip(b"=").decode().lower()
        self.name = f"apiserver-{short}"
        """The name of the lease."""
        self._holder = f"{self.name}_{holder}"
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Replaces the lease of an earlier run, and starts to renew the new one."""
        await self._send("DELETE", f"{_LEASES}/{self.name}")
        await self._renew()
        self._task = asyncio.create_task(self._run(), name="identity lease")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        await end([task])
        await self._send("DELETE", f"{_LEASES}/{self.name}")

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_PERIOD)
            await self._renew()

    async def _renew(self) -> None:
        path = f"{_LEASES}/{self.name}"
        response = await self._send("GET", path)
        lease: JsonObject = {"metadata": {"name": self.name, "namespace": "kube-system"}}
        lease["spec"] = {"holderIdentity": self._holder}
        if response.status == 200 and isinstance(response.body, bytes):
            lease = msgspec.json.decode(response.body)
        labels = {"apiserver.kubernetes.io/identity": _COMPONENT, "kubernetes.io/hostname": self._hostname}
        lease["metadata"]["labels"] = {**(lease["metadata"].get("labels") or {}), **labels}
        timed = {"leaseDurationSeconds": _SECONDS, "renewTime": format_micro_time(self._now())}
        lease["spec"] = {**(lease.get("spec") or {}), **timed}
        method, target = ("PUT", path) if response.status == 200 else ("POST", _LEASES)
        answer = await self._send(method, target, msgspec.json.encode(lease))
        if answer.status not in (200, 201):
            _log.warning("lease %s could not be renewed: %s", self.name, answer.body)

    async def _send(self, method: str, path: str, body: bytes | None = None) -> Response:
        agent = {"user-agent": "kube-apiserver/v1.37.0", "accept": "application/json"}
        return await self._handle(Request(method, path, headers=agent, body=body))

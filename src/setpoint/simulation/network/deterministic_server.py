"""Server: the API server as all clients see it. The names that it generates depend only on the objects that receive
them.
"""

from __future__ import annotations

from collections import Counter

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import Response
from setpoint.client.transport import Request
from setpoint.simulation.trace.history import History
from setpoint.simulation.trace.operation import Operation


class DeterministicServer:
    """Answers requests. The uid and the generated name of a new object depend on ``seed``, on the object's label, and
    on the number of objects that were ever created with that label, so faults elsewhere do not change them.
    """

    def __init__(self, server: ApiServer, history: History) -> None:
        self.seed = "0"
        self._server = server
        self._history = history
        self._under_way: Counter[str] = Counter()

    async def handle(self, request: Request) -> Response:
        if not request.body or request.method not in ("POST", "PATCH") or (operation := Operation.of(request)) is None:
            return await self._server.handle(request)
        label = f"{operation.collection} {operation.label}"
        self._server.random.seed(f"{self.seed} {label} {self._history.created_count[label] + self._under_way[label]}")
        self._under_way[label] += 1
        try:
            return await self._server.handle(request)
        finally:
            self._under_way[label] -= 1

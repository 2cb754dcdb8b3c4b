"""The imports and requests of ``setpoint server`` until it is ready. Its time follows from them, and is not asserted on
a clock.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.programs import program

from setpoint.apiserver import ApiServer
from setpoint.apiserver.http_types import IncomingRequest, Response
from setpoint.testing import cluster, virtual_time

MODULES = 745
REQUESTS = {"GET": 16, "PATCH": 2, "POST": 13, "watch": 13}
"""Those of the control plane with one hollow node."""
UNUSED = ("scaffold", "lint", "deploy", "torture", "simulation", "testing")
READY = """
import gc, json, os, sys
from setpoint.starting import setpoint

report = sys.argv.pop()

def freeze():  # the heap is frozen when the server is ready
    with open(report, "w") as file:
        json.dump(sorted(sys.modules), file)
    os._exit(0)

gc.freeze = freeze
setpoint()
"""


@pytest.mark.wall_clock
async def test_a_server_is_ready_with_few_modules(tmp_path: Path) -> None:
    report = tmp_path / "report"
    async with program("-c", READY, "server", "--port", "0", report, home=tmp_path) as running:
        assert await running.ended() == 0, running.printed()
    own = [name for name in json.loads(report.read_text()) if name.partition(".")[0] == "setpoint"]
    assert len(own) <= MODULES, (len(own), own)
    assert not [name for name in own if name.startswith(tuple(f"setpoint.{package}" for package in UNUSED))]


@virtual_time
async def test_a_control_plane_is_at_rest_after_few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    handle = ApiServer.handle

    async def count(self: ApiServer, request: IncomingRequest) -> Response:
        counts["watch" if ("watch", "true") in request.query else request.method] += 1
        return await handle(self, request)

    monkeypatch.setattr(ApiServer, "handle", count)
    async with cluster() as world:
        await world.settle()
        assert counts <= Counter(REQUESTS), counts
        assert counts["watch"]

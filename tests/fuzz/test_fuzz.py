"""A minute of what ``make fuzz`` does for an hour: the same requests each time."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.apiserver.harness import serving
from tests.fuzz.__main__ import _grown
from tests.fuzz.judge import FoundError, NoHooks, Report, furnish, send, session
from tests.fuzz.raw_http import connections, raw_session
from tests.fuzz.requests import requests

from setpoint.apiserver import Request, Response

once = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)


def test_no_request_is_the_servers_fault() -> None:
    with asyncio.Runner() as runner:

        @settings(once, max_examples=250)
        @given(st.lists(requests(), min_size=1, max_size=6))
        def any_requests(sent: Sequence[Request]) -> None:
            runner.run(session(sent, Report()))

        any_requests()


def test_no_bytes_on_a_connection_are_the_servers_fault() -> None:
    with asyncio.Runner() as runner:

        @settings(once, max_examples=12)
        @given(st.lists(connections(), min_size=1, max_size=4))
        def any_bytes(sent: Sequence[bytes]) -> None:
            runner.run(raw_session(sent))

        any_bytes()


async def test_a_500_is_a_finding() -> None:
    async with serving(webhook_caller=NoHooks()) as api:

        async def broken(request: Request) -> Response:
            return Response(500, {"content-type": "application/json"}, b'{"kind":"Status","code":500,"message":"oh"}')

        api.server.handle = broken  # type: ignore[method-assign]
        with pytest.raises(FoundError, match="oh"):
            await send(api.server, Request("GET", "/api/v1/pods"), Report())


def test_a_server_that_refuses_remembers_nothing() -> None:
    """The same requests for the third time leave not an object more than for the second."""
    refused: list[Request] = []

    async def answered(sent: Sequence[Request], *, keep: bool) -> None:
        async with serving(webhook_caller=NoHooks()) as api:
            await furnish(api)
            for request in sent:
                if await send(api.server, request, Report()) >= 400 and keep:
                    refused.append(request)

    async def repeated() -> list[int]:
        async with serving(webhook_caller=NoHooks()) as api:
            await furnish(api)
            counts = []
            for _ in range(3):
                for request in refused:
                    await api.server.handle(request)
                gc.collect()
                counts.append(len(gc.get_objects()))
            return counts

    with asyncio.Runner() as runner:

        @settings(once, max_examples=60)
        @given(requests())
        def collected(sent: Request) -> None:
            runner.run(answered([sent], keep=True))

        collected()
        assert len(refused) > 20
        _, second, third = runner.run(repeated())
        assert third <= second + 20


@pytest.mark.parametrize(
    ("memory", "grown"),
    [
        ([111] * 7, 0),
        ([111, 163, 163, 163, 163, 165, 164, 164], 1),
        ([111, 130, 130, 130, 130, 130, 130, 190, 190, 190, 190, 190, 190, 190, 190, 190], 60),
        ([100 + 10 * round for round in range(16)], 80),
    ],
)
def test_an_hour_of_fuzzing_tells_a_leak_from_one_large_request_in_its_first_quarter(
    memory: list[int], grown: float
) -> None:
    assert _grown(memory) == grown

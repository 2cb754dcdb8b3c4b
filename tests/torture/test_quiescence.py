"""Quiescence in real time: what a wait until nothing is left to do waits for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from setpoint.simulation import Plan
from setpoint.simulation.injection.user_steps import Steps
from setpoint.testing import advance, virtual_time
from setpoint.torture.expectations import Expectations
from setpoint.torture.quiescence import Quiescence


@virtual_time
async def test_the_end_of_a_fault_is_followed_by_silence_before_nothing_is_left_to_do() -> None:
    """A program sees what a fault kept from it only then, and a busy machine is slow to tell it."""
    world = SimpleNamespace(
        plan=Plan(),
        options=Expectations(quiet_period=2.0),
        edge=SimpleNamespace(wrote_at=0.0, requested_at=0.0),
        supervisor=SimpleNamespace(started_at=0.0, runs=False, check=lambda: None),
        injector=SimpleNamespace(injected=[]),
        changed_at=0.0,
        is_idle=lambda: True,
    )
    world.steps = steps = Steps(cast("Any", world))
    world.quiescence = Quiescence(cast("Any", world))
    await advance(100.0)
    released: list[float] = []
    steps.over(0, lambda: released.append(asyncio.get_running_loop().time()))
    await steps.over_steps(60.0)
    assert len(released) == 1
    assert 2.0 <= asyncio.get_running_loop().time() - released[0] < 3.0

"""Rest, as torture waits for it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from setpoint.testing import advance, virtual_time
from setpoint.torture.rest import Rest
from setpoint.torture.steps import Steps


@virtual_time
async def test_the_end_of_a_fault_is_followed_by_silence_before_there_is_rest() -> None:
    """A program sees what a fault kept from it only then, and a busy machine is slow to tell it."""
    steps = Steps()
    trial = SimpleNamespace(
        expected=SimpleNamespace(silence=2.0, hears=frozenset()),
        edge=SimpleNamespace(wrote_at=0.0, asked_at=0.0),
        lives=SimpleNamespace(started_at=0.0, runs=False, check=lambda: None),
        steps=steps,
        changed_at=0.0,
        is_idle=lambda: True,
    )
    await advance(100.0)
    released: list[float] = []
    steps.over(0, lambda: released.append(asyncio.get_running_loop().time()))
    assert steps.end_effects() is True
    await Rest(cast("Any", trial)).within(60.0)
    assert 2.0 <= asyncio.get_running_loop().time() - released[0] < 3.0
    assert steps.end_effects() is False

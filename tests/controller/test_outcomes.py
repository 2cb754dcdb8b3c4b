"""Every row of docs/outcomes.md."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from setpoint.client.errors import Conflict, Forbidden, NotFound, TooManyRequests, error_from_status
from setpoint.client.transport import TransportError
from setpoint.concurrency import end, stack_of
from setpoint.controller import LoopMetrics, TerminalError, WorkLoop, after, done, retry
from setpoint.controller.outcome import Outdated, ReconcileTimeout, StatusNotServed, TooManyDeletions, Unconfirmed
from setpoint.controller.writes.ownership import AdoptionError
from setpoint.meta import Status, StatusCause, StatusDetails
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked
from setpoint.workqueue import ItemExponentialFailureRateLimiter

TABLE = Path(__file__).parents[2] / "docs" / "outcomes.md"


def api_error(reason: str, code: int, *, retry_after: int = 0, cause: str = "") -> Exception:
    details = StatusDetails(
        retry_after_seconds=retry_after, causes=[StatusCause(reason=cause, message="m")] if cause else []
    )
    return error_from_status(Status(reason=reason, code=code, message="no", details=details))


class Row(NamedTuple):
    """A row of the table, for one ending: the next attempt in seconds, failures counted, labels, log level."""

    name: str
    ending: Callable[[], Any]
    next_in: float | None
    failures: int
    result: str
    counters: tuple[str, ...]
    level: int | None


def raising(problem: Exception) -> Callable[[], Any]:
    def end() -> Any:
        raise problem

    return end


ROWS = [
    Row("None", lambda: None, None, 0, "success", (), None),
    Row("done()", done, None, 0, "success", (), None),
    Row("after(30)", lambda: after(30), 30, 0, "requeue_after", (), None),
    Row("retry(reason)", lambda: retry("soon"), 0.005, 1, "requeue", (), logging.INFO),
    Row("retry(reason, after=7)", lambda: retry("soon", after=7), 7, 1, "requeue", (), logging.INFO),
    Row("TerminalError", raising(TerminalError("bad")), None, 0, "error", ("errors", "terminal_errors"), logging.ERROR),
    Row("Conflict", raising(api_error("Conflict", 409)), 0.005, 1, "requeue", ("conflicts",), logging.DEBUG),
    Row("Unconfirmed", raising(Unconfirmed("who knows", 7.0)), 7.0, 1, "requeue", ("conflicts",), logging.DEBUG),
    Row("Outdated", raising(Outdated("moved")), 0.005, 1, "requeue", ("conflicts",), logging.DEBUG),
    Row(
        "TooManyRequests",
        raising(api_error("TooManyRequests", 429, retry_after=9)),
        9,
        1,
        "requeue",
        (),
        logging.WARNING,
    ),
    Row(
        "NamespaceTerminating",
        raising(api_error("Forbidden", 403, cause="NamespaceTerminating")),
        0.005,
        1,
        "requeue",
        (),
        logging.DEBUG,
    ),
    Row("any other ApiError", raising(api_error("NotFound", 404)), 0.005, 1, "error", ("errors",), logging.ERROR),
    Row("TransportError", raising(TransportError("reset", sent=True)), 0.005, 1, "error", ("errors",), logging.ERROR),
    Row(
        "ReconcileTimeout", raising(ReconcileTimeout("slow")), 0.005, 1, "error", ("errors", "timeouts"), logging.ERROR
    ),
    Row("AdoptionError", raising(AdoptionError("theirs")), 0.005, 1, "error", ("errors",), logging.ERROR),
    Row("TooManyDeletions", raising(TooManyDeletions("7")), 0.005, 1, "error", ("errors",), logging.ERROR),
    Row("StatusNotServed", raising(StatusNotServed("old")), 0.005, 1, "error", ("errors",), logging.ERROR),
    Row("a mistake", raising(KeyError("x")), 0.005, 1, "error", ("errors", "panics"), logging.ERROR),
    Row("any other exception", raising(RuntimeError("x")), 0.005, 1, "error", ("errors",), logging.ERROR),
]
COUNTERS = ("errors", "terminal_errors", "panics", "timeouts", "conflicts")


async def work_once(row: Row) -> tuple[WorkLoop[str], list[float]]:
    """A loop whose first attempt ends as the row says; when its attempts were made."""
    attempts: list[float] = []

    async def handle(key: str) -> Any:
        attempts.append(asyncio.get_running_loop().time())
        return row.ending() if len(attempts) == 1 else done()

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    await wait_all_tasks_blocked()
    assert len(attempts) == 1
    assert loop.queue.num_requeues("a") == row.failures
    await advance(3600)
    loop.stop()
    await running
    return loop, attempts


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_ending_has_its_effect(row: Row, caplog: pytest.LogCaptureFixture) -> None:
    @virtual_time
    async def check() -> None:
        with caplog.at_level(logging.DEBUG, "setpoint.controller"):
            loop, attempts = await work_once(row)
        if row.next_in is None:
            assert len(attempts) == 1
        else:
            assert attempts[1] - attempts[0] == pytest.approx(row.next_in)
        wanted = {row.result: 1}
        if row.next_in is not None:
            wanted["success"] = wanted.get("success", 0) + 1
        assert {name: count for name, count in loop.metrics.results.items() if count} == wanted
        assert {name for name in COUNTERS if getattr(loop.metrics, name)} == set(row.counters)
        levels = [record.levelno for record in caplog.records]
        assert levels == ([] if row.level is None else [row.level])

    check()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@virtual_time
async def test_each_ending_after_failures_forgets_the_back_off_or_keeps_it(row: Row) -> None:
    calls = 0

    async def handle(key: str) -> Any:
        nonlocal calls
        calls += 1
        if calls <= 5:
            raise RuntimeError("x")
        return row.ending()

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    await advance(0.2)  # 5 ms, 10, 20, 40, 80
    assert calls == 6
    assert loop.queue.num_requeues("a") == (6 if row.failures else 0)
    loop.stop()
    await running


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_table_in_the_docs_has_each_ending(row: Row) -> None:
    line = next((line for line in TABLE.read_text().splitlines() if line.startswith(f"| `{row.name}`")), None)
    if line is None:
        line = next(line for line in TABLE.read_text().splitlines() if line.startswith(f"| {row.name} "))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[3].strip("`") == row.result
    for counter in row.counters:
        assert counter in cells[4].replace(" ", "_")
    assert cells[5] == ("-" if row.level is None else logging.getLevelName(row.level).lower())
    assert cells[2] == ("forgotten" if row.failures == 0 else "grows")


@pytest.mark.parametrize("problem", [RuntimeError("x"), KeyError("x"), FileNotFoundError("no such file: key.pem")])
def test_what_the_users_code_raises_is_logged_with_where_it_was_raised(
    problem: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    @virtual_time
    async def check() -> None:
        with caplog.at_level(logging.ERROR, "setpoint.controller"):
            await work_once(Row("", raising(problem), 0.005, 1, "error", (), logging.ERROR))
        (record,) = caplog.records
        assert record.exc_info is not None
        assert record.exc_info[1] is problem

    check()


@virtual_time
async def test_backoff_grows_until_an_attempt_is_fine() -> None:
    moments: list[float] = []

    async def handle(key: str) -> Any:
        moments.append(asyncio.get_running_loop().time())
        if len(moments) < 5:
            raise RuntimeError("not yet")
        return done()

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    await advance(10)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert gaps == pytest.approx([0.005, 0.01, 0.02, 0.04])
    assert loop.queue.num_requeues("a") == 0
    loop.stop()
    await running


@virtual_time
async def test_events_during_a_failure_do_not_make_its_back_off_longer() -> None:
    moments: list[float] = []

    async def handle(key: str) -> Any:
        moments.append(asyncio.get_running_loop().time())
        raise RuntimeError("not yet")

    limiter: ItemExponentialFailureRateLimiter[str] = ItemExponentialFailureRateLimiter(base=10, max=1000)
    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle, rate_limiter=limiter)
    running = asyncio.ensure_future(loop.run())
    for _ in range(9):
        loop.queue.add("a")
        await advance(1)
    assert loop.queue.num_requeues("a") == 1
    await advance(21.5)
    assert moments == pytest.approx([*range(9), 10, 30])  # the retries are those of a key without events
    loop.queue.forget("a")  # as for a requested reconcile
    loop.queue.add("a")
    await advance(1)
    assert loop.queue.num_requeues("a") == 1
    await advance(10)
    assert moments[-1] == pytest.approx(40.5)
    loop.stop()
    await running


@virtual_time
async def test_the_wait_of_one_ending_is_not_that_of_a_failure_after_an_event() -> None:
    moments: list[float] = []

    async def handle(key: str) -> Any:
        moments.append(asyncio.get_running_loop().time())
        if len(moments) == 1:
            return retry("the system is busy", after=3600)
        raise RuntimeError("the network is down")

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    await advance(100)
    loop.queue.add("a")
    await advance(0.015)
    assert moments == pytest.approx([0, 100, 100.01])
    loop.stop()
    await running


@virtual_time
async def test_one_key_that_fails_does_not_hold_up_the_others() -> None:
    handled: list[str] = []

    async def handle(key: str) -> Any:
        if key == "bad":
            raise RuntimeError("always")
        handled.append(key)
        return done()

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    for key in ("bad", "a", "b", "c"):
        loop.queue.add(key)
    await wait_all_tasks_blocked()
    assert handled == ["a", "b", "c"]
    loop.stop()
    await running


@virtual_time
async def test_an_event_ends_the_wait_of_a_delayed_key() -> None:
    moments: list[float] = []

    async def handle(key: str) -> Any:
        moments.append(asyncio.get_running_loop().time())
        return after(100)

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    await advance(10)
    loop.queue.add("a")
    await advance(50)
    assert moments == [0.0, 10.0]
    loop.stop()
    await running


@virtual_time
async def test_a_key_keeps_its_priority_when_it_is_tried_again() -> None:
    seen: list[int | None] = []

    async def handle(key: str) -> Any:
        seen.append(loop.queue.priority(key))
        if len(seen) == 1:
            raise RuntimeError("once")
        return after(1) if len(seen) == 2 else done()

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a", priority=-100)
    await advance(10)
    assert seen == [-100, -100, -100]
    loop.stop()
    await running


@virtual_time
async def test_a_key_is_never_handled_twice_at_once_and_workers_work_side_by_side() -> None:
    running_now: set[str] = set()
    most = 0

    async def handle(key: str) -> Any:
        nonlocal most
        assert key not in running_now
        running_now.add(key)
        most = max(most, len(running_now))
        await asyncio.sleep(1)
        running_now.discard(key)

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 3), handle)
    running = asyncio.ensure_future(loop.run())
    for moment in range(20):
        for key in "abcd":
            loop.queue.add(key)
        await advance(0.3 + moment % 2)
    await advance(10)
    assert most == 3
    loop.stop()
    await running


@virtual_time
async def test_base_exceptions_are_never_swallowed() -> None:
    class Fatal(BaseException):
        pass

    async def handle(key: str) -> Any:
        raise Fatal

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    loop.queue.add("a")
    with pytest.raises(Fatal):
        await loop.run()


@pytest.mark.parametrize("how", ["returns", "fails", "goes on"])
@virtual_time
async def test_an_attempt_that_swallows_the_cancellation_is_its_workers_last(how: str) -> None:
    begun: list[str] = []

    async def handle(key: str) -> Any:
        begun.append(key)
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        if how == "fails":
            raise ValueError("could not be sent")  # as another library may do with a cancellation
        if how == "goes on":
            await asyncio.sleep(7)

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    for key in "abc":
        loop.queue.add(key)
    await wait_all_tasks_blocked()
    assert await end([running]) == set()
    assert running.cancelled()
    assert begun == ["a"]
    assert asyncio.get_running_loop().time() == (7 if how == "goes on" else 0)


@pytest.mark.parametrize("how", ["swallowed", "raised"])
@virtual_time
async def test_what_cancels_a_worker_but_not_its_loop_ends_no_worker(how: str) -> None:
    """As libraries' timeouts do that don't take their cancellation back."""
    handled: list[str] = []

    async def handle(key: str) -> Any:
        handled.append(key)
        if len(handled) == 1:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            with suppress(asyncio.CancelledError if how == "swallowed" else ()):
                await asyncio.sleep(1)
            return
        async with asyncio.timeout(5):
            await asyncio.sleep(1)

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    loop.queue.add("b")
    await advance(10)
    assert handled == (["a", "b"] if how == "swallowed" else ["a", "b", "a"])
    assert loop.metrics.errors == (0 if how == "swallowed" else 1)
    loop.stop()
    await running


@virtual_time
async def test_a_loop_says_which_keys_are_under_way_and_where() -> None:
    async def handle(key: str) -> Any:
        await asyncio.Event().wait()

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 3), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    await asyncio.sleep(1)
    loop.queue.add("b")
    await asyncio.sleep(0.5)
    assert [str(item) for item in loop.under_way()] == ["a (for 1.5 s)", "b (for 0.5 s)"]
    assert any(line.endswith("handle") for line in stack_of(loop.under_way()[0].task))
    await end([running])
    assert loop.under_way() == []


@virtual_time
async def test_awaiting_a_cancelled_task_does_not_end_a_worker() -> None:
    """The end of a worker would not be noticed."""
    handled: list[str] = []

    async def handle(key: str) -> Any:
        if key == "bad" and not handled:
            handled.append("bad")
            task = asyncio.ensure_future(asyncio.sleep(1))
            task.cancel()
            await task
        handled.append(key)

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("bad")
    loop.queue.add("good")
    await advance(1)
    assert handled == ["bad", "good", "bad"]
    assert loop.metrics.errors == 1
    loop.stop()
    await running


@virtual_time
async def test_cancelling_the_loop_cancels_its_attempts() -> None:
    cancelled: list[str] = []

    async def handle(key: str) -> Any:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            cancelled.append(key)
            raise

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 2), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    loop.queue.add("b")
    await wait_all_tasks_blocked()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(cancelled) == ["a", "b"]


@virtual_time
async def test_stopping_lets_attempts_end_and_takes_no_more_keys() -> None:
    ended: list[str] = []

    async def handle(key: str) -> Any:
        await asyncio.sleep(5)
        ended.append(key)

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    for key in "abc":
        loop.queue.add(key)
    await wait_all_tasks_blocked()
    loop.stop()
    await running
    assert ended == ["a"]


@virtual_time
async def test_a_function_that_never_waits_lets_others_run() -> None:
    seen = 0

    async def handle(key: str) -> Any:
        loop.queue.add(key)
        nonlocal seen
        seen += 1

    loop: WorkLoop[str] = WorkLoop(LoopMetrics("test", 1), handle)
    running = asyncio.ensure_future(loop.run())
    loop.queue.add("a")
    for _ in range(50):
        await asyncio.sleep(0)
    assert 0 < seen < 2000
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_outcomes_refuse_what_makes_no_sense() -> None:
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite number"):
            after(seconds)
        with pytest.raises(ValueError, match="finite number"):
            retry("x", after=seconds)
    with pytest.raises(ValueError, match="at least 1"):
        WorkLoop(LoopMetrics("x", 0), lambda key: asyncio.sleep(0))


def test_conflicts_are_told_apart_by_reason() -> None:
    assert isinstance(api_error("Conflict", 409), Conflict)
    assert isinstance(api_error("Forbidden", 403), Forbidden)
    assert isinstance(api_error("NotFound", 404), NotFound)
    assert isinstance(api_error("TooManyRequests", 429), TooManyRequests)

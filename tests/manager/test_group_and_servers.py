"""Groups of runnables, health checks, addresses, logs: the parts of a manager that work alone."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import signal
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from tests.programs import DEADLINE
from tests.tasks import stop

from setpoint.controller import BoundLogger, UnderWay
from setpoint.manager import HealthChecks, RunnableEnded, http_server, stopping_on_signals
from setpoint.manager.http_server import Answer, HttpServer, split_address
from setpoint.manager.logging import JsonFormatter, TextFormatter, configure
from setpoint.manager.metrics import ProcessMetrics
from setpoint.manager.runnable_group import Group
from setpoint.serving import HttpService
from setpoint.testing import advance, virtual_time, wait_all_tasks_blocked


class Runs:
    def __init__(self, name: str, journal: list[str], *, ends: float | None = None, fails: bool = False) -> None:
        self.name, self.journal, self.ends, self.fails = name, journal, ends, fails

    async def run(self) -> None:
        self.journal.append(f"{self.name} starts")
        try:
            await asyncio.sleep(1e6 if self.ends is None else self.ends)
            if self.fails:
                raise RuntimeError(self.name)
        finally:
            self.journal.append(f"{self.name} ends")


class Closes(Runs):
    """Has a clean-up of some steps, as servers have."""

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)


class Drains(Runs):
    """Takes a while to end, when it is asked to."""

    def __init__(self, name: str, journal: list[str], seconds: float) -> None:
        super().__init__(name, journal)
        self.seconds = seconds
        self.asked = asyncio.Event()

    async def run(self) -> None:
        self.journal.append(f"{self.name} starts")
        try:
            await self.asked.wait()
            await asyncio.sleep(self.seconds)
            self.journal.append(f"{self.name} has drained")
        finally:
            self.journal.append(f"{self.name} ends")

    def stop(self) -> None:
        self.asked.set()


@virtual_time
async def test_a_group_starts_stops_and_awaits_everything() -> None:
    journal: list[str] = []
    problems: list[BaseException] = []
    group = Group("test", problems.append)
    group.add(Runs("a", journal))
    group.add(Drains("b", journal, 3))
    await group.start()
    await wait_all_tasks_blocked()
    assert await group.stop(asyncio.get_running_loop().time() + 10)
    assert journal == ["a starts", "b starts", "a ends", "b has drained", "b ends"]
    assert problems == []
    with pytest.raises(RuntimeError, match="can't be added"):
        group.add(Runs("late", journal))


@virtual_time
async def test_what_does_not_end_in_time_is_cancelled() -> None:
    journal: list[str] = []
    group = Group("test", lambda problem: None)
    group.add(Drains("slow", journal, 100))
    await group.start()
    await wait_all_tasks_blocked()
    assert not await group.stop(5)
    assert journal == ["slow starts", "slow ends"]
    assert asyncio.get_running_loop().time() == 5


class Works(Drains):
    """A runnable that says on which key it works, and swallows cancellations."""

    def under_way(self) -> list[UnderWay]:
        task = next(task for task in asyncio.all_tasks() if task.get_name().endswith(f": {self.name}"))
        return [UnderWay("default/a", 1.0, task)]

    async def run(self) -> None:
        await self.asked.wait()
        while True:
            try:
                await asyncio.sleep(1e6)
            except asyncio.CancelledError:
                if asyncio.get_running_loop().time() > 100:
                    raise


@virtual_time
async def test_a_stop_names_the_hanging_work_with_its_stack_and_no_other_runnable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leader, servers = Group("leader", lambda problem: None), Group("servers", lambda problem: None)
    leader.add(Works("widget", [], 0))
    for name in ("metrics", "health"):
        servers.add(Closes(name, []))
    await leader.start()
    await servers.start()
    await wait_all_tasks_blocked()
    with caplog.at_level(logging.WARNING, "setpoint.manager"):
        assert not await leader.stop(5)
        assert await servers.stop(5)
        await servers.cancel()
    assert (leader.late, leader.hanging) == (["widget default/a"], ["widget default/a"])
    assert (servers.late, servers.hanging) == ([], [])
    messages = [(record.levelno, record.getMessage(), record.fields["what"]) for record in caplog.records]  # type: ignore[attr-defined]
    assert [(level, what) for level, _, what in messages] == [
        (logging.WARNING, "widget default/a"),
        (logging.ERROR, "widget default/a"),
    ]
    assert messages[0][1].startswith("has not ended within 5 s and is being cancelled; it is at\n")
    assert messages[1][1].startswith("does not end although it was cancelled 10 s ago; it is at\n")
    assert all("Works.run" in message for _, message, _ in messages)
    await advance(100)
    await leader.cancel()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        await stop(task)


@virtual_time
async def test_a_runnable_that_has_ended_is_never_called_hanging() -> None:
    group = Group("test", lambda problem: None)
    group.add(Runs("short", [], ends=0), may_end=True)
    await group.start()
    (task,) = (task for task in asyncio.all_tasks() if task.get_name() == "test: short")
    while not task.done():  # noqa: ASYNC110 - in the very turn in which it ends
        await asyncio.sleep(0)
    await group.cancel()
    assert group.hanging == []


@virtual_time
async def test_a_runnable_that_fails_or_ends_unasked_is_reported_and_one_that_may_end_is_not() -> None:
    problems: list[BaseException] = []
    group = Group("test", problems.append)
    group.add(Runs("fails", [], ends=1, fails=True))
    group.add(Runs("ends", [], ends=2))
    group.add(Runs("may end", [], ends=3), may_end=True)
    await group.start()
    await advance(10)
    assert [type(problem) for problem in problems] == [RuntimeError, RunnableEnded]
    assert "ends returned without a request to stop" in str(problems[1])
    await group.cancel()


@virtual_time
async def test_what_is_added_to_a_running_group_starts_at_once() -> None:
    journal: list[str] = []
    group = Group("test", lambda problem: None)
    await group.start()
    group.add(Runs("late", journal))
    await wait_all_tasks_blocked()
    assert journal == ["late starts"]
    await group.cancel()


@virtual_time
async def test_readiness_of_one_runnable_holds_back_the_next_group() -> None:
    class Slow(Runs):
        def __init__(self) -> None:
            super().__init__("slow", [])
            self.ready = asyncio.Event()

        async def run(self) -> None:
            await asyncio.sleep(3)
            self.ready.set()
            await asyncio.sleep(1e6)

    group = Group("test", lambda problem: None)
    group.add(Slow())
    await group.start()
    assert asyncio.get_running_loop().time() == 3
    await group.cancel()


# -- health ------------------------------------------------------------------------------------------------------------


def test_health_without_checks_is_a_ping() -> None:
    checks = HealthChecks("healthz")
    assert checks.answer("", {}) == (200, "ok")
    assert checks.answer("ping", {}) == (200, "ok")
    assert checks.answer("", {"verbose": [""]}) == (200, "[+]ping ok\nhealthz check passed\n")


def test_failures_are_always_explained() -> None:
    checks = HealthChecks("readyz")
    checks.add("controller-a", lambda: "")
    checks.add("controller-b", lambda: "cache of pods not synced: Forbidden")
    status, text = checks.answer("", {})
    assert status == 500
    assert text == (
        "[+]controller-a ok\n[-]controller-b failed: cache of pods not synced: Forbidden\nreadyz check failed\n"
    )
    assert checks.answer("controller-a", {}) == (200, "ok")
    assert checks.answer("controller-b", {})[0] == 500
    assert checks.answer("controller-c", {})[0] == 404
    assert checks.problems() == {"controller-b": "cache of pods not synced: Forbidden"}


def test_checks_can_be_excluded_and_unknown_exclusions_are_no_failure() -> None:
    checks = HealthChecks("readyz")
    checks.add("a", lambda: "broken")
    checks.add("b", lambda: "")
    status, text = checks.answer("", {"exclude": ["a", "zzz"], "verbose": [""]})
    assert status == 200
    assert "[+]a excluded: ok" in text
    assert 'no matches for "zzz"' in text
    with pytest.raises(ValueError, match="already"):
        checks.add("a", lambda: "")


# -- HTTP --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (":8080", ("", 8080)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:81", ("::1", 81)),
        ("0", None),
        ("", None),
    ],
)
def test_bind_addresses_are_in_the_fields_form(address: str, place: Any) -> None:
    assert split_address(address) == place


@pytest.mark.parametrize("address", ["8080", "host", "host:port", ":70000"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        split_address(address)


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
async def test_a_head_that_never_comes_ends_the_connection(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HttpService", partial(HttpService, read_timeout=0.01))
    server = HttpServer("127.0.0.1:0", name="test")
    running = asyncio.ensure_future(server.run())
    await asyncio.wait_for(server.ready.wait(), DEADLINE)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    with suppress(ConnectionResetError):  # on a busy machine the data comes after the end
        assert await asyncio.wait_for(reader.read(), DEADLINE) == b""
    writer.close()
    await stop(running)


@pytest.mark.parametrize("target", ["//[metrics", "//metrics", "//healthz/..", "/[::1", "/%00", "/%ff#[", "//[]?/"])
async def test_a_target_that_is_not_a_page_is_not_found(target: str, caplog: pytest.LogCaptureFixture) -> None:
    server = HttpServer("127.0.0.1:0", name="test")
    server.add("/metrics", ProcessMetrics().answer)
    running = asyncio.ensure_future(server.run())
    await asyncio.wait_for(server.ready.wait(), DEADLINE)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET {target} HTTP/1.0\r\n\r\n".encode())
    assert (await asyncio.wait_for(reader.read(), DEADLINE)).startswith(b"HTTP/1.1 404 ")
    assert not caplog.records
    writer.close()
    await stop(running)


async def test_the_server_answers_by_prefix_and_says_what_there_is() -> None:
    import aiohttp

    server = HttpServer("127.0.0.1:0", name="test")
    checks = HealthChecks("healthz")
    metrics = ProcessMetrics()

    def health(path: str, query: Any, headers: Any) -> Answer:
        status, text = checks.answer(path, query)
        return Answer(status, text.encode())

    server.add("/healthz", health)
    server.add("/metrics", metrics.answer)
    running = asyncio.ensure_future(server.run())
    await asyncio.wait_for(server.ready.wait(), DEADLINE)
    base = f"http://127.0.0.1:{server.port}"
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{base}/healthz/ping") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get(f"{base}/metrics") as answer:
            assert answer.status == 200
            assert "controller_runtime_reconcile_total" in await answer.text()
        async with session.get(f"{base}/nothing") as answer:
            assert (answer.status, "available: /healthz, /metrics" in await answer.text()) == (404, True)
    second = HttpServer(f"127.0.0.1:{server.port}", name="second")
    with pytest.raises(OSError, match="the second server can't listen on"):
        await second.run()
    await stop(running)


# -- signals -----------------------------------------------------------------------------------------------------------


async def test_the_first_signal_asks_and_the_second_does_not() -> None:
    stopped, killed = asyncio.Event(), asyncio.Event()
    statuses: list[int] = []

    def kill(status: int) -> None:
        statuses.append(status)
        killed.set()

    with stopping_on_signals(stopped.set, kill=kill):
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(stopped.wait(), DEADLINE)
        assert statuses == []
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(killed.wait(), DEADLINE)
    assert statuses == [1]


# -- logs --------------------------------------------------------------------------------------------------------------


def test_records_carry_the_fields_of_their_logger() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("test.bound")
    logger.propagate = False
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    log = BoundLogger(logger, {"controller": "widget"}).bind(key="default/a")
    log.info("scaled to %d", 3, replicas=3, extra={"nothing": None})
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("failed")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert {name: first[name] for name in ("level", "msg", "controller", "key", "replicas")} == {
        "level": "info", "msg": "scaled to 3", "controller": "widget", "key": "default/a", "replicas": 3,
    }  # fmt: skip
    assert "nothing" not in first
    assert "ValueError: broken" in second["stacktrace"]
    handler.setFormatter(TextFormatter())
    stream.truncate(0)
    stream.seek(0)
    log.info("hello", extra={"what": "two words"})
    assert "INFO    test.bound: hello controller=widget key=default/a what='two words'" in stream.getvalue()


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_a_record_that_holds_what_is_not_unicode_is_written_all_the_same(formatter: logging.Formatter) -> None:
    record = logging.makeLogRecord({"msg": "caf\udce9", "fields": {"files": ["caf\udce9"], "key": "a"}})
    line = formatter.format(record)
    assert "caf" in line
    assert "\\udce9" in line


def test_logging_is_configured_only_when_asked() -> None:
    with pytest.raises(ValueError, match="neither text nor json"):
        configure("xml")  # type: ignore[arg-type]
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    with pytest.raises(ValueError, match="LOUD"):
        configure("text", "LOUD")
    assert root.handlers == handlers
    stream = io.StringIO()
    handler = configure("json", "WARNING", stream=stream)
    try:
        logging.getLogger("setpoint.test").warning("told")
        assert json.loads(stream.getvalue())["msg"] == "told"
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


async def test_a_program_whose_terminal_is_gone_stops_at_the_first_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    stopped = asyncio.Event()
    monkeypatch.setattr("builtins.print", gone)
    with stopping_on_signals(stopped.set, waits_for=lambda: ["a reconcile"], kill=lambda status: None):
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            await stopped.wait()

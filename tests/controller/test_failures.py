"""Reports of failures: one line with the cause and the place, and a reason that servers accept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import setpoint as sp
from setpoint.cache import InformerFactory
from setpoint.client.errors import error_from_status
from setpoint.controller.outcome import describe, reason_of
from setpoint.crd import crd_for
from setpoint.manager.logging import TextFormatter
from setpoint.meta import Status, find_condition
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, cluster, virtual_time

from .world import Widget, widget

HERE = "test_failures.py"
ANY: Any = 3


class _InactiveRpcError(Exception): ...


class __(_InactiveRpcError): ...


class Ошибка(LookupError): ...


class Trailing_(Exception): ...


class _9(ValueError): ...


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (ValueError("x"), "ValueError"),
        (_InactiveRpcError("x"), "InactiveRpcError"),
        (__("x"), "InactiveRpcError"),
        (Ошибка("x"), "LookupError"),
        (Trailing_("x"), "Trailing"),
        (_9("x"), "ValueError"),
        (type("E" * 2000, (OSError,), {})(), "OSError"),
        (ExceptionGroup("unhandled errors in a TaskGroup", [_InactiveRpcError("x")]), "InactiveRpcError"),
        (ExceptionGroup("two", [sp.TerminalError("x"), ExceptionGroup("one", [KeyError("x")])]), "KeyError"),
    ],
)
def test_a_reason_is_a_word_that_every_definition_of_conditions_accepts(problem: Exception, reason: str) -> None:
    assert reason_of(problem) == reason


def raised(function: Callable[[], object]) -> Exception:
    try:
        function()
    except Exception as problem:  # noqa: BLE001 - any exception
        return problem
    raise AssertionError("no exception")


def several() -> None:
    raise ExceptionGroup("unhandled errors in a TaskGroup", [ValueError(str(number // 2)) for number in range(14)])


def several_in_lines() -> None:
    raise ExceptionGroup("two\r\n  of them", [ValueError("a\nb"), ValueError("c")])


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError("x")


def unreadable() -> None:
    raise Unreadable


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: {"a": 1}["x"], f"KeyError: 'x' ({HERE}:LINE)"),
        (lambda: json.loads(ANY), f"TypeError: the JSON object must be str, bytes or bytearray, not int ({HERE}:LINE)"),
        (lambda: ANY.missing, f"AttributeError: 'int' object has no attribute 'missing' ({HERE}:LINE)"),
        (several_in_lines, "two of them: ValueError: a b; ValueError: c"),
        (unreadable, "Unreadable: its message can't be read, because its __str__ raised ZeroDivisionError"),
        (several, "ValueError: 0; ValueError: 1; ValueError: 2; ValueError: 3; ValueError: 4; and 2 more"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_program_is_told_with_its_line(function: Any, message: str) -> None:
    line = function.__code__.co_firstlineno
    assert describe(raised(function)).startswith(message.replace("LINE", str(line)))


@pytest.mark.parametrize("in_thread", [False, True])
@virtual_time
async def test_a_next_that_finds_nothing_is_a_failure_of_plain_functions_too(in_thread: bool) -> None:
    calls: list[str] = []

    def find(obj: Widget, ctx: Any) -> None:
        calls.append(obj.name)
        next(iter(()))

    async def find_in_loop(obj: Widget, ctx: Any) -> None:
        find(obj, ctx)

    async with cluster(sp.Controller(Widget, find if in_thread else find_in_loop), control_plane=False) as world:
        await world.create(widget())
        await world.settle(failing=True)
        assert len(calls) > 5
        (condition, _) = (await world.get(Widget, "a")).status.conditions
        line = find.__code__.co_firstlineno + 2
        assert condition.message.endswith(f"raised StopIteration ({HERE}:{line})")


def test_all_lines_of_a_message_are_told() -> None:
    problem = RuntimeError(
        "permissions not currently held:\n  {secrets get}\n\n  add controller.needs(Secret, 'get')\n"
    )
    assert describe(problem) == (
        "RuntimeError: permissions not currently held: {secrets get} add controller.needs(Secret, 'get')"
    )


def test_an_error_without_a_message_is_told_by_its_class() -> None:
    assert describe(TimeoutError()) == "TimeoutError"


@virtual_time
async def test_the_cause_of_a_task_groups_failure_is_told() -> None:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise KeyError("x")

    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(asyncio.sleep(9))

    line = fail.__code__.co_firstlineno + 2
    async with cluster(sp.Controller(Widget, reconcile), control_plane=False) as world:
        await world.create(widget())
        await world.settle(1, failing=True)
        condition = find_condition((await world.get(Widget, "a")).status.conditions, "Reconciled")
        assert condition is not None
        assert (condition.reason, condition.message) == ("KeyError", f"KeyError: 'x' ({HERE}:{line})")


@pytest.mark.parametrize("part", ["reconcile", "finalize"])
@pytest.mark.parametrize("timeout", [None, 60.0])
@virtual_time
async def test_a_task_that_was_cancelled_while_it_was_awaited_is_a_failure_in_condition_and_event(
    part: str, timeout: float | None
) -> None:
    async def wait_for_cancelled(obj: Widget, ctx: sp.Context) -> None:
        task = asyncio.ensure_future(asyncio.sleep(9))
        task.cancel()
        await task

    async def pass_by(obj: Widget, ctx: sp.Context) -> None: ...

    functions = [wait_for_cancelled, pass_by] if part == "reconcile" else [pass_by, wait_for_cancelled]
    controller = sp.Controller(Widget, functions[0], timeout=timeout).finalize(functions[1])
    async with cluster(controller, control_plane=False) as world:
        await world.create(widget())
        await world.settle(1, failing=True)
        if part == "finalize":
            await world.client.delete(Widget, "a", namespace="default")
            await world.settle(1, failing=True)
        condition = find_condition((await world.get(Widget, "a")).status.conditions, "Reconciled")
        assert condition is not None
        text = "reconcile awaited a task that was cancelled"
        assert (condition.status, condition.reason, condition.message) == (
            "False",
            "RuntimeError",
            f"RuntimeError: {text}",
        )
        assert text in [event.note for event in await world.client.list(Event)]


@virtual_time
async def test_an_outage_is_one_traceback_in_the_log_and_the_next_after_an_hour(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        try:
            raise ConnectionRefusedError(111, "Connection refused")
        except OSError as problem:
            raise RuntimeError("cloud.example.com can't be reached") from problem

    async with cluster(sp.Controller(Widget, reconcile), control_plane=False) as world:
        for name in "abc":
            await world.create(widget(name))
        await world.settle(40, failing=True)
        records = [record for record in caplog.records if record.getMessage() == "reconcile failed"]
        assert len(records) == 3 * 13
        assert [record.exc_info is not None for record in records] == [True] + [False] * (len(records) - 1)
        assert records[1].__dict__["fields"]["traceback"] == "as before"
        text = "\n".join(map(TextFormatter().format, records))
        assert len(text.splitlines()) < 80
        caplog.clear()
        await advance(2 * 3600)
        shown = [record for record in caplog.records if record.exc_info is not None]
        assert 1 <= len(shown) <= 2


@virtual_time
async def test_each_cause_has_its_own_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if obj.name == "a":
            raise RuntimeError("one")
        raise RuntimeError("other")

    async with cluster(sp.Controller(Widget, reconcile), control_plane=False) as world:
        await world.create(widget("a"))
        await world.create(widget("b"))
        await world.settle(40, failing=True)
        assert sum(record.exc_info is not None for record in caplog.records) == 2


@virtual_time
async def test_failed_reconciles_are_one_event_and_then_a_series() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        raise _InactiveRpcError("the cloud is away\nfor a while")

    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False) as world:
        await world.create(ConfigMap.named("a", "default"))
        await world.settle(40, failing=True)
        await advance(31)
        (event,) = await world.list(Event)
        assert (event.type, event.reason) == ("Warning", "InactiveRpcError")
        assert event.note == "_InactiveRpcError: the cloud is away for a while"
        assert event.regarding is not None
        assert (event.regarding.kind, event.regarding.name) == ("ConfigMap", "a")
        assert event.series is not None
        assert 13 <= event.series.count <= world.running("configmap").metrics.errors


@virtual_time
async def test_conflicts_and_retries_are_no_events() -> None:
    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome:
        if obj.name == "a":
            return sp.retry("not yet")
        raise error_from_status(Status(code=409, reason="Conflict", message="it has changed"))

    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False) as world:
        for name in "ab":
            await world.create(ConfigMap.named(name, "default"))
        await world.settle(40, failing=True)
        assert await world.list(Event) == []


@virtual_time
async def test_a_failure_is_reported_through_a_definition_that_controller_gen_has_made() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        if obj.name == "a":
            raise _InactiveRpcError("UNAVAILABLE")
        raise Ошибка("нет")

    await asyncio.sleep(0.25)  # a time with a fraction of a second
    async with cluster(sp.Controller(Widget, reconcile), control_plane=False) as world:
        for name in "ab":
            await world.create(widget(name))
        await world.settle(1, failing=True)
        conditions = [(await world.get(Widget, name)).status.conditions[0] for name in "ab"]
        assert [(condition.reason, condition.message) for condition in conditions] == [
            ("InactiveRpcError", "_InactiveRpcError: UNAVAILABLE"),
            ("LookupError", f"Ошибка: нет ({HERE}:{reconcile.__code__.co_firstlineno + 3})"),
        ]
        raw = json.loads(await world.client.request("GET", "/apis/test.example.com/v1/namespaces/default/widgets/a"))
        assert raw["status"]["conditions"][0]["lastTransitionTime"].endswith("0Z")
        assert "." not in raw["status"]["conditions"][0]["lastTransitionTime"]


@virtual_time
async def test_a_message_of_any_length_fits_its_condition() -> None:
    async def reconcile(obj: Widget, ctx: sp.Context) -> None:
        ctx.set_condition("Ready", False, reason="Long", message="ä" * 40_000)

    async with cluster(sp.Controller(Widget, reconcile), control_plane=False) as world:
        await world.create(widget())
        await world.settle()
        (condition,) = (await world.get(Widget, "a")).status.conditions
        assert condition.message == "ä" * 32_768


def test_definitions_limit_conditions_as_those_of_controller_gen_do() -> None:
    schema = crd_for(Widget)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = schema["properties"]["status"]["properties"]["conditions"]["items"]["properties"]
    for field in fields.values():
        field.pop("description")
        field.pop("type")
    assert fields == {
        "lastTransitionTime": {"format": "date-time"},
        "message": {"maxLength": 32768},
        "observedGeneration": {"format": "int64", "minimum": 0},
        "reason": {"maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        "status": {"enum": ["True", "False", "Unknown"]},
        "type": {
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
    }  # fmt: skip


@virtual_time
async def test_the_problem_of_a_controller_that_ended_is_the_cause_and_not_the_group_around_it() -> None:
    async def source() -> Any:
        await asyncio.sleep(1)
        yield ANY["x"]

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...

    line = source.__code__.co_firstlineno + 2
    async with cluster(control_plane=False) as world, InformerFactory(world.client) as factory:
        running = sp.Controller(ConfigMap, reconcile).source(source).bind(world.client, factory)
        with pytest.raises(ExceptionGroup):
            await running.run()
        assert running.readiness() == f"TypeError: 'int' object is not subscriptable ({HERE}:{line})"

"""Each rule of ``setpoint lint`` with code that breaks it and code that keeps it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from setpoint.lint import RULES, lint
from setpoint.simulation.oracles.catalog import ORACLES

HEAD = """\
import asyncio, datetime, random, secrets, time, uuid
import requests
import setpoint as sp
from setpoint.client import Conflict
from setpoint.models.core_v1 import ConfigMap, Secret

seen = {}
count = 0

"""


def found(body: str) -> list[str]:
    return [rule for rule, _ in lint(HEAD + dedent(body), Path("app.py"))]


def reconcile(*lines: str) -> str:
    return "async def reconcile(pot: Pot, ctx: sp.Context) -> None:\n" + "".join(f"    {line}\n" for line in lines)


def controller(*lines: str, owns: str = "") -> str:
    return f"{reconcile(*lines)}\ncontroller = sp.Controller(Pot, reconcile){owns}\n"


WRONG = {
    "blocking-call": [
        reconcile("time.sleep(1)"),
        "async def f():\n    requests.get('http://x')\n",
    ],
    "clock-or-random": [
        reconcile("pot.spec.x = datetime.datetime.now()"),
        reconcile("random.choice([1])"),
        reconcile("name()") + "def name():\n    return uuid.uuid4()\n",
    ],
    "module-state": [
        reconcile("seen[pot.name] = 1"),
        reconcile("seen.update(a=1)"),
        reconcile("global count", "count += 1"),
        reconcile("note(pot)") + "def note(pot):\n    seen.pop(pot.name)\n",
    ],
    "create-anonymous": [
        reconcile("await ctx.create(ConfigMap(metadata=Meta(generate_name='a-')))"),
        reconcile("await ctx.client.create(ConfigMap.named('a', 'default'))"),
    ],
    "status-time": [
        reconcile("pot.status.seen = ctx.now()"),
        reconcile("pot.status.seen = f'{ctx.now()}'"),
        reconcile("pot.status.next = ctx.now() + MINUTE"),
        reconcile("pot.status.seen = str(ctx.now().isoformat())"),
    ],
    "caught-conflict": [
        reconcile("try:", "    await ctx.client.update(pot)", "except Conflict:", "    pass"),
        reconcile("try:", "    await f()", "except (Conflict, ValueError):", "    ctx.log.info('never mind')"),
    ],
    "whole-list": [reconcile("pots = await ctx.client.list(Pot)")],
    "missing-owns": [
        controller("await ctx.apply(ConfigMap.named('a'))"),
        controller("await ctx.keep(Secret, [])", owns=".owns(ConfigMap)"),
        controller("await ctx.create(Secret(data={}))", owns=".owns(ConfigMap)"),
    ],
}
RIGHT = {
    "blocking-call": [
        reconcile("await asyncio.sleep(1)"),
        reconcile("await asyncio.to_thread(requests.get, 'http://x')"),
        reconcile("await asyncio.to_thread(lambda: requests.get('http://x'))"),
        "def f():\n    time.sleep(1)\n",
        "async def f(time):\n    def inner():\n        requests.get('http://x')\n",
    ],
    "clock-or-random": [
        reconcile("ctx.now()", "ctx.random.random()", "secrets.token_hex(8)", "time.monotonic()"),
        "def unrelated():\n    return datetime.datetime.now()\n",
    ],
    "module-state": [
        reconcile("mine = {}", "mine[pot.name] = seen.get(pot.name)"),
        reconcile("seen = {}", "seen[pot.name] = 1"),
        "def at_the_start():\n    seen['a'] = 1\n",
    ],
    "create-anonymous": [
        reconcile("await ctx.create(ConfigMap.named('a'))"),
        reconcile("await ctx.client.create(SubjectAccessReview(spec=spec))"),
        reconcile("await ctx.client.create(ConfigMap.named('a', owner_references=[ref]))"),
        reconcile("await ctx.client.create(wanted)"),
    ],
    "status-time": [
        reconcile("if pot.status.phase != 'Ready':", "    pot.status.since = ctx.now()"),
        reconcile("if done:", "    return", "pot.status.end = ctx.now()"),
        reconcile("pot.status.next = ctx.now() if wait else None"),
        reconcile("pot.status.available = available(pod, ctx.now())"),
        reconcile("pot.status.replicas = 1"),
    ],
    "caught-conflict": [
        reconcile("try:", "    await f()", "except Conflict:", "    raise"),
        reconcile("try:", "    await f()", "except Conflict:", "    return sp.retry('again')"),
        reconcile("try:", "    await f()", "except ValueError:", "    pass"),
    ],
    "whole-list": [
        reconcile("await ctx.list(Pot)"),
        reconcile("await ctx.client.list(Pot, namespace='a')"),
        reconcile("if rare:", "    await ctx.client.list(Pot)"),
        "async def main(client):\n    await client.list(Pot)\n",
    ],
    "missing-owns": [
        controller("await ctx.apply(ConfigMap.named('a'))", owns=".owns(ConfigMap)"),
        controller("await ctx.apply(Secret.named('a'))", owns=".needs(Secret, 'create', 'patch')"),
        controller("await ctx.apply(Secret.named('a'))") + "controller.watches(Pot, f).owns(Secret)\n",
        reconcile("await ctx.apply(ConfigMap.named('a'))"),
        controller("await ctx.apply(wanted)"),
    ],
}


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule, codes in WRONG.items() for code in codes])
def test_a_mistake_is_found_once(rule: str, code: str) -> None:
    assert found(code) == [rule]


@pytest.mark.parametrize(("rule", "code"), [(rule, code) for rule, codes in RIGHT.items() for code in codes])
def test_right_code_is_left_alone(rule: str, code: str) -> None:
    assert found(code) == []


def test_every_rule_is_tried_and_names_a_finding_of_the_simulation() -> None:
    assert WRONG.keys() == RIGHT.keys() == RULES.keys()
    assert {rule.prevents for rule in RULES.values()} <= ORACLES.keys()


def test_a_line_that_allows_a_rule_is_left_out() -> None:
    assert found(reconcile("time.sleep(0)  # setpoint: allow blocking-call: it only yields the GIL")) == []
    assert found(reconcile("time.sleep(0)  # setpoint: allow status-time")) == ["blocking-call"]


def test_a_mistake_has_its_line_and_column() -> None:
    ((_, mistake),) = lint(reconcile("", "pot.status.seen = ctx.now()").replace("sp.Context", "'Context'").replace(
        "async", "from setpoint import Context\nasync", 1), Path("app.py"))  # fmt: skip
    assert (mistake.line, mistake.column) == (4, 5)


def test_functions_whose_context_is_not_ours_are_left_alone() -> None:
    code = "from click import Context\nimport time\ndef f(a, ctx: Context):\n    return time.time()\n"
    assert lint(code, Path("app.py")) == []

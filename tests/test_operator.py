"""`sp.Operator`: a whole program as one value, for the command line, tests and the simulation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.program import program
from setpoint.models.core_v1 import ConfigMap


class Garden(sp.CustomResource, group="test.example.com", version="v1"):
    class Status(sp.ConditionedStatus):
        water: str = ""

    status: Status = Status()


@dataclass
class Options:
    """The program's own flags."""

    namespace_of_gardens: str = "default"
    source: str = "rain"


class Water(str): ...


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncIterator[Water]:
    yield Water(program.options.source)


@asynccontextmanager
async def stand_in(program: sp.Program[Options]) -> AsyncIterator[Water]:
    yield Water(f"no {program.options.source}")


async def reconcile(garden: Garden, ctx: sp.Context) -> None:
    garden.status.water = ctx.state(Water)


def refuse(garden: Garden, review: sp.Review[Garden]) -> None:
    if garden.name == "desert":
        review.deny("metadata.name: a desert is not a garden")


ADMISSION = sp.Admission(Garden).validates(refuse)


def controllers(options: Options) -> list[sp.Controller[Any]]:
    return [sp.Controller(Garden, reconcile, namespace=options.namespace_of_gardens)]


@pytest.mark.parametrize(("given", "water"), [(None, "rain"), (stand_in, "no rain")], ids=["lifespan", "stand-in"])
@sp.testing.virtual_time
async def test_a_test_runs_controllers_admissions_and_the_stand_in(given: Any, water: str) -> None:
    operator = sp.Operator([sp.Controller(Garden, reconcile)], [ADMISSION], lifespan, Options, stand_in=given)
    async with sp.testing.cluster(operator) as cluster:
        await cluster.create(Garden.named("a", "default"))
        await cluster.settle()
        assert (await cluster.get(Garden, "a")).status.water == water
        with pytest.raises(sp.ApiError, match="a desert is not a garden"):
            await cluster.create(Garden.named("desert", "default"))


@sp.testing.virtual_time
async def test_controllers_may_depend_on_options() -> None:
    operator = sp.Operator(controllers, lifespan=lifespan, options=Options)
    assert operator.controllers_for(Options("other"))[0].watched[0].namespace == "other"
    async with sp.testing.cluster(operator) as cluster:
        await cluster.create(Garden.named("a", "default"))
        await cluster.settle()
        assert (await cluster.get(Garden, "a")).status.water == "rain"


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.create(Garden.named("a", "default"))
    await cluster.settle()


def test_the_simulation_takes_it() -> None:
    operator = sp.Operator(controllers, [ADMISSION], lifespan, Options, stand_in=stand_in)
    report = sp.simulation.check(scenario, operator, budget=sp.simulation.Budget(runs=12), workers=0)
    assert report.singles


def test_the_command_line_takes_it_and_nothing_else_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    operator = sp.Operator(controllers, [ADMISSION], lifespan, Options, name="gardens")
    with pytest.raises(SystemExit) as ended:
        sp.main(operator, argv=["manifests"])
    assert ended.value.code in (0, None)
    assert "name: gardens" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        sp.main(operator, sp.Controller(Garden, reconcile), argv=["manifests"])  # type: ignore[call-overload]
    assert "sp.main() takes one Operator and nothing else" in capsys.readouterr().err


def test_a_file_with_an_operator_declares_its_parts() -> None:
    from setpoint.cli.program_declarations import declared_by

    declared = declared_by([sp.Operator(controllers, [ADMISSION], options=Options)])
    assert [controller.kind for controller in declared.controllers] == [Garden]
    assert list(declared.admissions) == [ADMISSION]


def test_a_wrong_list_and_an_option_without_default_are_told() -> None:
    with pytest.raises(TypeError, match="Operator\\(\\) takes a list of controllers"):
        sp.Operator([Garden]).controllers_for()  # type: ignore[list-item]
    with pytest.raises(TypeError, match="either one Operator or controllers"):
        sp.testing.cluster(sp.Operator(()), sp.Controller(ConfigMap, reconcile))

    @dataclass
    class Needed:
        key: str

    with pytest.raises(UsageError, match="key"):
        program("x.py", sp.Operator(lambda options: [], options=Needed))

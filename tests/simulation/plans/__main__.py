"""Draws plans for all examples and makes each twice: ``python -m tests.simulation.plans --count N [--seed S]``.

No plan may come to a finding, and none may be another one the second time: not where the run begins in a process that
has come to the step of the fault already, and, for one plan in twenty, not in an interpreter with another hash seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

import setpoint as sp
from setpoint.controller import watched_kinds
from setpoint.meta import resource_of
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import Budget, Fault, Plan, Search, Setup
from setpoint.simulation.explore import Explorer
from setpoint.simulation.pool import Pool
from setpoint.simulation.result import Options

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
sys.path[:0] = [str(_EXAMPLES), str(_EXAMPLES / "mykind")]

import databases  # noqa: E402
import mykind  # noqa: E402
import mykinds  # noqa: E402

EVERY = 20
"""One plan in so many is also made under another hash seed."""


async def scale_and_delete(cluster: sp.testing.Cluster) -> None:
    for number in (3, 1, 2):
        await cluster.apply(mykind.Mykind.named("sample", "default", spec=mykind.MykindSpec(numpods=number)))
        await cluster.settle()
    await cluster.delete(await cluster.get(mykind.Mykind, "sample"))
    await cluster.settle()


async def change_the_template(cluster: sp.testing.Cluster) -> None:
    for number in (2, 3):
        await cluster.apply(mykinds.Mykind.named("sample", "default", spec=mykinds.MykindSpec(replicas=number)))
        await cluster.settle()


async def share_a_password(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Secret.named("password", "default", string_data={"password": "1"}))
    for name in ("one", "two"):
        spec = databases.DatabaseSpec(password_secret="password")
        await cluster.apply(databases.Database.named(name, "default", spec=spec))
        await cluster.settle()
    await cluster.apply(Secret.named("password", "default", string_data={"password": "2"}))
    await cluster.settle()


async def let_go(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for each in await ctx.list(ConfigMap, selector={"claim": claim.uid}):
        await ctx.delete(each)


async def hold_on(claim: mykind.Mykind, ctx: sp.Context) -> None:
    for number in range(claim.spec.numpods):
        held = ConfigMap.named(f"{claim.name}-{claim.uid[:8]}-{number}", labels={"claim": claim.uid})
        await ctx.apply(held, controlled=False)
    claim.status.ready = claim.spec.numpods


SETUPS: dict[str, Setup] = {
    "mykind": Setup(scenario=scale_and_delete, factory=lambda: mykind.controller),
    "mykind, elected": Setup(scenario=scale_and_delete, factory=lambda: mykind.controller, leader_election=True),
    "mykinds": Setup(scenario=change_the_template, factory=lambda: mykinds.controller),
    "databases": Setup(scenario=share_a_password, factory=lambda: databases.controller),
    "a finalizer": Setup(
        scenario=scale_and_delete,
        factory=lambda: sp.Controller(mykind.Mykind, hold_on).reads(ConfigMap).finalize(let_go),
    ),
}


def drawn(setup: Setup, search: Search, seed: int) -> Iterator[Plan]:
    """Single faults and combinations in turns, without end."""
    controllers = setup.controllers()
    kinds = [str(resource_of(kind).group_resource) for kind in watched_kinds(controllers)]
    primaries = frozenset(str(each.resource.group_resource) for each in controllers)
    baseline = search._references[0].baseline
    explorer = Explorer(baseline, off=frozenset(), seed=seed, kinds=kinds, primaries=primaries)
    singles: list[Fault] = explorer.singles()
    alone = iter(singles)
    for plan in explorer.combinations(singles):
        if (one := next(alone, None)) is not None:
            yield Plan((one,), seed=seed)
        yield plan


def tried(name: str, setup: Setup, count: int, seed: int, workers: int | None) -> tuple[int, int]:
    """So many plans of one example; returns how many were accused, and how many were not the same twice."""
    search = Search(setup, budget=Budget(), seed=seed, workers=workers)
    accused = different = 0
    with Pool(setup, workers) as pool:
        search._pool = pool
        reference = search._references[0] = search._undisturbed()
        for found in reference.baseline.findings:
            print(f"{name}: without faults: {found}", flush=True)
            accused += 1
        source = drawn(setup, search, seed)
        plans = [next(source) for _ in range(count)]

        def jobs() -> Iterator[tuple[Plan, Options]]:
            for plan in plans:
                options = search._options(plan)
                yield plan, options
                yield plan, msgspec.structs.replace(options, since=0)

        results = pool.each(jobs())
        for number, plan in enumerate(plans):
            (_, _, one), (_, _, again) = next(results), next(results)
            told = ", ".join(map(str, plan.faults))
            same = one.digest == again.digest and one.end == again.end
            if number % EVERY == 0:
                other = pool._seeded(1)
                other.send((plan, msgspec.structs.replace(search._options(plan), since=0)))
                same = same and other.receive().digest == one.digest
            if not same:
                different += 1
                print(f"{name}: not the same twice: {told}", flush=True)
            if one.early:
                one = search._run(plan)
            for found in reference.judge(plan, one):
                accused += 1
                print(f"{name}: {found} under {told} ({plan.token()})", flush=True)
    return accused, different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="plans, for all examples together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int)
    parser.add_argument("names", nargs="*", help="examples; all by default")
    given = parser.parse_args()
    names = given.names or list(SETUPS)
    each = max(given.count // len(names), 1)
    wrong = 0
    for name in names:
        accused, different = tried(name, SETUPS[name], each, given.seed, given.workers)
        print(f"{name}: {each} plans, each twice: {accused} accused, {different} not the same", flush=True)
        wrong += accused + different
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The cost of a simulation: every single fault of three scenarios, on all cores.

    python benchmarks/simulation.py [--workers N] [--scenarios Mykind Five Database]

*Mykind* is the example of the documentation: three pods, then one. *Five* is a controller with five kinds of children
and about 60 writes. *Database* is that of `examples/database`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from report import output_options, write

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec, Secret, Service, ServiceAccount, ServicePort
from setpoint.models.core_v1 import ServiceSpec as PortsSpec
from setpoint.simulation import Budget, Report, Search, Setup

sys.path += [str(Path(__file__).parent.parent / "examples" / folder) for folder in ("", "database")]
import test_database
from database import admission, controller_of
from mykind import Mykind, MykindSpec, controller


async def mykind(cluster: sp.testing.Cluster) -> None:
    for number in (3, 1):
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=number)))
        await cluster.settle()


async def reconcile(owner: Mykind, ctx: sp.Context) -> None:
    number = owner.spec.numpods
    ports = PortsSpec(ports=[ServicePort(port=80)])
    pod = PodSpec(containers=[Container(name="main", image="busybox")])
    names = [f"{owner.name}-{place}" for place in range(number)]
    await ctx.keep(ServiceAccount, [ServiceAccount.named(owner.name)])
    await ctx.keep(ConfigMap, [ConfigMap.named(name, data={"number": str(number)}) for name in names])
    await ctx.keep(Secret, [Secret.named(name, string_data={"number": str(number)}) for name in names])
    await ctx.keep(Service, [Service.named(name, spec=ports) for name in names])
    pods = await ctx.keep(Pod, [Pod.named(name, spec=pod) for name in names])
    owner.status.ready = sum(pod.is_ready for pod in pods)


def five() -> list[sp.Controller[Mykind]]:
    controller = sp.Controller(Mykind, reconcile)
    return [controller.owns(ServiceAccount).owns(ConfigMap).owns(Secret).owns(Service).owns(Pod)]


async def life(cluster: sp.testing.Cluster) -> None:
    for number in (2, 4, 1):
        await cluster.apply(Mykind.named("sample", "default", spec=MykindSpec(numpods=number)))
        await cluster.settle()


SCENARIOS = {
    "Mykind": Setup(scenario=mykind, factory=lambda: [controller]),
    "Five": Setup(scenario=life, factory=five),
    "Database": Setup(
        scenario=test_database.scenario,
        factory=lambda: [controller_of(lambda: "a password")],
        control_plane=["statefulset", "job", "garbage-collector", "persistentvolumeclaim-protection"],
        webhooks=[admission],
    ),
}


class Done(Exception):
    """All single faults have been tried."""


def stop(report: Report, _what: str) -> None:
    if report.all_singles and report.complete:
        raise Done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=None, help="processes; default: one a core")
    parser.add_argument("--scenarios", nargs="+", choices=[*SCENARIOS], default=[*SCENARIOS])
    output_options(parser, "simulation")
    options = parser.parse_args()
    figures = {}
    for name in options.scenarios:
        search = Search(SCENARIOS[name], budget=Budget(), workers=options.workers, progress=stop)
        began = time.perf_counter()
        try:
            for problem in search.findings():
                print(problem.findings[0])
        except Done:
            pass
        report, seconds = search.report, time.perf_counter() - began
        count = 1000 * report.cpu / max(report.runs, 1)
        print(f"{name}: {report.points['writes']} writes, {report.singles} single faults in {seconds:.1f} s")
        print(f"  {count:.0f} ms of processor time a run")
        figures[name] = {
            "writes": report.points["writes"],
            "single_faults": report.singles,
            "runs": report.runs,
            "seconds": round(seconds, 2),
            "cpu_ms_per_run": round(count, 1),
        }
    write(options, "simulation", figures, set)


if __name__ == "__main__":
    main()

"""Warm-up: a run whose result is not used. It does the work in advance that a process otherwise does on its first
run.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from setpoint.client import dynamic
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.meta import DecodeError, decode, resource_of
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap, Container, Pod, PodSpec, Secret
from setpoint.regexp import compile_pattern
from setpoint.schema.builtin_patterns import OWN_PATTERNS
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.simulation.trace.result import Options
from setpoint.testing.clusters import Cluster


@cache
def warm_up() -> None:
    """Fills caches and imports modules that are imported on first use, so that forked processes need not do so. One
    call is enough for all processes that the calling process forks.

    It does not run the user's code, whose state has to start afresh in every run.
    """
    for pattern in OWN_PATTERNS:
        compile_pattern(pattern)
    run_in_process(
        Setup(scenario=_scenario, factory=_factory, is_rehearsal=True), Plan((fault("restart", "step 1"),)), Options()
    )


def prepare_decoders(setup: Setup) -> None:
    """Makes the decoders of the kinds that a setup's controllers watch, so that forked processes need not make them."""
    for controller in setup.controllers():
        for watch in controller.watched:
            for kind in (watch.kind, dynamic(resource_of(watch.kind))):  # statuses are written with the second
                with suppress(DecodeError):  # it is made even if there is nothing that it could read
                    decode(kind, b"{}")


async def _scenario(cluster: Cluster) -> None:
    await cluster.apply(ConfigMap.named("one", "default", data={"a": "b"}))
    await cluster.settle()
    await cluster.apply(ConfigMap.named("one", "default", data={"a": "c"}))
    await cluster.settle()
    await cluster.delete(await cluster.get(ConfigMap, "one"))
    await cluster.settle()


def _factory() -> list[Controller[ConfigMap]]:
    async def reconcile(config: ConfigMap, ctx: Context) -> Outcome:
        if config.name != "one":  # every namespace has one from the control plane, whose data are certificates
            return done()
        spec = PodSpec(containers=[Container(name="main", image="none")])
        pods = await ctx.keep(Pod, [Pod.named(f"{config.name}-{letter}", spec=spec) for letter in config.data.values()])
        for pod in pods:
            if "a" not in pod.annotations:
                await ctx.patch(pod, {"metadata": {"annotations": {"a": "b"}}})
        if await ctx.get(Secret, config.name) is None:
            await ctx.create(Secret.named(config.name))
        await ctx.apply(Secret.named(f"{config.name}-2", string_data=config.data))
        return done()

    async def finalize(config: ConfigMap, ctx: Context) -> None:
        await ctx.client.list(Pod, namespace=config.namespace)

    controller = Controller(ConfigMap, reconcile).owns(Pod).owns(Secret).reads(Deployment)
    return [controller.finalize(finalize, name="rehearsal.setpoint.io/configmap")]

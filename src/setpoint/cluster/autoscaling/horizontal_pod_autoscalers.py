"""HorizontalPodAutoscalers: a controller that sets the number of replicas that the metrics call for."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from setpoint.cache import Head
from setpoint.client import ApiError
from setpoint.cluster.autoscaling.metric_evaluation import REASONS, Measures, Proposal
from setpoint.cluster.autoscaling.replica_calculator import MetricsError, Tolerance
from setpoint.cluster.autoscaling.scaling_policies import Pace
from setpoint.cluster.conditions import set_condition
from setpoint.cluster.served_resources import ServedResources
from setpoint.controller import Context, Controller, Outcome, after
from setpoint.meta import ObjectKey, Quantity, Selector
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, MetricSpec
from setpoint.models.core_v1 import Pod

PERIOD: Final = 15.0
"""Seconds between two evaluations of the metrics."""


class Autoscalers:
    """Scales any object with a ``scale`` subresource according to metrics of resources, pods, objects or external
    systems.

    Metrics come from ``metrics.k8s.io`` and the other metrics APIs if the server has them, otherwise from annotations
    (`setpoint.cluster.nodes.resource_usage.ANNOTATION`). Tolerance, stabilization, the rules of ``behavior``,
    conditions and events are the same as upstream.

    *Caveats*: several autoscalers for the same pods are not detected.
    """

    def __init__(self, resources: ServedResources) -> None:
        self._resources = resources
        self._paces: dict[ObjectKey, Pace] = {}
        self.controller = Controller(
            HorizontalPodAutoscaler,
            self._reconcile,
            name="horizontal-pod-autoscaler",
            owns_status=False,
            leader_only=False,
            predicates=[self._forget_deleted],
        ).reads(Pod)

    def _forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        if new is None and old is not None:
            self._paces.pop(old.key, None)
        return True

    async def _reconcile(self, autoscaler: HorizontalPodAutoscaler, ctx: Context) -> Outcome:
        target = autoscaler.spec.scale_target_ref
        pace = self._paces.setdefault(autoscaler.key, Pace())  # before any request: the object may go meanwhile
        again = after(PERIOD, "the metrics are read at intervals")
        try:
            resource = await self._resources.find(ctx.client, target.api_version or "v1", target.kind)
            if resource is None:
                raise MetricsError(f'no matches for kind "{target.kind}" in group "{(target.api_version or "")}"')
            path = resource.path(namespace=autoscaler.namespace, name=target.name, subresource="scale")
            scale = msgspec.json.decode(await ctx.client.request("GET", path))
        except (ApiError, MetricsError) as problem:
            text = problem.message if isinstance(problem, ApiError) else str(problem)
            ctx.event("Warning", "FailedGetScale", text)
            why = f"the HPA controller was unable to get the target's current scale: {text}"
            _set(autoscaler, "AbleToScale", "False", "FailedGetScale", why)
            return again
        _set(
            autoscaler, "AbleToScale", "True", "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        )  # fmt: skip
        current = (scale.get("spec") or {}).get("replicas") or 0
        pace.begin(current, _clock())
        wanted, why = await self._desired(autoscaler, scale, current, pace, ctx)
        status = autoscaler.status
        # Servers forget a number that is 0; to say so would be another write each time.
        status.current_replicas = current or None
        if wanted is None:
            return again
        if wanted != current:
            try:
                await _rescale(ctx, path, scale, wanted)
            except ApiError as problem:
                ctx.event("Warning", "FailedRescale", f"New size: {wanted}; reason: {why}; error: {problem.message}")
                text = f"the HPA controller was unable to update the target scale: {problem.message}"
                _set(autoscaler, "AbleToScale", "False", "FailedUpdateScale", text)
                return again
            text = f"the HPA controller was able to update the target scale to {wanted}"
            _set(autoscaler, "AbleToScale", "True", "SucceededRescale", text)
            ctx.event("Normal", "SuccessfulRescale", f"New size: {wanted}; reason: {why}")
            pace.changed(wanted - current, _clock())
            status.last_scale_time = ctx.now().replace(microsecond=0)
        status.desired_replicas = wanted
        status.observed_generation = autoscaler.metadata.generation or status.observed_generation
        return again

    async def _desired(
        self, autoscaler: HorizontalPodAutoscaler, scale: dict[str, Any], current: int, pace: Pace, ctx: Context
    ) -> tuple[int | None, str]:
        """The number of replicas to scale to, and the reason. The number is None if it can't be computed."""
        spec = autoscaler.spec
        least = 1 if spec.min_replicas is None else spec.min_replicas
        if current == 0 and least != 0:
            why = "scaling is disabled since the replica count of the target is zero"
            _set(autoscaler, "ScalingActive", "False", "ScalingDisabled", why)
            return 0, ""
        if current > spec.max_replicas:
            return spec.max_replicas, "Current number of replicas above Spec.MaxReplicas"
        if current < least:
            return least, "Current number of replicas below Spec.MinReplicas"
        proposal = await self._proposal(autoscaler, scale, current, ctx)
        if proposal is None:
            return None, ""
        why = f"{proposal.metric} above target" if proposal.replicas > current else "All metrics below target"
        stable = pace.stabilized(proposal.replicas, current, spec.behavior, _clock())
        _set(autoscaler, "AbleToScale", "True", stable.reason, stable.message)
        verdict = pace.limited(stable.replicas, current, least, spec.max_replicas, spec.behavior, _clock())
        limited = "False" if verdict.replicas == stable.replicas else "True"
        _set(autoscaler, "ScalingLimited", limited, verdict.reason, verdict.message)
        return verdict.replicas, why

    async def _proposal(
        self, autoscaler: HorizontalPodAutoscaler, scale: dict[str, Any], current: int, ctx: Context
    ) -> Proposal | None:
        """The proposal of the metric that calls for the most replicas. None if the scale has no selector, if no metric
        has a value, or if a metric failed and the others call for fewer than ``current`` replicas.
        """
        text = (scale.get("status") or {}).get("selector") or ""
        if not text:
            ctx.event("Warning", "SelectorRequired", "selector is required")
            why = "the HPA target's scale is missing a selector"
            _set(autoscaler, "ScalingActive", "False", "InvalidSelector", why)
            return None
        selector = Selector.of(text)
        measures = Measures(
            ctx.client,
            self._resources,
            autoscaler,
            await ctx.list(Pod, selector=selector),
            selector,
            wanted=current,
            present=(scale.get("status") or {}).get("replicas") or 0,
            tolerance=_tolerance(autoscaler),
            now=ctx.now(),
        )
        best: Proposal | None = None
        failures: list[tuple[str, str, str]] = []
        statuses = []
        for spec in autoscaler.spec.metrics:
            try:
                proposal = await measures.of(spec)
            except (MetricsError, ApiError) as problem:
                problem_text = problem.message if isinstance(problem, ApiError) else str(problem)
                reason = REASONS.get(spec.type, "InvalidMetricSourceType")
                failures.append((reason, problem_text, _kind_of(spec)))
                ctx.event("Warning", reason, problem_text)
                continue
            statuses.append(proposal.status)
            if best is None or proposal.replicas > best.replicas:
                best = proposal
        autoscaler.status.current_metrics = statuses
        if failures and (best is None or best.replicas < current):
            reason, problem_text, kind = failures[0]
            why = f"the HPA was unable to compute the replica count: {problem_text}"
            _set(autoscaler, "ScalingActive", "False", reason, why)
            many = f"invalid metrics ({len(failures)} invalid out of {len(autoscaler.spec.metrics)})"
            ctx.event(
                "Warning",
                "FailedComputeMetricsReplicas",
                f"{many}, first error is: failed to get {kind} metric value: {problem_text}",
            )
            return None
        if best is not None:
            why = f"the HPA was able to successfully calculate a replica count from {best.metric}"
            _set(autoscaler, "ScalingActive", "True", "ValidMetricFound", why)
        return best


def _kind_of(spec: MetricSpec) -> str:
    """The metric's kind in upstream's events, such as ``cpu resource``."""
    if spec.resource is not None:
        return f"{spec.resource.name} resource"
    if spec.container_resource is not None:
        return f"{spec.container_resource.container} container"
    return f"{spec.external.metric.name} external" if spec.external is not None else spec.type.lower()


async def _rescale(ctx: Context, path: str, scale: dict[str, Any], replicas: int) -> None:
    """Sets the number of replicas, provided that ``scale`` has not changed on the server since it was read."""
    scale["spec"] = {**(scale.get("spec") or {}), "replicas": replicas}
    await ctx.client.request("PUT", path, body=msgspec.json.encode(scale))


def _tolerance(autoscaler: HorizontalPodAutoscaler) -> Tolerance:
    behavior, usual = autoscaler.spec.behavior, Tolerance()
    down = behavior.scale_down.tolerance if behavior is not None and behavior.scale_down is not None else None
    up = behavior.scale_up.tolerance if behavior is not None and behavior.scale_up is not None else None
    return Tolerance(
        usual.down if down is None else float(Quantity(down)), usual.up if up is None else float(Quantity(up))
    )


def _set(autoscaler: HorizontalPodAutoscaler, type: str, status: str, reason: str, message: str) -> None:
    """Sets a condition; its transition time is filled in when the status is written."""
    new = HorizontalPodAutoscalerCondition(type=type, status=status, reason=reason, message=message)
    set_condition(autoscaler.status.conditions, new)


def _clock() -> float:
    return asyncio.get_running_loop().time()

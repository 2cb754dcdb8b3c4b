"""autoscaler.py: as many replicas as the messages of a queue in another system need.

A QueueScaler names a target with a scale subresource, of whatever kind, and a queue. It scales by the rules of the
HorizontalPodAutoscaler, and leaves its target alone while a person, an HPA or another QueueScaler scales it.

python examples/autoscaler/autoscaler.py run --embedded --queues http://127.0.0.1:15672/queues
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from scalekinds import Change, Hold, QueueScaler
from scalewindows import proposal, stabilised

import setpoint as sp
from setpoint.client import dynamic
from setpoint.meta import GroupVersionKind
from setpoint.models.autoscaling_v1 import Scale
from setpoint.models.autoscaling_v2 import HorizontalPodAutoscaler
from setpoint.models.rbac_v1 import PolicyRule

OTHER = "OtherAutoscaler"


class Queues:
    """The client of the system that has the queues: ``GET URL/NAME`` answers ``{"messages": 12}``."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def length(self, name: str) -> int:
        """The number of messages that wait. Raises OSError or ValueError if it can't be learnt."""
        try:
            async with self._session.get(f"{self._url}/{name}", timeout=aiohttp.ClientTimeout(10)) as answer:
                answer.raise_for_status()
                count = (await answer.json()).get("messages")
        except aiohttp.ClientError as problem:
            raise ConnectionError(str(problem) or type(problem).__name__) from problem
        return count  # type: ignore[no-any-return]  # judged by `messages`


class Inactive(Exception):
    """The target is not scaled now."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def target_of(namespace: str, kind: str, api_version: str, name: str) -> str:
    """The value of the indexes: versions of one group are one target."""
    group, slash, _ = api_version.partition("/")
    return f"{namespace}/{kind}.{group if slash else ''}/{name}"


def target_of_scaler(scaler: QueueScaler) -> str:
    target = scaler.spec.scale_target_ref
    return target_of(scaler.namespace, target.kind, target.api_version, target.name)


def target_of_hpa(hpa: HorizontalPodAutoscaler) -> str:
    target = hpa.spec.scale_target_ref
    return target_of(hpa.namespace, target.kind, target.api_version or "", target.name)


def age(scaler: QueueScaler) -> tuple[str, str]:
    return str(scaler.metadata.creation_timestamp), scaler.key


async def alone(scaler: QueueScaler, ctx: sp.Context) -> None:
    """Raises `Inactive` if the target is another autoscaler's: an HPA's, or that of an older QueueScaler."""
    index = ("target", target_of_scaler(scaler))
    for hpa in await ctx.list(HorizontalPodAutoscaler, index=index):
        raise Inactive(OTHER, f"HorizontalPodAutoscaler {hpa.name} scales this target")
    older = [other for other in await ctx.list(QueueScaler, index=index) if age(other) < age(scaler)]
    if older and not scaler.is_deleting:
        raise Inactive(OTHER, f"QueueScaler {min(older, key=age).name}, which is older, scales this target")


async def scale_of(scaler: QueueScaler, ctx: sp.Context) -> tuple[type[sp.Object], Scale]:
    """The class of the target, and its scale. Raises `Inactive`."""
    target = scaler.spec.scale_target_ref
    group, _, version = target.api_version.rpartition("/")
    try:
        kind = dynamic(await ctx.client.rest_mapper.for_kind(GroupVersionKind(group, version, target.kind)))
        return kind, await ctx.client.get_scale(kind, target.name, namespace=scaler.namespace)
    except LookupError as problem:
        raise Inactive("UnknownKind", str(problem)) from None
    except sp.NotFound:
        raise Inactive("NoTarget", f"there is no {target.kind} {target.name} that can be scaled") from None


def judge(scaler: QueueScaler, scale: Scale, ctx: sp.Context) -> None:
    """Raises `Inactive` if the number of replicas is not that which this QueueScaler made it, until its spec changes.

    The first number that it finds is where it begins.
    """
    status, current, generation = scaler.status, scale.spec.replicas or 0, scaler.metadata.generation or 0
    if status.hold is not None and (status.hold.uid, status.hold.generation) != (scale.uid, generation):
        status.hold, status.change = None, None
    if status.change is not None and status.change.uid != scale.uid:
        status.change = None
    change = status.change
    if change is not None and current != change.after and (change.done or current != change.before):
        if status.hold is None:
            ctx.event("Normal", "ChangedByAnother", f"the target has {current} replicas, and they stay")
        status.hold = Hold(uid=scale.uid, replicas=current, generation=generation)
    if status.hold is not None:
        status.hold.replicas = current
        message = f"the {current} replicas are not this QueueScaler's; a change of its spec ends the hold"
        raise Inactive("ChangedByAnother", message)


async def messages(scaler: QueueScaler, ctx: sp.Context) -> int:
    """The length of the queue. Raises `Inactive`."""
    try:
        count = await ctx.state(Queues).length(scaler.spec.queue)
    except (OSError, ValueError) as problem:
        raise Inactive("NoMetric", f"the length of the queue is not known: {problem}") from None
    if type(count) is not int or count < 0:
        raise Inactive("NoMetric", f"the length of the queue is said to be {count!r}")
    return count


async def look(scaler: QueueScaler, ctx: sp.Context) -> bool:
    """Looks once, and makes one step; returns whether the next one is due. Raises `Inactive`, `Conflict`."""
    spec, status, now = scaler.spec, scaler.status, ctx.now().replace(microsecond=0)
    await alone(scaler, ctx)
    kind, scale = await scale_of(scaler, ctx)
    current = status.current_replicas = scale.spec.replicas or 0
    judge(scaler, scale, ctx)
    change = status.change
    if change is not None and not change.done:
        if current != change.after:
            version = scale.metadata.resource_version
            await ctx.client.patch_scale(
                kind, scale.name, change.after, namespace=scaler.namespace, resource_version=version
            )
            status.current_replicas, status.last_scale_time = change.after, now
            ctx.event("Normal", "Scaled", f"from {change.before} replicas to {change.after}")
        change.done = True
        return True
    status.messages = await messages(scaler, ctx)
    proposed = proposal(status.messages, spec.messages_per_replica, current)
    wanted = stabilised(status, spec, proposed, current, now)
    desired = status.desired_replicas = min(max(wanted, spec.min_replicas), spec.max_replicas)
    limited = "TooFewReplicas" if wanted < desired else "TooManyReplicas" if wanted > desired else "DesiredWithinRange"
    ctx.set_condition("ScalingLimited", wanted != desired, limited)
    if change is None or desired != current:
        status.change = Change(uid=scale.uid, before=current, after=desired, done=desired == current)
    ctx.set_condition("ScalingActive", True, "ValidMetricFound")
    return desired != current


async def reconcile(scaler: QueueScaler, ctx: sp.Context) -> sp.Outcome:
    await ctx.ensure_current()  # a status that the cache does not show yet says what was done last
    try:
        is_due = await look(scaler, ctx)
    except Inactive as problem:
        ctx.set_condition("ScalingActive", False, problem.reason, str(problem))
        if problem.reason == OTHER:
            scaler.status.change = None  # it begins anew when it is alone
        is_due = False
    except sp.Conflict:
        return sp.retry("the target has changed meanwhile")
    return sp.after(0 if is_due else scaler.spec.poll.total_seconds(), "to make the change" if is_due else "to poll")


def scalers_of_hpa(hpa: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """All QueueScalers of the namespace: a head does not say what its HPA scales."""
    return caches.lister(QueueScaler).keys(namespace=hpa.namespace)


controller = (
    sp.Controller(QueueScaler, reconcile)
    .index("target", target_of_scaler)
    .index("target", target_of_hpa, of=HorizontalPodAutoscaler)
    .watches(HorizontalPodAutoscaler, scalers_of_hpa)
    .needs(PolicyRule(api_groups=["*"], resources=["*/scale"], verbs=["get", "patch"]))
)


@dataclass
class Options:
    """The program's own flags of ``run``."""

    queues: str = "http://127.0.0.1:15672/queues"
    """The URL below which each queue says its length."""


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncGenerator[Queues]:
    async with aiohttp.ClientSession() as session:
        yield Queues(session, program.options.queues.rstrip("/"))


if __name__ == "__main__":
    sp.main(controller, name="scaling.example.com", options=Options, lifespan=lifespan)

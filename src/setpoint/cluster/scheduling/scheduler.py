"""The scheduler: binds pods without a node to nodes, in order of priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import count
from typing import Any, Final

from setpoint.cache import Head
from setpoint.client import Conflict, NotFound
from setpoint.cluster.conditions import set_pod_condition
from setpoint.cluster.scheduling.node_info import Occupancy, PlacedPod
from setpoint.cluster.scheduling.preemption import Candidate, preempt
from setpoint.cluster.scheduling.scheduling_cycle import Cycle
from setpoint.cluster.scheduling.unschedulable_reasons import failure_text
from setpoint.cluster.scheduling.volume_binding import Unusable, mounted, volumes_of
from setpoint.cluster.storage.claim_notifications import ClaimNotifications
from setpoint.controller import CacheReader, Context, Controller, Outcome, after, done
from setpoint.meta import ObjectKey
from setpoint.models.core_v1 import Namespace, Node, Pod, PodCondition
from setpoint.models.policy_v1 import PodDisruptionBudget

DEFAULT: Final = "default-scheduler"
NO_NODES: Final = "no nodes available to schedule pods"
_NO_CLAIMS: Final = "no new claims to deallocate"
"""The message of upstream's plugin for device claims about a pod that has no such claims and fits no node."""


class Scheduler:
    """Uses the ``binding`` subresource to bind each pod that names this scheduler and has neither a scheduling gate nor
    a node.

    It considers requests, taints, node selectors and affinities, affinities between pods, topology spread, host ports,
    and priorities: if a pod does not fit anywhere, less important pods are ended for it (preemption). If a pod can't be
    bound, its condition `PodScheduled` is set to False and an event gives the reason; the pod is tried again when a
    node or a pod changes in a way that may help. The same cluster always leads to the same decisions.

    With ``claims``, the news from a volume binder in the same control plane, volumes are considered: a pod waits until
    its claims are bound, and is put on a node where their volumes can be used. For claims that wait for their first
    consumer, volumes are chosen together with the node (the annotation ``volume.kubernetes.io/selected-node``, or the
    volume's ``claimRef``); the pod is bound once these claims are bound.

    *Caveats*: without ``claims``, volumes are not considered; devices and images never are.
    """

    def __init__(self, *, name: str = DEFAULT, claims: ClaimNotifications | None = None) -> None:
        self._name = name
        self._claims = claims
        self._mounting: dict[ObjectKey, frozenset[str]] = {}
        """The keys of the claims that each waiting pod mounts."""
        self._selected: dict[ObjectKey, str] = {}
        """Pods whose volumes were chosen, and the node for which they were chosen."""
        self._occupancy = Occupancy()
        self._orders: dict[ObjectKey, tuple[int, int]] = {}
        """Each pod without a place, with its negated priority and its number in the order of arrival."""
        self._arrivals = count()
        self._due: set[ObjectKey] = set()
        """Pods that have not been looked at since they, or the cluster, changed."""
        self._priorities: Counter[int] = Counter()
        """The number of pods that are due, by priority."""
        self._waiting: set[ObjectKey] = set()
        """Pods for which no node was found."""
        self._current: ObjectKey | None = None
        """The pod that is being scheduled."""
        self._begun = False
        self.controller = (
            Controller(
                Pod,
                self._reconcile,
                name=name,
                workers=1,
                owns_status=False,
                leader_only=False,
                predicates=[self._has_no_place],
            )
            .watches(Pod, self._pod_changed)
            .watches(Node, self._node_changed)
        )
        if claims is not None:
            self.controller.source(self._pods_of_claims)

    # -- predicates and mappings ---------------------------------------------------------------------------------------

    def _has_no_place(self, _old: Head | None, new: Head | None) -> bool:
        if new is None:
            return False
        placed = self._occupancy.pods.get(new.key)
        return placed is None or placed.uid != new.uid or not placed.node

    def _pod_changed(self, head: Head, caches: CacheReader) -> Iterable[ObjectKey]:
        pod = caches.lister(Pod).try_get(head.key)
        if pod is None:
            self._forget(head.key)
            return self._wake() if self._occupancy.remove(head.key) else ()
        return self._wake() if self._note(pod) else ()

    def _node_changed(self, head: Head, caches: CacheReader) -> Iterable[ObjectKey]:
        node = caches.lister(Node).try_get(head.name)
        changed = self._occupancy.put_node(node) if node is not None else self._occupancy.remove_node(head.name)
        return self._wake() if changed else ()

    async def _pods_of_claims(self) -> AsyncIterator[ObjectKey]:
        """The unscheduled pods that mount a claim that has changed, including the pod that is being scheduled."""
        assert self._claims is not None
        async for claim in self._claims.changed_claims():
            for key in [key for key, claims in self._mounting.items() if claim in claims]:
                self._expect(key)
                yield key

    def _note(self, pod: Pod) -> bool:
        """Updates the occupancy and the queue with a pod. Returns whether waiting pods should be tried again."""
        placed = self._occupancy.pods.get(pod.key)
        helps = self._occupancy.put(pod)
        if pod.spec.node_name or pod.is_deleting or pod.is_finished or not self._is_mine(pod):
            self._forget(pod.key)
        elif pod.key not in self._waiting or placed is None or not placed.wants_the_same(pod):
            self._orders.setdefault(pod.key, (-(pod.spec.priority or 0), next(self._arrivals)))
            self._expect(pod.key)
        return helps

    def _wake(self) -> Iterable[ObjectKey]:
        """The keys of all waiting pods, which are now due, ordered by descending priority and then by arrival. The pod
        that is being scheduled is one of them, since its node may be chosen without this change.
        """
        if self._current is not None and self._current in self._orders:
            self._waiting.add(self._current)
        keys = sorted(self._waiting, key=lambda key: self._orders[key])
        self._waiting.clear()
        for key in keys:
            self._expect(key)
        return keys

    def _expect(self, key: ObjectKey) -> None:
        if key not in self._due:
            self._due.add(key)
            self._waiting.discard(key)
            self._priorities[-self._orders[key][0]] += 1

    def _rest(self, key: ObjectKey) -> None:
        """Makes the pod wait for a change, unless something has changed, or the pod has gone, while it was being
        scheduled.
        """
        if key in self._orders and key not in self._due:
            self._waiting.add(key)

    def _look(self, key: ObjectKey) -> None:
        """Removes the pod from the pods that are due, because it is being scheduled now."""
        if key in self._due:
            self._due.remove(key)
            priority = -self._orders[key][0]
            self._priorities[priority] -= 1
            if not self._priorities[priority]:
                del self._priorities[priority]

    def _forget(self, key: ObjectKey) -> None:
        self._look(key)
        self._waiting.discard(key)
        self._orders.pop(key, None)
        self._mounting.pop(key, None)
        self._selected.pop(key, None)

    def _is_mine(self, pod: Pod) -> bool:
        return (pod.spec.scheduler_name or DEFAULT) == self._name and not pod.spec.scheduling_gates

    # -- one pod -------------------------------------------------------------------------------------------------------

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        if not self._begun:
            self._begun = True
            for node in await ctx.list(Node):
                self._occupancy.put_node(node)
            for other in await ctx.list(Pod, namespace="*"):
                self._note(other)
        if pod.spec.node_name or pod.is_finished or not self._is_mine(pod):
            return done()
        self._note(pod)
        mine = self._occupancy.pods.get(pod.key)
        if mine is None or mine.node:
            self._forget(pod.key)
            return done()
        if pod.key in self._waiting:
            if not ctx.failures:
                return done()
            self._expect(pod.key)  # the reason why the pod waits could not be written
        if max(self._priorities) > mine.priority:
            return after(0.0, "a pod of higher priority comes first")
        self._look(pod.key)
        self._current = pod.key
        try:
            return await self._schedule(pod, mine, ctx)
        finally:
            self._current = None

    async def _schedule(self, pod: Pod, mine: PlacedPod, ctx: Context) -> Outcome:
        if not self._occupancy.places:
            return self._wait(pod, mine, NO_NODES, ctx)
        volumes = None
        if self._claims is not None and pod.spec.volumes:
            self._mounting[pod.key] = frozenset(
                ObjectKey.of(pod.namespace, name) for name, _ in mounted(pod.name, pod.spec)
            )
            try:
                volumes = await volumes_of(pod, ctx)
            except Unusable as problem:
                number = len(self._occupancy.places)
                nodes = f"0/{number} nodes are available:"
                helpless = f"{_NO_CLAIMS}, preemption: {nodes} {number} Preemption is not helpful for scheduling."
                return self._wait(pod, mine, f"{nodes} {problem}. {helpless}", ctx)
        namespaces = await self._namespaces(mine, ctx)
        cycle = Cycle(mine, self._occupancy, namespaces, volumes, self._selected.get(pod.key))
        place = cycle.choose()
        budgets: list[PodDisruptionBudget] = []
        if place is None and self._occupancy.has_less_important(mine):
            budgets = await ctx.list(PodDisruptionBudget, namespace="*")
            # Nodes may have come and gone meanwhile, so the pod's node and its victims are chosen in one step.
            cycle = Cycle(mine, self._occupancy, namespaces, volumes, self._selected.get(pod.key))
            place = cycle.choose()
        if place is not None:
            if volumes is not None and not await volumes.choose(place.node, ctx):
                self._selected[pod.key] = place.name
                self._rest(pod.key)
                return done()
            return await self._bind(pod, mine, place.name, ctx)
        if not cycle.refusals:
            return self._wait(pod, mine, NO_NODES, ctx)  # they have gone meanwhile
        why = failure_text(cycle.refusals.values(), len(cycle.refusals))
        candidate = preempt(mine, cycle, self._occupancy, budgets)
        if isinstance(candidate, str):
            if pod.status.nominated_node_name and candidate.startswith("0/"):
                pod.status.nominated_node_name = None
                self._occupancy.nominated.pop(pod.key, None)
            return self._wait(pod, mine, f"{why} {_NO_CLAIMS}, preemption: {candidate}", ctx)
        await self._end(candidate, mine, ctx)
        if pod.key in self._orders:
            pod.status.nominated_node_name = candidate.place.name
            self._occupancy.nominate(pod.key, candidate.place.name)
        return self._wait(pod, mine, why, ctx)

    async def _namespaces(self, pod: PlacedPod, ctx: Context) -> Callable[[str], dict[str, str]]:
        """A function from a namespace's name to its labels; the labels are read only if an affinity may need them."""
        if not pod.has_terms and not self._occupancy.with_terms:
            return lambda _name: {}
        labels = {namespace.name: namespace.labels for namespace in await ctx.list(Namespace)}
        return lambda name: labels.get(name, {})

    async def _bind(self, pod: Pod, mine: PlacedPod, node: str, ctx: Context) -> Outcome:
        try:
            await ctx.client.bind(pod, node)
        except (Conflict, NotFound):
            return done()  # it is bound already, is being deleted, or is gone: its own event says which
        self._forget(mine.key)
        self._occupancy.assume(mine.key, node)
        ctx.event("Normal", "Scheduled", f"Successfully assigned {pod.key} to {node}", action="Binding")
        return done()

    def _wait(self, pod: Pod, mine: PlacedPod, why: str, ctx: Context) -> Outcome:
        self._rest(mine.key)
        condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message=why)
        if set_pod_condition(pod, condition, ctx.now()):
            ctx.event("Warning", "FailedScheduling", why, action="Scheduling")
        return done()

    async def _end(self, candidate: Candidate, mine: PlacedPod, ctx: Context) -> None:
        """Deletes the victims, and reports the reason for each in an event."""
        for victim in candidate.victims:
            if victim.is_deleting:
                continue
            pod: Any = await ctx.get(Pod, victim.key.name, namespace=victim.key.namespace)
            if pod is None or pod.uid != victim.uid:
                continue
            why = f"{self._name}: preempting to accommodate a higher priority pod"
            reason = "PreemptionByScheduler"
            condition = PodCondition(type="DisruptionTarget", status="True", reason=reason, message=why)
            if set_pod_condition(pod, condition, ctx.now()):
                await ctx.client.update(pod, subresource="status")
            note = f"Preempted by pod {mine.uid} on node {candidate.place.name}"
            ctx.event("Normal", "Preempted", note, action="Preempting", about=pod)
            await ctx.delete(pod)

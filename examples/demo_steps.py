"""The steps of the demo, and the state that each of them has to converge to."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence

import mykind as example
from demo_view import Row, View, view_for
from mykind import Mykind, MykindSpec
from rich.console import Console

import setpoint as sp
from setpoint.apps.chronos import Chronos, Entry
from setpoint.apps.error_reports import UsageError, reported
from setpoint.client import Client, PatchType
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.crd import crd_for
from setpoint.models.core_v1 import Pod

NAMESPACE = "default"
NAME = "sample"
PATIENCE = 8.0
"""Seconds that a step may take to converge."""


class NotConvergedError(Exception):
    """A step did not reach what it should; the message says what was expected and what was there."""


class Demo:
    """The steps, and what they need to know."""

    def __init__(self, view: View, client: Client, *, pages: bool = False, keep: bool = False) -> None:
        self.view = view
        self.keep = keep
        self.client = client
        self.writes = 0
        self.provoke_conflict = False
        controller = sp.Controller(Mykind, self.reconcile, name="mykind").owns(Pod)
        client.on_write(self._count)
        serving = sp.Serving(metrics_bind_address="127.0.0.1:0", ui=True) if pages else None
        self.manager = sp.Manager(client, controllers=[controller], serving=serving)
        self.mykinds = self.manager.factory.informer(Mykind)
        self.pods = self.manager.factory.informer(Pod)  # the controller's own: one watch for all
        self.chronos = Chronos(self.pods, self._note_change)

    async def reconcile(self, mykind: Mykind, ctx: sp.Context) -> None:
        """The example's, with another client that interferes once, when the demo asks for it."""
        if self.provoke_conflict:
            self.provoke_conflict = False
            await self._label("changed-by", "another-client")
            mykind.labels["changed-by"] = "the-controller"
            await ctx.client.update(mykind)  # computed on what was read before the other change: a conflict
        await example.reconcile(mykind, ctx)

    async def run(self, cluster_page: str = "") -> str:
        """All steps; returns what it took."""
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(self.manager.run(), name="manager"),
                group.create_task(self.chronos.run(), name="chronos"),
                group.create_task(self._show_objects(), name="view"),
            ]
            if self.manager.metrics_server is not None:
                await self.manager.started.wait()
                page = f"http://127.0.0.1:{self.manager.metrics_server.port}/ui/"
                self.view.offer([("the cluster's page", cluster_page), ("the controller's page", page)])
            await self._steps()
            self.view.objects(self._rows())
            reconciles = sum(self.manager.controllers["mykind"].metrics.results.values())
            for task in background:
                task.cancel()
        return f"{self.chronos.logged} events, {reconciles} reconciles, {self.writes} writes"

    async def _steps(self) -> None:
        await self._step("start the manager: one Pod informer for Mykind's controller and Chronos", self._synced)

        wanted = Mykind.named(NAME, NAMESPACE, spec=MykindSpec(numpods=3))
        await self.client.apply(wanted)
        await self._step("apply a Mykind with numpods: 3", lambda: self._running(3))

        victim = f"{NAME}-1"
        before = await self.client.get(Pod, victim, namespace=NAMESPACE)
        await self.client.delete(before)
        await self._step(f"delete pod {victim} by hand; it comes back", lambda: self._replaced(victim, before.uid))

        await self._scale(1)
        await self._step("scale to 1", lambda: self._running(1))

        conflicts = self.manager.controllers["mykind"].metrics.conflicts
        self.provoke_conflict = True
        await self._scale(2)
        await self._step(
            "let another client write in the middle of a reconcile; the conflict is retried quietly",
            lambda: self._running(2) or self._conflicted(conflicts),
        )

        await self.client.delete(Mykind, NAME, namespace=NAMESPACE)
        await self._step("delete the Mykind; the garbage collector takes its pods", self._nothing_left)

        if self.keep:
            await self.client.apply(Mykind.named(NAME, NAMESPACE, spec=MykindSpec(numpods=2)))
            await self._step("apply it again; the pages stay until Ctrl-C", lambda: self._running(2))
            await asyncio.Event().wait()

    async def _step(self, text: str, lacking: Callable[[], str]) -> None:
        """Waits until ``lacking()`` has nothing to say any more."""
        self.view.begin(text)
        loop = asyncio.get_running_loop()
        started = loop.time()
        while missing := lacking():
            if loop.time() - started > PATIENCE:
                raise NotConvergedError(f"step {text!r} did not converge in {PATIENCE:g} s: {missing}")
            await asyncio.sleep(0.01)
        self.view.end(f"converged in {(loop.time() - started) * 1000:.0f} ms")
        await asyncio.sleep(self.view.pause)

    # -- what the steps wait for: "" when it is there, else what was expected and what there is ------------------------

    def _synced(self) -> str:
        ready = self.mykinds.has_synced and self.pods.has_synced
        return "" if ready else "expected synced caches of Mykinds and Pods, they are not"

    def _running(self, count: int) -> str:
        pods = self.pods.lister.list(namespace=NAMESPACE)
        mykind = self.mykinds.lister.try_get(f"{NAMESPACE}/{NAME}")
        reported = mykind.status.ready if mykind else "no Mykind"
        if len(pods) == count and all(pod.is_ready for pod in pods) and reported == count:
            return ""
        actual = ", ".join(f"{pod.name} {pod.status.phase or 'Pending'}" for pod in pods) or "none"
        return f"expected {count} ready pods and status.ready {count}; there were {actual}; status.ready {reported}"

    def _replaced(self, name: str, old_uid: str) -> str:
        pod = self.pods.lister.try_get(f"{NAMESPACE}/{name}")
        if pod is not None and pod.uid != old_uid and pod.is_ready:
            return self._running(3)
        actual = "none" if pod is None else "the old one" if pod.uid == old_uid else "one that is not ready"
        return f"expected a new pod {name}, ready; there was {actual}"

    def _conflicted(self, before: int) -> str:
        conflicts = self.manager.controllers["mykind"].metrics.conflicts - before
        return "" if conflicts else "expected a conflict, there was none"

    def _nothing_left(self) -> str:
        names = [*self.mykinds.lister.keys(), *self.pods.lister.keys()]
        return f"expected no Mykind and no pod; there were {', '.join(names)}" if names else ""

    # -- what others do ------------------------------------------------------------------------------------------------

    async def _scale(self, count: int) -> None:
        await self.client.patch(Mykind, NAME, {"spec": {"numpods": count}}, type=PatchType.MERGE, namespace=NAMESPACE)

    async def _label(self, name: str, value: str) -> None:
        await self.client.patch(Mykind, NAME, {"metadata": {"labels": {name: value}}}, namespace=NAMESPACE)

    # -- what is shown -------------------------------------------------------------------------------------------------

    async def _note_change(self, entry: Entry) -> None:
        self.view.show_change(entry)

    async def _show_objects(self) -> None:
        while True:
            self.view.objects(self._rows())
            await asyncio.sleep(0.05)

    def _rows(self) -> list[Row]:
        rows: list[Row] = []
        for mykind in self.mykinds.lister.list():
            rows.append(
                (
                    "Mykind",
                    mykind.name,
                    f"{mykind.status.ready}/{mykind.spec.numpods} ready",
                    f"gen {mykind.metadata.generation}",
                )
            )
        for pod in sorted(self.pods.lister.list(), key=lambda pod: pod.name):
            state = "Terminating" if pod.is_deleting else pod.status.phase or "Pending"
            rows.append(("Pod", pod.name, state, pod.spec.node_name or ""))
        return rows

    def _count(self, *write: object) -> None:
        self.writes += 1


async def main(console: Console, *, keep: bool = False) -> int:
    """Runs the demo; returns the process's exit status. With ``keep`` it goes on until it is cancelled."""
    started = time.monotonic()
    took = problem = ""
    try:
        with view_for(console) as view:
            view.begin("start the embedded API server, install the definition of Mykind")
            pages = view.pages or keep
            async with EmbeddedCluster(ui="127.0.0.1:0" if pages else "0") as cluster:
                await cluster.install(crd_for(Mykind))
                async with Client.from_config(cluster.config()) as client:  # over HTTP, as any client
                    view.end(cluster.url)
                    took = await Demo(view, client, pages=pages, keep=keep).run(cluster.page_url)
    except* NotConvergedError as group:
        problem = str(group.exceptions[0])
    if problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 1
    print(f"demo: converged ({took}, {time.monotonic() - started:.1f} s)")
    return 0


def run(words: Sequence[str] = ()) -> int:
    """Runs the demo on this process's terminal; returns the process's exit status. Of the ``words`` of the command line
    it knows ``--ui``."""
    with reported("demo"):
        if unknown := [word for word in words if word != "--ui"]:
            raise UsageError(f"{unknown[0]}: the demo only knows --ui, which keeps it and its pages until Ctrl-C")
        return asyncio.run(main(Console(), keep="--ui" in words))

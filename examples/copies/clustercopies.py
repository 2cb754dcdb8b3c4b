"""clustercopies.py: copies of a Secret in other clusters too: one controller at home, and that of copies.py in each
cluster of a fleet.

A Secret at home asks for it with the annotation ``copies.example.com/clusters: east,west``; ``*`` stands for all
clusters of the fleet. Each of these gets one copy, in the namespace of the original, which asks for copies in that
cluster's namespaces as the original does. It goes before its original, or the original waits.

python examples/copies/clustercopies.py run --kubeconfig HOME --clusters FOLDER
"""

import argparse

import copies

import setpoint as sp
from setpoint.apps.program_runner import run
from setpoint.client import ApiError, NotFound, TransportError
from setpoint.controller.predicates import objects_where
from setpoint.manager import FleetCluster, KubeconfigFolder
from setpoint.manager.logging import configure
from setpoint.models.core_v1 import Secret
from setpoint.workqueue import ItemExponentialFailureRateLimiter

CLUSTERS = "copies.example.com/clusters"
PLACED = "copies.example.com/placed"
"""The clusters that may have a copy, written before the first request to them: none is forgotten."""
HOME = "copies.example.com/home-uid"
"""In another cluster: the uid of the original at home."""
FINALIZER = "copies.example.com/clusters"
LOOK = 60.0
"""Seconds after which an original for all clusters looks for new ones, and the longest wait for one that is away."""


class Refused(Exception):
    """Something in a cluster is in the way of a copy."""


def names(head: sp.Head | Secret, annotation: str) -> set[str]:
    return {name.strip() for name in head.annotations.get(annotation, "").split(",") if name.strip()}


def copy_of(original: Secret) -> Secret:
    annotations = {HOME: original.uid, copies.TO: original.annotations.get(copies.TO, "")}
    copy = Secret.named(original.name, original.namespace, annotations={k: v for k, v in annotations.items() if v})
    copy.type, copy.data = original.type, original.data
    return copy


async def place(original: Secret, cluster: FleetCluster, *, is_wanted: bool) -> None:
    """Makes the copy in one cluster as it is wanted. It reads from the server: the caches of other clusters may not
    show what was just written there. Raises `Refused`, and the errors of the client."""
    if reason := cluster.problem():
        raise Refused(reason)
    client, wanted = cluster.client, copy_of(original)
    try:
        existing = await client.get(Secret, original.name, namespace=original.namespace)
    except NotFound:
        if is_wanted:
            await client.create(wanted)
        return
    if existing.uid == original.uid:
        pass  # home is in its own fleet
    elif existing.annotations.get(HOME) != original.uid:
        if is_wanted:
            raise Refused(f"there is another Secret {original.key}")
    elif existing.metadata.deletion_timestamp is not None:
        raise Refused(f"Secret {original.key} is about to go")
    elif not is_wanted or existing.type != original.type:
        await client.delete(existing)
        raise Refused(f"Secret {original.key} is about to go")
    elif (existing.data, existing.annotations.get(copies.TO)) != (wanted.data, wanted.annotations.get(copies.TO)):
        existing.data = wanted.data
        existing.annotations.pop(copies.TO, None)
        existing.annotations.update(wanted.annotations)
        await client.update(existing)


def spreading(fleet: sp.Fleet) -> sp.Controller[Secret]:
    """The controller at home."""

    async def spread(original: Secret, ctx: sp.Context, wanted: set[str]) -> sp.Outcome:
        placed = names(original, PLACED)
        if placed or wanted:
            await ctx.ensure_current()  # copies of an original that is gone would stay
        if not wanted <= placed:
            await note(original, ctx, placed | wanted)
        problems: dict[str, str] = {}
        for name in sorted(placed | wanted):
            cluster = fleet.get(name)
            if cluster is None:
                problems[name] = "it is not in the fleet"
                ctx.event("Warning", "NotInFleet", f"cluster {name} of this Secret is not in the fleet")
                continue
            try:
                await place(original, cluster, is_wanted=name in wanted)
            except (Refused, ApiError, TransportError) as problem:
                problems[name] = str(problem)
        if (remaining := wanted | problems.keys()) != placed | wanted:
            await note(original, ctx, remaining)
        if problems:
            return sp.retry("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
        return sp.done()

    async def note(original: Secret, ctx: sp.Context, clusters: set[str]) -> None:
        await ctx.patch(original, {"metadata": {"annotations": {PLACED: ",".join(sorted(clusters)) or None}}})

    async def reconcile(original: Secret, ctx: sp.Context) -> sp.Outcome:
        wanted = names(original, CLUSTERS) if HOME not in original.annotations else set[str]()
        if "*" not in wanted:
            return await spread(original, ctx, wanted)
        outcome = await spread(original, ctx, {cluster.name for cluster in fleet} | names(original, PLACED))
        return sp.after(LOOK, "for new clusters") if outcome == sp.done() else outcome

    async def clean_up(original: Secret, ctx: sp.Context) -> sp.Outcome:
        return await spread(original, ctx, set())

    def is_concerned(head: sp.Head) -> bool:
        return CLUSTERS in head.annotations or FINALIZER in head.finalizers

    def original_of(cluster: str, head: sp.Head) -> list[str]:
        """A copy has the key of its original. A key that is none of an original's would get a finalizer at home."""
        return [head.key] if HOME in head.annotations else []

    return (
        sp.Controller(
            Secret,
            reconcile,
            name="cluster-copies",
            predicates=[objects_where(is_concerned)],
            rate_limiter=lambda: ItemExponentialFailureRateLimiter(0.005, LOOK),
        )
        .source(fleet.events(Secret, original_of))
        .finalize(clean_up, name=FINALIZER)
        .needs(Secret, "patch")
    )


def program(folder: str = "") -> tuple[sp.Fleet, sp.Controller[Secret]]:
    """The fleet, with the controller of each cluster, and the controller at home."""
    fleet = sp.Fleet(*copies.controllers, provider=KubeconfigFolder(folder) if folder else None)
    return fleet, spreading(fleet)


async def main(command: str, kubeconfig: str | None, clusters: str) -> None:
    async with sp.Client.from_environment(kubeconfig, field_manager="copies.example.com") as home:
        fleet, controller = program(clusters)
        await sp.Manager(home, controllers=[*copies.controllers, controller], fleet=fleet).run()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("command", choices=["run"])
    options.add_argument("--kubeconfig", help="of home; default: KUBECONFIG, ~/.kube/config, or the pod this runs in")
    options.add_argument("--clusters", required=True, help="a folder with a kubeconfig for each other cluster")
    configure("text", "INFO")
    run("clustercopies.py", main(**vars(options.parse_args())))

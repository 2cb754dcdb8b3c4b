"""reloader.py: restarts the pods of a workload when a ConfigMap or Secret that they use has changed.

A Deployment, StatefulSet or DaemonSet asks for it with the annotation ``reloader.example.com/auto: "true"``. The
operator has no kind of its own, and no memory: the hash of all that the pods use is an annotation of the pod template.
While it is the same, nothing is written; when it differs, the workload's own controller replaces the pods in its way.

python examples/reloader/reloader.py run --embedded
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import msgspec

import setpoint as sp
from setpoint.controller.predicates import objects_where
from setpoint.models.apps_v1 import DaemonSet, Deployment, StatefulSet
from setpoint.models.core_v1 import ConfigMap, PodSpec, Secret

AUTO = "reloader.example.com/auto"
DIGEST = "reloader.example.com/digest"

W = TypeVar("W", Deployment, StatefulSet, DaemonSet)


class Use(NamedTuple):
    """An object that pods use, in their own namespace."""

    kind: str
    name: str
    optional: bool


def uses(pod: PodSpec) -> Iterator[Use]:
    """The ConfigMaps and Secrets that the containers and volumes of a pod refer to."""
    for container in (*pod.init_containers, *pod.containers):
        for source in container.env_from:
            if (whole_map := source.config_map_ref) is not None:
                yield Use("ConfigMap", whole_map.name or "", bool(whole_map.optional))
            if (whole_secret := source.secret_ref) is not None:
                yield Use("Secret", whole_secret.name or "", bool(whole_secret.optional))
        for variable in container.env:
            if (value := variable.value_from) is not None and value.config_map_key_ref is not None:
                yield Use("ConfigMap", value.config_map_key_ref.name or "", bool(value.config_map_key_ref.optional))
            if value is not None and value.secret_key_ref is not None:
                yield Use("Secret", value.secret_key_ref.name or "", bool(value.secret_key_ref.optional))
    for volume in pod.volumes:
        if volume.config_map is not None:
            yield Use("ConfigMap", volume.config_map.name or "", bool(volume.config_map.optional))
        if volume.secret is not None:
            yield Use("Secret", volume.secret.secret_name or "", bool(volume.secret.optional))
        for part in volume.projected.sources if volume.projected is not None else ():
            if part.config_map is not None:
                yield Use("ConfigMap", part.config_map.name or "", bool(part.config_map.optional))
            if part.secret is not None:
                yield Use("Secret", part.secret.name or "", bool(part.secret.optional))


async def content(use: Use, ctx: sp.Context) -> dict[str, object] | None:
    """The data of an object that pods use, None if there is no such object."""
    if use.kind == "Secret":
        secret = await ctx.get(Secret, use.name)
        return None if secret is None else {**secret.data}
    config_map = await ctx.get(ConfigMap, use.name)
    return None if config_map is None else {**config_map.data, **config_map.binary_data}


async def reconcile(workload: W, ctx: sp.Context) -> None:
    """Notes a hash of what the pods use in their template."""
    wanted = sorted(set(uses(workload.spec.template.spec)))
    contents = [await content(use, ctx) for use in wanted]
    for use, data in zip(wanted, contents, strict=True):
        if data is None and not use.optional:
            ctx.log.info("the pods wait for an object, and so does their restart", missing=f"{use.kind} {use.name}")
            return
    digest = hashlib.sha256(msgspec.json.encode([wanted, contents], order="sorted")).hexdigest()[:16]
    if not wanted or workload.spec.template.metadata.annotations.get(DIGEST) == digest:
        return
    await ctx.patch(workload, {"spec": {"template": {"metadata": {"annotations": {DIGEST: digest}}}}})
    ctx.event("Normal", "Reloading", "what the pods use has changed: they are replaced")


def asks_for_it(head: sp.Head) -> bool:
    return head.annotations.get(AUTO) == "true"


def reloading(kind: type[W]) -> sp.Controller[W]:
    """The controller for one kind of workloads."""

    def index(workload: W) -> list[str]:
        return [f"{use.kind} {workload.namespace}/{use.name}" for use in uses(workload.spec.template.spec)]

    def users_of(used: str) -> Callable[[sp.Head, sp.CacheReader], list[sp.ObjectKey]]:
        def users(changed: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
            users = caches.lister(kind).heads(index=("uses", f"{used} {changed.key}"))
            return [head.key for head in users if asks_for_it(head)]

        return users

    return (
        sp.Controller(
            kind, reconcile, name=f"reloader-{kind.__name__.lower()}", predicates=[objects_where(asks_for_it)]
        )
        .index("uses", index)
        .watches(ConfigMap, users_of("ConfigMap"))
        .watches(Secret, users_of("Secret"))
    )


controllers = (reloading(Deployment), reloading(StatefulSet), reloading(DaemonSet))

if __name__ == "__main__":
    sp.main(*controllers, name="reloader.example.com")

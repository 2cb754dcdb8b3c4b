"""Revisions: the templates of a workload, each in a ControllerRevision, as ``kubectl rollout`` reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from setpoint.cache import Head
from setpoint.client import AlreadyExists, NotFound
from setpoint.cluster.workloads.controller_refs import Claims
from setpoint.cluster.workloads.pod_templates import plain, template_hash
from setpoint.controller import Context, Controller
from setpoint.meta import LabelSelector, Object, ObjectKey, ObjectMeta
from setpoint.models.apps_v1 import ControllerRevision
from setpoint.models.core_v1 import PodTemplateSpec

P = TypeVar("P", bound=Object)
LIMIT: Final = 10


class Revisions(Generic[P]):
    """The ControllerRevisions of StatefulSets or DaemonSets: the newest has the template of the spec, and the older
    ones are its history.

    A template that is used again (a rollback) keeps its old revision, which gets the highest number. A revision has the
    annotations that its owner had at its creation.

    ``label`` is the name of the label in which a revision has the hash of its template.
    """

    def __init__(self, parent: type[P], selector_of: Callable[[P], LabelSelector | None], label: str) -> None:
        self._label = label
        self._claims: Claims[P, ControllerRevision] = Claims(parent, ControllerRevision, selector_of)

    def declare(self, controller: Controller[P]) -> Controller[P]:
        return controller.owns(ControllerRevision).watches(ControllerRevision, self.of_orphan)

    def of_orphan(self, head: Head) -> Iterable[ObjectKey]:
        return self._claims.of_orphan(head)

    def forget_deleted(self, old: Head | None, new: Head | None) -> bool:
        """A predicate that accepts every event, and forgets the selector of an owner that is gone; see
        `Claims.forget_deleted`.
        """
        return self._claims.forget_deleted(old, new)

    async def of(self, owner: P, template: PodTemplateSpec, ctx: Context) -> list[ControllerRevision]:
        """The owner's revisions, the oldest first. The last one is the revision of ``template``; it is created if it
        does not exist.

        ``status.collisionCount`` of the owner counts the names that were already taken by other templates.
        """
        claimed = await self._claims.claim(owner, ctx)
        revisions = sorted((revision for revision in claimed if not revision.is_deleting), key=_age)
        data = data_of(template)
        same = [revision for revision in revisions if revision.data == data]
        if not same:
            return [*revisions, await self._create(owner, template, number_after(revisions), ctx)]
        newest = same[-1]
        if newest is not revisions[-1]:
            number = number_after(revisions)
            newest = await ctx.patch(newest, {"revision": number})
        return [*(revision for revision in revisions if revision.uid != newest.uid), newest]

    async def forget(
        self, revisions: Sequence[ControllerRevision], used: Collection[str], limit: int | None, ctx: Context
    ) -> None:
        """Deletes the oldest of the revisions whose names are not in ``used``, until ``limit`` of these are left. A
        ``limit`` of None means `LIMIT`.
        """
        idle = [revision for revision in revisions if revision.name not in used]
        for revision in idle[: max(len(idle) - (LIMIT if limit is None else limit), 0)]:
            await ctx.delete(revision)

    async def _create(self, owner: Any, template: PodTemplateSpec, number: int, ctx: Context) -> ControllerRevision:
        while True:
            digest = template_hash(template, owner.status.collision_count or 0)
            fresh = ControllerRevision(
                metadata=ObjectMeta(
                    name=f"{owner.name}-{digest}",
                    labels={**template.metadata.labels, self._label: digest},
                    annotations=dict(owner.annotations),  # kubernetes.io/change-cause among them
                ),
                data=data_of(template),
                revision=number,
            )
            try:
                return await ctx.create(fresh)
            except AlreadyExists:
                try:
                    existing = await ctx.client.get(ControllerRevision, fresh.name, namespace=owner.namespace)
                except NotFound:
                    continue
                if existing.data == fresh.data:
                    # It may be left over from an earlier owner of the same name. The garbage collector will delete it
                    # then, and its deletion leads to the next reconcile of this owner, which creates its own.
                    return existing
                owner.status.collision_count = (owner.status.collision_count or 0) + 1


def data_of(template: PodTemplateSpec) -> dict[str, Any]:
    """The data of a revision: a strategic merge patch that restores the template.

    All keys are sorted, because Go clients (``kubectl rollout undo`` of a DaemonSet) compare the bytes of these data
    with the bytes that they generate from the template.
    """
    patch = {"spec": {"template": {**msgspec.to_builtins(plain(template)), "$patch": "replace"}}}
    data: dict[str, Any] = msgspec.to_builtins(patch, order="deterministic")
    return data


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """The template in a revision.

    Raises:
        msgspec.ValidationError, KeyError: the revision's data are not those of a template.
    """
    document = msgspec.convert(revision.data, dict[str, dict[str, Any]])["spec"]["template"]
    return msgspec.convert({key: value for key, value in document.items() if key != "$patch"}, PodTemplateSpec)


def number_after(revisions: Sequence[ControllerRevision]) -> int:
    return max((revision.revision or 0 for revision in revisions), default=0) + 1


def _age(revision: ControllerRevision) -> tuple[int, float, str]:
    created = revision.metadata.creation_timestamp
    return revision.revision or 0, created.timestamp() if created else 0.0, revision.name

"""Pods from a template: how workload controllers name, create, count and end them."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

import msgspec

from setpoint.client import AlreadyExists, ApiError
from setpoint.controller import Context
from setpoint.controller.outcome import is_terminating
from setpoint.meta import ObjectMeta, decode, encode, to_wire
from setpoint.models.core_v1 import Pod, PodSpec, PodTemplateSpec

HASH_LABEL: Final = "pod-template-hash"
REVISION_LABEL: Final = "controller-revision-hash"
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def pod_of(template: PodTemplateSpec, *, name: str = "", prefix: str = "") -> Pod:
    """A new pod from a template, with the name ``name`` or one that the server generates from ``prefix``."""
    metadata = ObjectMeta(
        name=name,
        generate_name=prefix,
        labels=dict(template.metadata.labels),
        annotations=dict(template.metadata.annotations),
        finalizers=list(template.metadata.finalizers),
    )
    return Pod(metadata=metadata, spec=decode(PodSpec, encode(template.spec)))  # a copy, made faster than by `copy`


async def create_pod(pod: Pod, ctx: Context) -> Pod | None:
    """Creates a pod and reports that in an event. Returns None if its name is taken, in which case the next reconcile
    tries again.

    Raises:
        ApiError: the server refused; an event gives the reason, unless the namespace is being deleted and therefore
            accepts no new pods.
    """
    try:
        created = await ctx.create(pod)
    except AlreadyExists:
        return None
    except ApiError as problem:
        if not is_terminating(problem):
            ctx.event("Warning", "FailedCreate", f"Error creating: {problem.message}")
        raise
    ctx.event("Normal", "SuccessfulCreate", f"Created pod: {created.name}")
    return created


async def delete_pod(pod: Pod, ctx: Context) -> None:
    """Requests the deletion of a pod and reports that in an event.

    Raises:
        ApiError: the server refused; an event gives the reason.
    """
    try:
        await ctx.delete(pod)
    except ApiError as problem:
        ctx.event("Warning", "FailedDelete", f"Error deleting: {problem.message}")
        raise
    ctx.event("Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")


def until_available(pod: Pod, min_ready: int | None, now: datetime) -> float | None:
    """The seconds until a pod has been ready for ``min_ready`` seconds; 0.0 or less if it already has, None if it is
    not ready.
    """
    if not pod.is_ready:
        return None
    since = next(
        (condition.last_transition_time for condition in pod.status.conditions if condition.type == "Ready"), None
    )
    return 0.0 if not min_ready or since is None else min_ready - (now - since).total_seconds()


def is_available(pod: Pod, min_ready: int | None, now: datetime) -> bool:
    remaining = until_available(pod, min_ready, now)
    return remaining is not None and remaining <= 0


def template_hash(template: PodTemplateSpec, collisions: int = 0) -> str:
    """A short hash of a template; equal templates have equal hashes. A different number of ``collisions`` gives a
    different hash.
    """
    content = msgspec.json.encode(plain(template), order="deterministic") + str(collisions).encode()
    number = int.from_bytes(blake2b(content, digest_size=8).digest(), "big")
    word = ""
    for _ in range(10):
        number, place = divmod(number, len(_ALPHABET))
        word += _ALPHABET[place]
    return word


def plain(template: PodTemplateSpec) -> Any:
    """A template as JSON values, without the label that Deployments add."""
    document = to_wire(template)
    metadata = dict(document.get("metadata") or {})
    labels = {name: value for name, value in metadata.get("labels", {}).items() if name != HASH_LABEL}
    metadata["labels"] = labels
    metadata.pop("creationTimestamp", None)
    return {**document, "metadata": metadata}


def share(value: int | str | None, whole: int, *, up: bool, default: int | str) -> int:
    """A number of pods that is given as an integer or as a percentage of ``whole``; at least 0. Invalid text counts as
    0.
    """
    text = default if value is None else value
    if isinstance(text, str):
        try:
            percent = int(text.removesuffix("%"))
        except ValueError:
            return 0
        return max(-(-whole * percent // 100) if up else whole * percent // 100, 0)
    return max(text, 0)

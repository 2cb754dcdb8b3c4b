"""``setpoint pause`` and ``setpoint resume``: stop the reconciles of one object or of a controller, and go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from setpoint.apps.error_reports import UsageError
from setpoint.apps.program_runner import run
from setpoint.cli.pause_flags import PauseFlags
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.client import AlreadyExists, Client, NoMatchError, NotFound
from setpoint.controller.controls import control_annotation
from setpoint.manager.pause_switch import PAUSE_SWITCH
from setpoint.meta import Object, resource_of
from setpoint.meta.text_escaping import visible
from setpoint.models.core_v1 import ConfigMap

MANAGER: Final = "setpoint-pause"
"""The field manager of what the commands write."""
CONTROLLER: Final = "controller"
"""The word that stands for a kind when a whole controller is meant."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The subject of a command: an object or, if ``kind`` is `CONTROLLER`, a whole controller; the names of the
    annotation and of the ConfigMap are empty for the usual ones.
    """

    kind: str
    name: str
    namespace: str | None = None
    annotation: str = ""
    switch: str = ""

    @classmethod
    def of(cls, kind: str, name: str, place: PauseFlags) -> Target:
        return cls(
            kind=kind, name=name, namespace=place.namespace, annotation=place.annotation, switch=place.config_map
        )


def pause(target: Target, reason: str, cluster: KubeconfigFlags) -> None:
    """Pauses an object or a controller.

    Raises:
        UsageError: the kind or the object does not exist, or the kind has no annotation of its own.
    """

    async def work(client: Client) -> None:
        if target.kind == CONTROLLER:
            place = await _switch(client, target, reason or "paused by setpoint pause")
            say(f"controller {target.name} is paused in every program that follows the ConfigMap {place}")
            return
        obj, annotation = await found_object(client, target, "paused")
        await annotate(client, obj, {annotation: reason or "true"})
        waits = "; its deletion waits until it is resumed" if obj.is_deleting else ""
        say(f"{obj.kind} {obj.key} is paused by its annotation {annotation}{waits}")

    with_client(cluster, work)


def resume(target: Target, cluster: KubeconfigFlags) -> None:
    """Undoes `pause`. An object or a controller that is not paused is not an error.

    Raises:
        UsageError: as for `pause`.
    """

    async def work(client: Client) -> None:
        if target.kind == CONTROLLER:
            place = await _switch(client, target, None)
            say(f"controller {target.name} is not paused any more in the ConfigMap {place}")
            return
        obj, annotation = await found_object(client, target, "paused")
        if annotation not in obj.metadata.annotations:
            say(f"{obj.kind} {obj.key} was not paused: it has no annotation {annotation}")
            return
        await annotate(client, obj, {annotation: None})
        say(f"{obj.kind} {obj.key} is resumed")

    with_client(cluster, work)


async def _switch(client: Client, target: Target, reason: str | None) -> str:
    """Sets the reason of a controller's pause in the ConfigMap, or removes it; returns the ConfigMap's key."""
    name, space = target.switch or PAUSE_SWITCH, target.namespace or client.namespace
    patch = {"data": {target.name: reason}}
    try:
        await client.patch(ConfigMap, name, patch, namespace=space)
    except NotFound:
        if reason is not None:
            try:
                await client.create(ConfigMap.named(name, space, data={target.name: reason}))
            except AlreadyExists:
                await client.patch(ConfigMap, name, patch, namespace=space)
    return f"{space}/{name}"


async def found_object(client: Client, target: Target, word: str) -> tuple[Object, str]:
    """The object that a command names, and the name of its annotation ``word``.

    Raises:
        UsageError: the kind or the object does not exist, or the kind has no annotation of its own.
    """
    try:
        cls = await client.kind(target.kind)
    except NoMatchError as problem:
        raise UsageError(str(problem)) from None
    resource = resource_of(cls)
    try:
        chosen = control_annotation(word, target.annotation or None, resource)
    except ValueError as problem:
        raise UsageError(f"--annotation: {problem}") from None
    if not chosen:
        raise UsageError(
            f"{resource.kind} is a built-in kind, so its controllers have no annotation by default: name the one that "
            f"your controller declares, as --annotation example.com/{word}"
        )
    space, _, short = target.name.rpartition("/")
    space = (space or target.namespace or client.namespace) if resource.namespaced else ""
    try:
        return await client.get(cls, short, namespace=space or None), chosen
    except NotFound:
        scope = f" in namespace {space}" if space else ""
        raise UsageError(f"there is no {resource.kind} {short}{scope}") from None
    except ValueError as problem:
        raise UsageError(str(problem)) from None


async def annotate(client: Client, obj: Object, annotations: dict[str, str | None]) -> None:
    """Sets annotations of exactly this object; None removes one."""
    patch = {"metadata": {"uid": obj.uid, "annotations": annotations}}
    await client.patch(type(obj), obj.name, patch, namespace=obj.namespace or None, field_manager=MANAGER)


def with_client(cluster: KubeconfigFlags, work: Callable[[Client], Awaitable[None]]) -> None:
    """Runs ``work(client)`` until it ends or a signal comes."""

    async def connected() -> None:
        async with cluster.client(MANAGER) as client:
            await work(client)

    run("setpoint", connected())


def say(text: str) -> None:
    print(visible(text))  # noqa: T201 - this is the user's terminal

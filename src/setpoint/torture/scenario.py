"""Scenarios in the plain form: the actions of users, written in YAML for developers who do not use Python."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from setpoint.client import NotFound
from setpoint.meta.yaml_files import read_first
from setpoint.testing.clusters import Cluster
from setpoint.torture.documents import ScenarioError, as_object, check_object, read_documents

_VERBS: Final = ("apply", "delete", "settle", "wait")


class Wait(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A ``wait:`` in the plain form. ``until`` is ``present``, ``gone``, or the fields that the object must have;
    ``within`` is the limit in seconds.
    """

    object: dict[str, Any]
    until: str | dict[str, Any] = "present"
    within: float = 60.0


class _File(msgspec.Struct, forbid_unknown_fields=True):
    steps: list[Any]
    before: list[str] = []


class Plain:
    """A scenario in the plain form. ``before`` has the objects from the files that the scenario lists under
    ``before:``.
    """

    def __init__(
        self, path: Path, before: list[dict[str, Any]], steps: list[Callable[[Cluster], Awaitable[None]]]
    ) -> None:
        self.path = path
        self.before = before
        self._steps = steps

    async def __call__(self, cluster: Cluster) -> None:
        for step in self._steps:
            await step(cluster)


def read_plain(path: Path) -> Plain:
    """The scenario in a YAML file.

    Raises:
        YamlFileError: the file, or one that it names, can't be read or is not YAML.
        ScenarioError: its content is not a scenario in the plain form.
    """
    try:
        file = msgspec.convert(read_first(path), _File)
    except msgspec.ValidationError as problem:
        raise ScenarioError(f"{path}: {problem}; a scenario needs `steps:`, and may have `before:`") from None
    if not file.steps:
        raise ScenarioError(f"{path}: there are no steps")
    before = [document for name in file.before for document in read_documents(path.parent / name)]
    steps = [_step(entry, f"{path}: step {number}", path.parent) for number, entry in enumerate(file.steps, 1)]
    return Plain(path, before, steps)


def _step(entry: Any, location: str, folder: Path) -> Callable[[Cluster], Awaitable[None]]:
    if entry == "settle":
        entry = {"settle": None}
    if not isinstance(entry, dict) or len(entry) != 1 or next(iter(entry)) not in _VERBS:
        raise ScenarioError(f"{location}: a step is one of {', '.join(_VERBS)}, such as `- apply: sample.yaml`")
    ((verb, argument),) = entry.items()
    if verb == "settle":
        if argument is not None:
            raise ScenarioError(f"{location}: settle takes nothing; write `- settle`")
        return _settle
    if verb == "wait":
        return _wait(argument, location)
    documents = [
        document
        for item in (argument if isinstance(argument, list) else [argument])
        for document in _objects(item, location, folder)
    ]
    return _apply(documents) if verb == "apply" else _delete(documents)


def _objects(argument: Any, location: str, folder: Path) -> list[dict[str, Any]]:
    if isinstance(argument, str):
        return read_documents(folder / argument)
    check_object(argument, location)
    return [argument]


async def _settle(cluster: Cluster) -> None:
    await cluster.settle()


def _apply(documents: list[dict[str, Any]]) -> Callable[[Cluster], Awaitable[None]]:
    async def apply(cluster: Cluster) -> None:
        for document in documents:
            await cluster.apply(await as_object(cluster.client, document))

    return apply


def _delete(documents: list[dict[str, Any]]) -> Callable[[Cluster], Awaitable[None]]:
    async def delete(cluster: Cluster) -> None:
        for obj in documents:
            target = await as_object(cluster.client, obj)
            await cluster.client.delete(type(target), target.name, namespace=target.namespace or None)

    return delete


def _wait(argument: Any, location: str) -> Callable[[Cluster], Awaitable[None]]:
    try:
        wanted = msgspec.convert(argument, Wait)
    except msgspec.ValidationError as problem:
        raise ScenarioError(
            f"{location}: wait: {problem}; it needs `object:`, and may have `until:` and `within:`"
        ) from None
    check_object(wanted.object, location)
    if isinstance(wanted.until, str) and wanted.until not in ("present", "gone"):
        raise ScenarioError(f"{location}: wait: until is present, gone, or a mapping of fields, not {wanted.until!r}")

    async def wait(cluster: Cluster) -> None:
        obj = await as_object(cluster.client, wanted.object)

        async def holds() -> bool:
            try:
                live = await cluster.client.get(type(obj), obj.name, namespace=obj.namespace or None)
            except NotFound:
                return wanted.until == "gone"
            return wanted.until == "present" or (isinstance(wanted.until, dict) and has(live.raw, wanted.until))

        text = f"{wanted.object['kind']} {obj.name} is not {wanted.until!r} within {wanted.within:g} s"
        await cluster.eventually(holds, within=wanted.within, why=text)

    return wait


def has(actual: Any, wanted: Any) -> bool:
    """Whether ``actual`` contains everything in ``wanted``. The items of a wanted list may be anywhere in the list in
    ``actual``.
    """
    if isinstance(wanted, Mapping):
        return isinstance(actual, Mapping) and all(
            name in actual and has(actual[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(actual, list) and all(any(has(item, part) for item in actual) for part in wanted)
    return bool(actual == wanted)

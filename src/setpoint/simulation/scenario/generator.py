"""Generator: derives a scenario from a kind's schema, with the changes that a user may make to an object of the kind
(an idea from Acto, SOSP'23).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from setpoint.client import ApiError, DynamicObject, Forbidden, Invalid, PatchType, dynamic
from setpoint.controller import Controller
from setpoint.crd import CustomResource, Versions
from setpoint.crd.schema_samples import samples_of
from setpoint.meta import resource_of
from setpoint.schema import Schema, validate
from setpoint.simulation.scenario.simulation_options import Scenario
from setpoint.testing.clusters import Cluster

JSON = Any
Path = tuple[str, ...]
MOST: Final = 8
"""The default maximum number of changes in a scenario. Each change adds two steps, and each step adds a run for every
fault that can strike in it.
"""
_DEEP: Final = 3
_SMALL: Final = 5
"""Generated integers above this limit are replaced by smaller ones where the schema permits, since most of them say how
many objects a controller makes.
"""


class NoScenario(Exception):
    """No scenario can be generated: none of the controllers is for a custom resource, or no object that fits the schema
    could be generated.
    """


def generate_scenario(controllers: list[Controller[Any]], *, most: int = MOST) -> Scenario:
    """A scenario that creates an object with the smallest spec, gives it a full spec, and makes at most ``most``
    changes, each followed by a return to the full spec: properties are changed to different valid values, then optional
    parts are removed (at least a quarter of the changes, if there are enough optional parts). It then tries an invalid
    change, returns to the smallest spec, deletes the object, and creates it again under the same name. It ends with the
    full spec, because the end states of runs are compared. Changes that a webhook or a rule of the kind refuses, such
    as changes to immutable fields, have no effect.

    Raises:
        NoScenario: none of the controllers is for a custom resource, or no object could be generated that fits the
            schema of the first custom resource.
    """
    kinds = [controller.kind for controller in controllers if issubclass(controller.kind, CustomResource)]
    if not kinds:
        raise NoScenario(
            "no controller reconciles a custom resource, so there is no schema to generate a scenario from: write one"
        )
    kind = kinds[0]
    resource = resource_of(kind)
    schema = Versions.of(kind).schemas[resource.version]
    samples = samples_of(schema, resource.api_version, resource.kind)
    if not samples:
        raise NoScenario(f"no object could be generated that fits the schema of {resource.kind}: write a scenario")
    smallest = _modest(schema, samples[0])
    fullest = _modest(schema, samples[-1])
    changes = _chosen(schema, fullest, most)
    user_kind = dynamic(resource)  # the class would add its defaults to what users leave out

    def by_users(document: JSON) -> DynamicObject:
        return user_kind.of({name: part for name, part in document.items() if name != "status"})

    async def scenario(cluster: Cluster) -> None:
        async def ask(document: JSON) -> None:
            with suppress(Invalid, Forbidden):  # the kind's own rules know more than its schema
                await cluster.apply(by_users(document))
            await cluster.settle()

        await cluster.apply(by_users(smallest))
        await cluster.settle()
        await ask(fullest)
        for path, value in changes:
            await ask(_with(fullest, path, value))
            await ask(fullest)
        if (wrong := _wrong(schema, fullest)) is not None:
            try:
                await cluster.client.patch(
                    kind, "sample", wrong, type=PatchType.MERGE, namespace=smallest["metadata"].get("namespace")
                )
            except (Invalid, ApiError):
                pass  # as it should be
            else:
                await cluster.settle()
                await ask(fullest)
        await ask(smallest)
        await cluster.delete(await cluster.get(kind, "sample"))
        await cluster.settle()
        await ask(smallest)
        await ask(fullest)  # the end states of runs are compared, so the object has to be in them

    scenario.__qualname__ = f"generated for {resource.kind}"
    return scenario


def _chosen(schema: Schema, document: JSON, most: int) -> list[tuple[Path, JSON]]:
    """At most ``most`` changes of the spec, each as a path and the new value. Different values come first,
    then removals of optional parts, which have the value None. In both groups, the outermost properties come first.
    """
    changes, removals = list(_changes(schema, document)), list(_removals(schema, document))
    kept_changes = changes[: most - min(len(removals), most // 4)]
    return kept_changes + removals[: most - len(kept_changes)]


def _changes(schema: Schema, document: JSON) -> Iterator[tuple[Path, JSON]]:
    places = _places(schema.properties.get("spec"), document.get("spec"), ("spec",))
    for path, part, value in sorted(places, key=lambda place: len(place[0])):
        for other in _others(part, value):
            changed = _with(document, path, other)
            if not validate(schema, changed):
                yield path, other
                break


def _removals(schema: Schema, document: JSON) -> Iterator[tuple[Path, JSON]]:
    """The removals of optional parts: objects and arrays first, since the removal of most other fields only resets them
    to their default.
    """
    parts = _optional(schema.properties.get("spec"), document.get("spec"), ("spec",))
    for path, _ in sorted(parts, key=lambda part: (part[1].type not in ("object", "array"), len(part[0]))):
        if not validate(schema, _with(document, path, None)):
            yield path, None


def _optional(schema: Schema | None, value: JSON, path: Path) -> Iterator[tuple[Path, Schema]]:
    if schema is None or not isinstance(value, dict) or len(path) > _DEEP:
        return
    for name, part in schema.properties.items():
        if name in value:
            if name not in schema.required:
                yield (*path, name), part
            yield from _optional(part, value[name], (*path, name))


def _places(schema: Schema | None, value: JSON, path: Path) -> Iterator[tuple[Path, Schema, JSON]]:
    if schema is None or value is None or len(path) > _DEEP:
        return
    if schema.properties and isinstance(value, dict):
        for name, part in schema.properties.items():
            if name in value:
                yield from _places(part, value[name], (*path, name))
        return
    yield path, schema, value


def _others(schema: Schema, value: JSON) -> Iterator[JSON]:
    if schema.enum:
        yield from (choice for choice in schema.enum if choice not in (value, None))
    elif schema.type == "boolean":
        yield not value
    elif schema.type in ("integer", "number"):
        step = schema.multiple_of or 1
        yield from (number for number in (value + step, value - step, value + 2 * step) if number <= _SMALL + step)
    elif schema.type == "string":
        yield from (f"{value}-2", "b", "2", "2m", "20Mi", "90s", "b-c")
    elif schema.type == "array" and isinstance(value, list):
        yield []
    elif isinstance(value, dict):
        yield {}


def _modest(schema: Schema, document: JSON) -> JSON:
    """The document with large integers in its spec replaced by small ones, where these are valid."""
    for path, part, value in list(_places(schema.properties.get("spec"), document.get("spec"), ("spec",))):
        if part.type == "integer" and isinstance(value, int) and value > _SMALL:
            smaller = _with(document, path, 2)
            if not validate(schema, smaller):
                document = smaller
    return document


def _wrong(schema: Schema, document: JSON) -> JSON:
    """A merge patch that the schema refuses; None if no such patch could be made up."""
    for path, part, _ in _places(schema.properties.get("spec"), document.get("spec"), ("spec",)):
        value: JSON = "wrong" if part.type in ("integer", "number", "boolean") else -1
        if validate(schema, _with(document, path, value)):
            patch: JSON = value
            for name in reversed(path):
                patch = {name: patch}
            return patch
    return None


def _with(document: JSON, path: Path, value: JSON) -> JSON:
    """The document with a different value at the path, or without that path if ``value`` is None."""
    name, *rest = path
    copy = dict(document)
    if rest:
        copy[name] = _with(document.get(name, {}), tuple(rest), value)
    elif value is None:
        copy.pop(name, None)
    else:
        copy[name] = value
    return copy

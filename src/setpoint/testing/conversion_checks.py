"""A property-based test that conversions do not lose anything (needs hypothesis)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from setpoint.crd import Versions, verify
from setpoint.crd.conversion_verification import difference, round_trip_problems
from setpoint.meta import Object
from setpoint.schema import copy_json, prune
from setpoint.testing.object_strategies import objects_of

JSON = Any


def check_conversions(
    kind: type[Object], *, samples: Iterable[Object | Mapping[str, JSON]] = (), max_examples: int = 100
) -> None:
    """Checks that objects of every version survive the conversion to every other version and back, with unchanged
    metadata.

    Objects are generated from the schemas, ``max_examples`` for each version. Each object is converted to every other
    version, pruned there as by an API server, and converted back; then it goes through several versions in a row.
    ``samples`` are tested first. ``kind`` is the class that lists the conversions.

    The objects are the same in every run, so the result is deterministic.

    Raises:
        AssertionError: a value is lost or changed; the message has the versions, the field and the object.
        ConversionError: a value of one of the samples, or of a smallest or fullest object that a schema accepts, is
            lost or changed, or the converted object is not valid.
        DefinitionError: the conversions omit a field.
        ModuleNotFoundError: hypothesis is not installed.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import strategies as st
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError("check_conversions() needs hypothesis: pip install hypothesis") from problem

    versions = Versions.of(kind)
    verify(versions, samples)
    for version in versions.classes:
        routes = st.lists(st.sampled_from(versions.versions), max_size=5)

        @settings(
            max_examples=max_examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
            phases=(Phase.generate, Phase.shrink),
        )
        @given(document=objects_of(version), route=routes)
        def survives(document: dict[str, JSON], route: list[str]) -> None:
            problems = list(round_trip_problems(versions, document))
            if not problems:
                problems = _walk_problems(versions, document, route)
            if problems:
                raise AssertionError("\n".join([*problems, f"the object was {document!r}"]))

        survives()


def _walk_problems(versions: Versions, document: dict[str, JSON], route: list[str]) -> list[str]:
    start = document["apiVersion"].rpartition("/")[2]
    converted = copy_json(document)
    for version in (*route, start):
        converted = copy_json(versions.convert(converted, version))
        prune(versions.schemas[version], converted)
    place = difference(document, converted)
    return [f"{' to '.join((start, *route, start))}: {place}"] if place else []

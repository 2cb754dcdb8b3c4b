"""Verifies conversions with sample objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from setpoint.crd.errors import ConversionError
from setpoint.crd.schema_samples import samples_of
from setpoint.crd.versions import Versions
from setpoint.meta import Object, to_wire
from setpoint.schema import copy_json, json_equal, prune, to_aggregate_message, validate

JSON = Any


def verify(versions: Versions, samples: Iterable[Object | Mapping[str, JSON]] = (), *, generated: bool = True) -> None:
    """Converts each sample, and objects made from the schemas, to every other version and back.

    A manager calls this function before it serves conversions. ``generated=False`` uses only the samples, for kinds
    whose functions rely on more than the schemas (on CEL rules, for example).

    Raises:
        ConversionError: a value is lost or changed, a function changes metadata other than labels and annotations, or
            a converted object is not valid in its version. The message lists all problems with their versions and
            fields.
    """
    tried: list[dict[str, JSON]] = [to_wire(sample) for sample in samples]
    for name, schema in versions.schemas.items() if generated else ():
        tried += samples_of(schema, f"{versions.group_kind.group}/{name}", versions.group_kind.kind)
    problems = dict.fromkeys(problem for sample in tried for problem in round_trip_problems(versions, sample))
    if problems:
        raise ConversionError(f"conversions of {versions.group_kind}:\n  " + "\n  ".join(problems))


def round_trip_problems(versions: Versions, document: dict[str, JSON]) -> Iterator[str]:
    """The errors that occur when ``document`` is converted to every other version, pruned in that version as by an API
    server, and converted back.
    """
    start = str(document.get("apiVersion")).rpartition("/")[2]
    original = copy_json(document)
    for target in versions.versions:
        if target == start:
            continue
        step = f"{start} to {target}"
        try:
            converted = copy_json(versions.convert(document, target))
            prune(versions.schemas[target], converted)
            if errors := validate(versions.schemas[target], converted):
                yield f"{step}: the result is not valid: {to_aggregate_message(errors)}"
            back = versions.convert(converted, start)
        except ConversionError as problem:
            yield str(problem)
            continue
        if not json_equal(document, original):
            yield f"{step}: the conversion changed its argument, at {difference(original, document)}"
            return
        if place := difference(original, back):
            yield f"{step} and back: {place}"


def difference(before: JSON, after: JSON, path: str = "") -> str:
    """A message about the first difference between two values, with its path and both sides; ``""`` if
    they are equal.
    """
    if json_equal(before, after):
        return ""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            here = f"{path}.{name}" if path else name
            if name not in after:
                return f"{here} is lost: it was {_short(before[name])}"
            if name not in before:
                return f"{here} was added by the conversion: {_short(after[name])}"
            if difference_inside := difference(before[name], after[name], here):
                return difference_inside
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return next(
            difference_inside
            for index, (old, new) in pairs
            if (difference_inside := difference(old, new, f"{path}[{index}]"))
        )
    return f"{path} was {_short(before)} and is {_short(after)}"


def _short(value: JSON) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

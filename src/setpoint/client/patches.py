"""Computes patches from the JSON that was read, so fields that the models don't know survive."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import msgspec

from setpoint.client.verb_options import PatchType
from setpoint.meta import Object, TooDeep, decode_as_read, json_of, plain, raw_of, to_wire
from setpoint.meta.json_values import json_equal

_KEYS = ("name", "key", "type", "uid", "containerPort", "port", "mountPath", "devicePath", "ip", "topologyKey")
"""Fields that may identify the items of a list; the first that all items have, with distinct values, is used."""


def changes(obj: Object) -> tuple[PatchType, bytes] | None:
    """The patch that turns the JSON that was read into the current state of ``obj``; None if nothing changed.

    ``obj`` must have been read from a server. The patch carries ``obj``'s resourceVersion as a precondition, so it
    conflicts if the server has a version other than the one that was read. Fields that the model of ``obj`` does not
    know stay unchanged, including fields in items of lists.

    Raises:
        ValueError: ``obj`` was created locally, so its earlier state is unknown; or a string in it is not Unicode.
        TooDeep: ``obj`` is nested too deeply to be compared.
    """
    raw = raw_of(obj)
    if raw is None:
        raise ValueError(
            f"{type(obj).__name__} {obj.key} was not read from a server, so there is nothing to compute a patch from: "
            "use apply(), create() or replace()"
        )
    try:
        return _changes(obj, raw)
    except RecursionError:
        raise TooDeep(f"{type(obj).__name__} {obj.key}: nested too deeply to compute its changes") from None
    except UnicodeEncodeError:
        json_of(to_wire(obj), type(obj).__name__, str(obj.key))  # raises an error that names the string
        raise


def _changes(obj: Object, raw: bytes) -> tuple[PatchType, bytes] | None:
    read = plain(raw)
    before = to_wire(decode_as_read(type(obj), raw)[0])
    after = to_wire(obj)
    if json_equal(before, after):
        return None
    for part in ("metadata", "spec", "status"):  # left out on the wire when empty, but not removed
        if part in read and (part in before or part in after):
            before.setdefault(part, {})
            after.setdefault(part, {})
    wanted = edited(read, before, after)
    kind, patch = patch_between(read, wanted)
    version = obj.metadata.resource_version
    if version:
        if isinstance(patch, list):
            patch.append({"op": "replace", "path": "/metadata/resourceVersion", "value": version})
        else:
            patch.setdefault("metadata", {})["resourceVersion"] = version
    return kind, json_of(patch, type(obj).__name__, str(obj.key))


def patch_between(original: dict[str, Any], modified: dict[str, Any]) -> tuple[PatchType, Any]:
    """A patch that turns ``original`` into ``modified``: a merge patch, or a JSON patch if a value must be set to
    null.
    """
    from setpoint.patch import json_diff, merge_patch  # imported here, because reading objects does not need it

    patch = merge_patch.diff(original, modified)
    if merge_patch.apply(original, patch) == modified:
        return PatchType.MERGE, patch
    return PatchType.JSON, json_diff.diff(original, modified)


def edited(raw: Any, before: Any, after: Any, equal: Callable[[Any, Any], bool] = json_equal) -> Any:
    """``raw`` with the changes that lead from ``before`` to ``after``; ``before`` is the part of ``raw`` that the model
    knows.

    The arguments are not changed; the result shares values with ``raw`` and ``after``. ``equal`` compares JSON values;
    the quicker ``==``, to which ``true`` is 1, does where no value can become the other.
    """
    return raw if equal(before, after) else _edited(raw, before, after, equal)


def _edited(raw: Any, before: Any, after: Any, equal: Callable[[Any, Any], bool]) -> Any:
    """`edited` for values that differ."""
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        result = {key: value for key, value in raw.items() if key in after or key not in before}
        for key, value in after.items():
            if key not in raw:
                if key not in before or not equal(before[key], value):  # otherwise it is an unset zero value
                    result[key] = value
            elif key in before:
                if not equal(before[key], value):
                    result[key] = _edited(raw[key], before[key], value, equal)
            else:  # in the JSON, but empty for the model
                result[key] = edited(raw[key], {}, value, equal) if isinstance(value, dict) else value
        return result
    if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and len(raw) == len(before):
        return [
            value if place is None else edited(raw[place], before[place], value, equal)
            for value, place in zip(after, _origins(before, after), strict=True)
        ]
    return after


def _origins(before: list[Any], after: list[Any]) -> list[int | None]:
    """The index in ``before`` of each item of ``after``, or None for a new item."""
    if not all(isinstance(item, dict) for item in (*before, *after)):
        return [None] * len(after)
    for key in _KEYS:
        names = [_name(item, key) for item in before]
        if None not in names and len(set(names)) == len(names):
            wanted = [_name(item, key) for item in after]
            if None not in wanted and len(set(wanted)) == len(wanted):
                places = {name: place for place, name in enumerate(names)}
                return [places.get(name) for name in wanted]
    texts = [[msgspec.json.encode(item, order="deterministic") for item in items] for items in (before, after)]
    origins: list[int | None] = [None] * len(after)
    matcher = difflib.SequenceMatcher(a=texts[0], b=texts[1], autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and end - start == new_end - new_start):
            for offset in range(end - start):
                origins[new_start + offset] = start + offset
    return origins


def _name(item: dict[str, Any], key: str) -> str | int | None:
    value = item.get(key)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None

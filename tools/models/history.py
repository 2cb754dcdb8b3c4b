"""Since when fields and kinds exist: the schemas of all supported versions, compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tools import zstd
from tools.models.inputs import MINOR, Definition, definitions
from tools.models.types import OBJECT_META

OLDEST = 31
NEWEST = int(MINOR.partition(".")[2])
_GATES: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "gates.json").read_text("utf-8"))
_STAGE = re.compile(r"(\d+)([aobs])")
# Sentences that say of the field itself that it depends on a gate; others are about single values of it.
_GATED = re.compile(
    r"[Tt]his (?:field|is an? \w+(?:-level)? (?:field|feature)) (?:and )?"
    r"requires (?:enabling |that )?(?:the )?(\w+) feature|"
    r"[Tt]he (\w+) feature gate must be enabled to use this field|"
    r"(?:when|only if) the (?:feature gate )?(\w+)(?: feature gate)? is enabled|"
    r"by servers that enable the (\w+) feature"
)
_ALPHA = re.compile(r"\(Alpha\) (?:This|Using (?:this|the)) field|\b[Tt]his (?:is an|field is) alpha\b")


def packed_history() -> bytes:
    """The table as a packed JSON document; `setpoint.models.history` describes it."""
    by_version = {minor: definitions(f"1.{minor}") for minor in range(OLDEST, NEWEST + 1)}
    text = json.dumps(history(by_version), sort_keys=True, separators=(",", ":"))
    return zstd.packed(text.encode())


def history(by_version: dict[int, dict[str, Definition]]) -> dict[str, Any]:
    """The table of the given versions, of which the last has all definitions."""
    newest = by_version[max(by_version)]
    fields: dict[str, dict[str, str]] = {}
    for name, definition in newest.items():
        for field in definition.get("properties", {}):
            stages = _stages(name, field, by_version)
            if not all(stage in "bs" for stage in stages):
                fields.setdefault(name, {})[field] = _shortened(stages)
    kinds_of = {minor: _kinds(version) for minor, version in by_version.items()}
    current = kinds_of[max(kinds_of)]
    since = {kind: next(minor for minor, present in kinds_of.items() if kind in present) for kind in current}
    until = {kind: minor for minor, present in kinds_of.items() for kind in present if kind not in current}
    return {
        "fields": fields,
        "since": {kind: minor for kind, minor in since.items() if minor > min(by_version)},
        "until": until,
        "parts": _parts(newest, fields, current),
    }


def _stages(name: str, field: str, by_version: dict[int, dict[str, Definition]]) -> list[str]:
    """The field's stage in each version; ``-`` where it does not exist."""
    texts = {
        minor: version[name]["properties"][field].get("description", "")
        for minor, version in by_version.items()
        if field in version.get(name, {}).get("properties", {})
    }
    gate = _GATES["gates"].get(_GATES["fields"].get(f"{name}.{field}", ""), "")
    if not gate:
        named = [word for text in texts.values() for groups in _GATED.findall(text) for word in groups if word]
        gate = next((_GATES["gates"][word] for word in named if word in _GATES["gates"]), "")
    stages: list[str] = []
    for minor, version in by_version.items():
        if name not in version:
            stages.append("")
        elif minor not in texts:
            stages.append("-")
        elif gate:
            reached = [stage for since, stage in _STAGE.findall(gate) if int(since) <= minor]
            stages.append(reached[-1] if reached else "s")
        else:
            stages.append("a" if _ALPHA.search(texts[minor]) else "s")
    for place in reversed(range(len(stages) - 1)):
        # A version without the definition has the field in another one, or lacks a field or a kind above it.
        stages[place] = stages[place] or stages[place + 1]
    return stages


def _shortened(stages: list[str]) -> str:
    """Only the versions in which the stage changes, such as ``31- 33a 35b``."""
    changes = [
        f"{OLDEST + place}{stage}" for place, stage in enumerate(stages) if place == 0 or stage != stages[place - 1]
    ]
    return " ".join(changes)


def _kinds(version: dict[str, Definition]) -> dict[str, str]:
    """The definitions of the kinds of objects by ``apiVersion/Kind``."""
    return {
        "/".join(part for part in (gvk["group"], gvk["version"], gvk["kind"]) if part): name
        for name, definition in version.items()
        if definition.get("properties", {}).get("metadata", {}).get("$ref") == OBJECT_META
        for gvk in definition.get("x-kubernetes-group-version-kind", ())
    }


def _parts(
    version: dict[str, Definition], fields: dict[str, dict[str, str]], names: dict[str, str]
) -> dict[str, list[str]]:
    """For each kind, the definitions in it that the table has."""
    parts = {}
    for kind, definition in names.items():
        reached: set[str] = set()
        wanted = [definition]
        while wanted:
            name = wanted.pop()
            if name not in reached:
                reached.add(name)
                wanted += re.findall(r'"\$ref": "([^"]+)"', json.dumps(version[name]))
        if listed := sorted(reached & fields.keys()):
            parts[kind] = listed
    return parts

"""Explanations: the answers of ``setpoint explain`` about the objects of a process's controllers after a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from setpoint.controller import RunningController
from setpoint.controller.explain.explanation import AttemptEntry, explain

_KEYS: Final = 5
_MOMENTS: Final = 4


def explain_controller(running: RunningController[Any]) -> Iterator[str]:
    """Yields lines that explain a controller's objects: the state and the last four attempts of each of its first five
    keys, in the order of the keys. If there are more keys, the last line says how many are left out.
    """
    informer = running.informers.get(running.controller.resource.gvr)
    keys = sorted({*(informer.store if informer is not None else ()), *running.timeline.keys()})
    for key in keys[:_KEYS]:
        explanation = explain(running, key)
        yield f"{explanation.kind} {explanation.key} (controller {explanation.controller})"
        yield f"  {explanation.state}: {explanation.text}"
        for moment in explanation.timeline[-_MOMENTS:]:
            yield f"  {_describe_attempt(moment)}"
    if len(keys) > _KEYS:
        yield f"and {len(keys) - _KEYS} more of controller {running.name}"


def _describe_attempt(moment: AttemptEntry) -> str:
    causes = f" because of {moment.causes[-1]}" if moment.causes else ""
    about = f" at generation {moment.generation}" if moment.generation else ""
    writes = [
        f"{write.verb} {write.kind} {write.key}{f': {write.effect}' if write.effect else ''}" for write in moment.writes
    ]
    detail = f": {moment.detail}" if moment.detail else ""
    return f"{moment.result}{about}{causes}{detail}; " + (f"wrote {', '.join(writes)}" if writes else "wrote nothing")

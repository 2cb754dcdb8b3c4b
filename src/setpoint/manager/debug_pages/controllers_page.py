"""``/debug/controllers``: the activity of a manager's controllers, and explanations of the states of objects, as
JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from setpoint.controller import RunningController
from setpoint.controller.explain.explanation import explain, summary
from setpoint.manager.debug_pages.manager_page import missing
from setpoint.manager.http_server import Answer
from setpoint.meta import ObjectKey

PATH: Final = "/debug/controllers"
_JSON: Final = "application/json"


class ControllersPage:
    """The pages below `PATH`.

    - ``/debug/controllers``: a summary of every controller;
    - ``/debug/controllers/NAME``: the summary of one controller;
    - ``/debug/controllers/NAME/NAMESPACE/OBJECT``, or ``NAME/OBJECT`` for kinds without namespaces: `explain`;
    - ``/debug/controllers?kind=KIND&key=NAMESPACE/OBJECT``: `explain` by every controller of that kind. KIND is a kind,
      plural, singular, short name, or a controller's name.

    The pages show names and errors, never the content of objects.
    """

    def __init__(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> None:
        self._find = controllers

    def answer(self, path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        controllers = self._find()
        name, _, key = path.partition("/")
        key = key or next(iter(query.get("key", ())), "")
        if name:
            run = controllers.get(name)
            if run is None:
                return missing(f"there is no controller {name!r}", controllers)
            return _json(explain(run, ObjectKey(key), among=controllers.values()) if key else summary(run))
        runs = list(controllers.values())
        if kind := next(iter(query.get("kind", ())), ""):
            runs = [run for run in runs if kind.lower() in _names(run)]
            if not runs:
                return missing(f"there is no controller of {kind!r}", controllers)
        if key:
            return _json([explain(run, ObjectKey(key), among=controllers.values()) for run in runs])
        return _json([summary(run) for run in runs])


def _names(run: RunningController[Any]) -> set[str]:
    resource = run.controller.resource
    names = (run.name, run.controller.name, resource.kind, resource.plural, resource.singular, *resource.short_names)
    return {name.lower() for name in names}


def _json(value: Any) -> Answer:
    return Answer(200, msgspec.json.encode(value), _JSON)

"""Predicates: a user's own conditions on the objects, in addition to those that every controller has to fulfil."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from setpoint.meta import Object, Selector, decode, resource_of
from setpoint.simulation.trace.history import History
from setpoint.testing.user_code import find_user_line_of

K = TypeVar("K", bound=Object)


class Objects:
    """The current objects in the cluster, for predicates. They are read from the server, not from a cache."""

    def __init__(self, history: History) -> None:
        self._history = history

    def list(
        self, kind: type[K], *, namespace: str | None = None, selector: str | dict[str, str] | None = None
    ) -> list[K]:
        """The objects of a kind, in all namespaces or in the given one, in the order of their keys."""
        wanted = Selector.of(selector)
        objects = [decode(kind, item.value) for item in self._history.scan(_collection(kind), namespace)]
        return [item for item in objects if wanted.matches(item.labels)]

    def get(self, kind: type[K], name: str, namespace: str | None = "default") -> K | None:
        """The object with that name; None if it does not exist. For a kind without namespaces, ``namespace`` has no
        effect.
        """
        space = (namespace or "") if resource_of(kind).namespaced else ""
        record = self._history.get(_collection(kind), space, name)
        return None if record is None else decode(kind, record.value)


def _collection(kind: type[Object]) -> str:
    return str(resource_of(kind).group_resource)


@dataclass(frozen=True)
class Predicate:
    """A condition on the objects, made by `always`, `never` or `eventually`."""

    mode: Literal["always", "never", "eventually"]
    holds: Callable[[Objects], bool]
    why: str

    def broken(self, objects: Objects) -> str:
        """The text for a finding if the objects break the predicate; ``""`` if they don't."""
        try:
            result: Any = self.holds(objects)
        except AssertionError as problem:
            return f"{self.why}: {problem}" if str(problem) else self.why
        except Exception as problem:  # noqa: BLE001 - it is in the finding
            place = find_user_line_of(problem)
            return f"{self.why} (the predicate raised {type(problem).__name__}: {problem} at {place})"
        wrong = bool(result) if self.mode == "never" else not result
        return self.why if wrong else ""


def always(holds: Callable[[Objects], bool], why: str = "") -> Predicate:
    """A predicate: ``holds(objects)`` must be true after every write and every external call. An exception counts as
    false; the finding tells which one it was, and where.

    ``why`` is the text in a finding; by default it is the function's name or the first line of its docstring.
    """
    return Predicate("always", holds, why or _named(holds))


def never(holds: Callable[[Objects], bool], why: str = "") -> Predicate:
    """A predicate: ``holds(objects)`` must not be true after any write or external call. An exception breaks the
    predicate, too.

    ``why`` is the text in a finding; by default it is the function's name or the first line of its docstring.
    """
    return Predicate("never", holds, why or _named(holds))


def eventually(holds: Callable[[Objects], bool], why: str = "") -> Predicate:
    """A predicate: ``holds(objects)`` must be true at the end, after the scenario and the faults, when everything has
    settled.

    ``why`` is the text in a finding; by default it is the function's name or the first line of its docstring.
    """
    return Predicate("eventually", holds, why or _named(holds))


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    if name and name != "<lambda>":
        first = (function.__doc__ or "").strip().partition("\n")[0]
        return first.rstrip() or name.replace("_", " ")
    code = getattr(function, "__code__", None)
    return f"the predicate of {code.co_filename}:{code.co_firstlineno}" if code else repr(function)

"""Predicates: tests that decide which events lead to a reconcile.

A predicate is called with the head before and the head after a change: ``(None, new)`` for an object that appeared,
``(old, new)`` for one that changed, ``(old, None)`` for one that is gone. Any function of that signature will do; the
class `Predicate` adds ``&``, ``|``, ``~`` and a name.

*Caveat*: a predicate saves work; correctness must not depend on it. A reconcile always reads the latest object,
whatever event led to the reconcile.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from setpoint.cache import Head
from setpoint.meta import LabelSelector, Selector

Test: TypeAlias = Callable[[Head | None, Head | None], bool]


class Predicate:
    """A test of a change. Predicates can be combined: ``generation_changed | labels_changed``, ``~is_deleting``.

    ``name`` is the predicate's name in explanations.
    """

    __slots__ = ("name", "test")

    def __init__(self, test: Test, name: str = "") -> None:
        self.test = test
        self.name = name or getattr(test, "__name__", type(test).__name__)

    def __call__(self, old: Head | None, new: Head | None) -> bool:
        return self.test(old, new)

    def __and__(self, other: Test) -> Predicate:
        return all_of(self, other)

    def __or__(self, other: Test) -> Predicate:
        return any_of(self, other)

    def __invert__(self) -> Predicate:
        return not_(self)

    def __repr__(self) -> str:
        return f"Predicate({self.name})"


def all_of(*tests: Test) -> Predicate:
    """A predicate that accepts an event if every one of the tests does; without tests it accepts every event."""
    return Predicate(lambda old, new: all(test(old, new) for test in tests), _join(" & ", tests))


def any_of(*tests: Test) -> Predicate:
    """A predicate that accepts an event if at least one of the tests does; without tests it accepts no event."""
    return Predicate(lambda old, new: any(test(old, new) for test in tests), _join(" | ", tests))


def not_(test: Test) -> Predicate:
    """The negation of ``test``."""
    return Predicate(lambda old, new: not test(old, new), f"~{name_of(test)}")


def name_of(test: Test) -> str:
    """The name of a test in explanations."""
    return test.name if isinstance(test, Predicate) else getattr(test, "__name__", type(test).__name__)


def check_predicates(tests: Iterable[Test], argument: str = "predicates") -> tuple[Test, ...]:
    """The tests in that ``argument``. Raises `TypeError` if one of them is not a function that is called at once: the
    result of a coroutine function would count as an acceptance of every event.
    """
    if callable(tests):
        raise TypeError(f"{argument} is a list of functions: write {argument}=[{name_of(tests)}]")
    for test in (checked := tuple(tests)):
        function = test.test if isinstance(test, Predicate) else test
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f"a predicate is a plain function of the heads before and after a change, not {function!r}")
    return checked


def _join(sign: str, tests: Iterable[Test]) -> str:
    return "(" + sign.join(name_of(test) for test in tests) + ")"


def updates_where(test: Callable[[Head, Head], bool], name: str = "") -> Predicate:
    """A predicate that accepts created and deleted objects, and the updates for which ``test(old, new)`` is true."""
    return Predicate(lambda old, new: old is None or new is None or test(old, new), name or test.__name__)


def objects_where(test: Callable[[Head], bool], name: str = "") -> Predicate:
    """A predicate that accepts the events of objects for which ``test`` is true. The test gets the state after the
    change, or the last state of an object that is gone.
    """

    def holds(old: Head | None, new: Head | None) -> bool:
        head = new if new is not None else old
        return head is not None and test(head)

    return Predicate(holds, name or test.__name__)


def of_types(*, create: bool = True, update: bool = True, delete: bool = True) -> Predicate:
    """A predicate that accepts only some types of events."""
    chosen = [word for word, wanted in (("create", create), ("update", update), ("delete", delete)) if wanted]
    return Predicate(
        lambda old, new: create if old is None else delete if new is None else update, f"of_types({', '.join(chosen)})"
    )


generation_changed = updates_where(lambda old, new: old.generation != new.generation, "generation_changed")
"""Accepts updates of the spec (``metadata.generation``), not of the status, labels or annotations. Updates of kinds
without a generation, such as ConfigMap, are never accepted. Created and deleted objects are always accepted.
"""

resource_version_changed = updates_where(
    lambda old, new: old.resource_version != new.resource_version, "resource_version_changed"
)
"""Rejects resyncs: updates in which nothing has changed."""

labels_changed = updates_where(lambda old, new: old.labels != new.labels, "labels_changed")

annotations_changed = updates_where(lambda old, new: old.annotations != new.annotations, "annotations_changed")

finalizers_changed = updates_where(lambda old, new: old.finalizers != new.finalizers, "finalizers_changed")

deletion_started = updates_where(
    lambda old, new: old.deletion_timestamp is None and new.deletion_timestamp is not None, "deletion_started"
)
"""Accepts an update only if it requests a deletion. Created and deleted objects are always accepted."""

is_deleting = objects_where(lambda head: head.deletion_timestamp is not None, "is_deleting")


class LastKnown(Head, frozen=True, kw_only=True, gc=False):
    """The last head of a deleted object that the cache had seen; the object may have changed before its deletion, while
    the watch was interrupted. It is the head before the change in the event of such a deletion.
    """


def last_known(head: Head) -> LastKnown:
    return LastKnown(**{name: getattr(head, name) for name in head.__struct_fields__})


final_state_unknown = Predicate(lambda old, new: new is None and isinstance(old, LastKnown), "final_state_unknown")
"""Accepts only deletions whose event was missed, so that the last state of the object is not known (client-go's
``DeletedFinalStateUnknown``). ``~final_state_unknown`` accepts all other events.
"""


def matches(selector: str | Mapping[str, str] | LabelSelector | Selector) -> Predicate:
    """A predicate that accepts events of objects whose labels match before or after the change. So the event with which
    an object stops matching is accepted, too.

    Raises:
        SelectorError: the selector is not valid.
    """
    parsed = Selector.of(selector)

    def test(old: Head | None, new: Head | None) -> bool:
        return (new is not None and parsed.matches(new.labels)) or (old is not None and parsed.matches(old.labels))

    return Predicate(test, f"matches({parsed})")


def in_namespaces(*namespaces: str) -> Predicate:
    chosen = frozenset(namespaces)
    return objects_where(lambda head: head.namespace in chosen, f"in_namespaces({', '.join(sorted(chosen))})")


def named(name: str, namespace: str = "") -> Predicate:
    """A predicate that accepts events of objects with this name, in any namespace if none is given."""
    return objects_where(
        lambda head: head.name == name and (not namespace or head.namespace == namespace), f"named({namespace}/{name})"
    )

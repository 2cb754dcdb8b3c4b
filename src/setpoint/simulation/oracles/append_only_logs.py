"""Append-only logs: the parts of external systems that only grow, such as sent messages, audit logs and events."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from setpoint.simulation.comparison.differences import ABSENT, Difference
from setpoint.simulation.comparison.snapshot import JSON, Snapshot
from setpoint.simulation.scenario.externals import External

_TAKING: Final = frozenset(
    {
        "clear",
        "difference_update",
        "discard",
        "intersection_update",
        "pop",
        "popitem",
        "popleft",
        "remove",
        "symmetric_difference_update",
    }
)
"""Methods of collections that take something out."""
_COPYING: Final = frozenset({"dict", "frozenset", "list", "set", "sorted", "tuple"})
_READING: Final = _COPYING | {
    "all", "any", "enumerate", "filter", "iter", "len", "map", "max", "min", "repr", "reversed", "str", "sum", "zip",
}  # fmt: skip
"""Functions that leave their arguments as they are."""
_GROWING: Final = (ast.Add, ast.BitOr)


class AppendOnlyLogs:
    """The attributes of external systems to which entries are added, and from which no method takes any. No controller
    can remove what it has written there, so more entries are not traces of earlier desired states.
    """

    def __init__(self, externals: Sequence[External] = ()) -> None:
        self._names = {
            f"external {external.name}": find_append_only_attributes(type(external)) for external in externals
        }

    def has_more(self, difference: Difference, expected: Snapshot, actual: Snapshot) -> bool:
        """Whether the difference is in a log that has all that it should have, and perhaps more."""
        attribute = self._attribute(difference, expected, actual)
        if not attribute or _number(actual, difference, attribute) < _number(expected, difference, attribute):
            return False
        return _texts(expected, difference, attribute).keys() <= _texts(actual, difference, attribute).keys()

    def has_enough(self, difference: Difference, least: Snapshot, expected: Snapshot, actual: Snapshot) -> bool:
        """Whether the difference is in a log that has all that it has in ``least``, and nothing that is not expected
        or that is expected less often.
        """
        attribute = self._attribute(difference, expected, actual)
        if not attribute or _number(actual, difference, attribute) > _number(expected, difference, attribute):
            return False
        texts = _texts(actual, difference, attribute)
        return _texts(least, difference, attribute).keys() <= texts.keys() and texts <= _texts(
            expected, difference, attribute
        )

    def _attribute(self, difference: Difference, *states: Snapshot) -> str:
        """The log whose entries differ; ``""`` if the difference is in no log, or if a value stands in the place
        of another one (a record of DNS that was set anew). A key with a number is not the same place: the number may
        count the changes that users have made, unless it belongs to the name of an object in ``states``.
        """
        attribute, *rest = re.split(r"[.\[]", difference.path, maxsplit=1)
        if attribute not in self._names.get(difference.subject, ()):
            return ""
        is_other = ABSENT not in (difference.expected, difference.actual) and not isinstance(difference.expected, list)
        return "" if is_other and rest and not re.search(r"\d", _without_names(rest[0], states)) else attribute


def find_append_only_attributes(kind: type[External]) -> frozenset[str]:
    """The attributes from which no method of the class takes anything, as far as its source shows. The set is empty if
    the source is not available, or if the class has a `state` of its own.
    """
    if kind.state is not External.state:
        return frozenset()
    classes = [cls for cls in kind.__mro__ if cls not in (External, *External.__mro__)]
    used: set[str] = set()
    escaped: set[str] = set()
    for cls in classes:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError, SyntaxError):
            return frozenset()
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.args.args:
                method = _Method(node)
                used |= method.used
                escaped |= method.escaped
    return frozenset() if _ANYTHING in escaped else frozenset(used - escaped)


_ANYTHING: Final = "*"
"""Stands for all attributes, where the source does not show which one is meant."""


class _Method:
    """The attributes of ``self`` that a method uses, and those from which it may take something."""

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        first, *others = node.args.args
        self._self = first.arg
        self._makes = node.name == "__init__"
        self._names: dict[str, set[str]] = {child.arg: {_ANYTHING} for child in (*others, *node.args.kwonlyargs)}
        """For each local name, the attributes of which its value may be a part."""
        for _ in range(2):  # the second time for names that a loop uses before it assigns them
            for child in ast.walk(node):
                for target, value in _assigned(child):
                    for part in ast.walk(target):
                        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                            self._names.setdefault(part.id, set()).update(self._parts(value))
        attributes = [name for child in ast.walk(node) if (name := self._attribute(child))]
        self.used = set(attributes)
        self.escaped: set[str] = set()
        for child in ast.walk(node):
            self.escaped |= self._escaped(child)
        alone = [child for child in ast.walk(node) if isinstance(child, ast.Name) and child.id == self._self]
        if len(alone) > len(attributes):
            self.escaped.add(_ANYTHING)  # another function gets the whole system

    def _attribute(self, node: ast.AST) -> str:
        """The name of the attribute if the node is ``self.NAME``; ``""`` if it is not."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self._self:
            return node.attr
        return ""

    def _parts(self, value: ast.AST) -> set[str]:
        """The attributes of which the value may be a part."""
        if name := self._attribute(value):
            return {name}
        if isinstance(value, ast.Name):
            return self._names.get(value.id, set())
        if isinstance(value, (ast.Attribute, ast.Subscript, ast.Starred)):
            return self._parts(value.value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return self._parts(value.func.value)
        return set().union(*(self._parts(child) for child in ast.iter_child_nodes(value)))

    def _escaped(self, node: ast.AST) -> set[str]:
        if isinstance(node, ast.Call):
            return self._escaped_by(node)
        if isinstance(node, ast.Delete):
            return set().union(*(self._parts(target) for target in node.targets))
        if isinstance(node, ast.AugAssign) and not isinstance(node.op, _GROWING):
            return self._parts(node.target)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and not self._makes:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return set().union(*(self._replaced(target, node.value) for target in targets))
        return set()

    def _escaped_by(self, node: ast.Call) -> set[str]:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _TAKING:
            return self._parts(function.value)
        if isinstance(function, ast.Name) and function.id in _READING:
            return set()
        if isinstance(function, ast.Attribute) and self._parts(function.value):
            return set()  # a method of the attribute's own that adds, or only reads
        arguments = [*node.args, *(argument.value for argument in node.keywords)]
        return {name for argument in arguments if (name := self._attribute(argument))}

    def _replaced(self, target: ast.expr, value: ast.expr) -> set[str]:
        """The attributes from which the assignment to ``target`` may take something."""
        if name := self._attribute(target):
            return set() if self._keeps(value, name) else {name}
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            return self._parts(target.value)
        if isinstance(target, (ast.Tuple, ast.List)):
            return {name for element in target.elts if (name := self._attribute(element))}
        return set()

    def _keeps(self, value: ast.expr | None, name: str) -> bool:
        """Whether the value has everything that the attribute has now."""
        if isinstance(value, ast.Attribute):
            return self._attribute(value) == name
        if isinstance(value, ast.Starred):
            return self._keeps(value.value, name)
        if isinstance(value, ast.BinOp) and isinstance(value.op, _GROWING):
            return self._keeps(value.left, name) or self._keeps(value.right, name)
        if isinstance(value, (ast.List, ast.Set, ast.Tuple)):
            return any(isinstance(element, ast.Starred) and self._keeps(element, name) for element in value.elts)
        if isinstance(value, ast.Dict):
            return any(
                key is None and self._keeps(element, name)
                for key, element in zip(value.keys, value.values, strict=True)
            )
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _COPYING:
            return len(value.args) == 1 and self._keeps(value.args[0], name)
        return False


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets that the node assigns to, each with the value, or with that from which the value comes."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from ((item.optional_vars, item.context_expr) for item in node.items if item.optional_vars is not None)


def _without_names(key: str, states: Sequence[Snapshot]) -> str:
    """The key without the names of objects in it."""
    labels = [subject.partition(" ")[2] for state in states for subject in state if not subject.startswith("external ")]
    names = {name for label in labels for name in label.split("/") if name}
    for name in sorted(names, key=len, reverse=True):
        key = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", "", key)
    return key


def _texts(state: Snapshot, difference: Difference, attribute: str) -> Counter[str]:
    """The texts in a log, and how often each is there, without their numbers, which may count the changes that users
    have made.
    """
    return Counter(text for system in state.get(difference.subject, ()) for text in _leaves(system.get(attribute)))


def _number(state: Snapshot, difference: Difference, attribute: str) -> float:
    """The number in a log that only counts; 0 if the log is not a number."""
    values = [system.get(attribute) for system in state.get(difference.subject, ())]
    return sum(value for value in values if isinstance(value, (int, float)))


def _leaves(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield re.sub(r"\d+", "#", str(value))

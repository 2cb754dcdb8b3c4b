"""Macros: calls that are replaced by a larger tree, such as ``list.all(item, condition)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from setpoint.cel.nodes import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)

_UNUSED: Final = "#unused"
_SORTED: Final = "@__sortBy_input__"


class MacroError(Exception):
    """A macro's arguments have the wrong form."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class Maker:
    """Makes nodes. Each node receives the next number, and the text offset that `at` has set."""

    def __init__(self) -> None:
        self._last = 0
        self._offset = 0

    def id(self) -> int:
        """A new node number."""
        self._last += 1
        return self._last

    def at(self, offset: int) -> Maker:
        """Sets the offset of the nodes to make next, and returns the maker itself."""
        self._offset = offset
        return self

    def literal(self, value: Any) -> Node:
        return Literal(self.id(), self._offset, value)

    def name(self, name: str) -> Node:
        return Ident(self.id(), self._offset, name)

    @property
    def result(self) -> Node:
        return self.name(ACCUMULATOR)

    def call(self, function: str, *arguments: Node, target: Node | None = None) -> Node:
        return Call(self.id(), self._offset, function, target, list(arguments))

    def list(self, *items: Node) -> Node:
        return ListLiteral(self.id(), self._offset, list(items), frozenset())

    def map(self) -> Node:
        return MapLiteral(self.id(), self._offset, [])

    def test(self, select: Select) -> Node:
        return Select(self.id(), self._offset, select.operand, select.field, test=True)

    def loop(
        self, range_: Node, names: tuple[str, str], start: Node, condition: Node, step: Node, result: Node | None = None
    ) -> Node:
        end = self.result if result is None else result
        return Comprehension(self.id(), self._offset, range_, *names, ACCUMULATOR, start, condition, step, end)

    def binding(self, name: str, value: Node, within: Node) -> Node:
        """``within`` with ``name`` bound to ``value``."""
        step = self.name(name)
        return Comprehension(
            self.id(), self._offset, self.list(), _UNUSED, "", name, value, self.literal(False), step, within
        )

    def copy(self, node: Node) -> Node:
        """A copy of the tree with new numbers."""
        fields: dict[str, Any] = {"id": self.id()}
        for name in node.__struct_fields__:
            value = getattr(node, name)
            if isinstance(value, _NODES):
                fields[name] = self.copy(value)
            elif isinstance(value, list):
                fields[name] = [self._part(part) for part in value]
        return replace(node, **fields)

    def _part(self, part: Any) -> Any:
        if not isinstance(part, Entry):
            return self.copy(part)
        key = self.copy(part.key) if isinstance(part.key, _NODES) else part.key
        return Entry(self.id(), part.offset, key, self.copy(part.value), part.optional)


_NODES: Final = (Literal, Ident, Select, Call, ListLiteral, MapLiteral, StructLiteral, Comprehension)
_Expander = Callable[[Maker, Node, list[Node]], Node]


def expand(make: Maker, name: str, target: Node | None, arguments: list[Node]) -> Node | None:
    """The expansion of the call; None if the call is not a macro. Raises MacroError if a macro's arguments have the
    wrong form.
    """
    if target is None:
        if name != "has" or len(arguments) != 1:
            return None
        (argument,) = arguments
        if not isinstance(argument, Select):
            raise MacroError(argument.offset, "invalid argument to has() macro")
        return make.test(argument)
    expander = _MACROS.get((name, len(arguments)))
    return expander(make, target, arguments) if expander is not None else None


def _variable(argument: Node, text: str = "argument must be a simple name") -> tuple[str, str]:
    if not isinstance(argument, Ident):
        raise MacroError(argument.offset, text)
    _free(argument.offset, argument.name)
    return argument.name, ""


def _two_variables(argument: Node, second_argument: Node) -> tuple[str, str]:
    first, second = _variable(argument)[0], _variable(second_argument)[0]
    if first == second:
        raise MacroError(second_argument.offset, f"duplicate variable name: {first}")
    return first, second


def _free(offset: int, name: str) -> None:
    if name == "__result__":
        raise MacroError(offset, "iteration variable overwrites accumulator variable")


def _names(arguments: list[Node], variables: int) -> tuple[str, str]:
    return _variable(arguments[0]) if variables == 1 else _two_variables(*arguments[:2])


def _all(variables: int) -> _Expander:
    def build(make: Maker, target: Node, arguments: list[Node]) -> Node:
        names = _names(arguments, variables)
        condition = make.call("@not_strictly_false", make.result)
        step = make.call("_&&_", make.result, arguments[variables])
        return make.loop(target, names, make.literal(True), condition, step)

    return build


def _exists(variables: int) -> _Expander:
    def build(make: Maker, target: Node, arguments: list[Node]) -> Node:
        names = _names(arguments, variables)
        condition = make.call("@not_strictly_false", make.call("!_", make.result))
        step = make.call("_||_", make.result, arguments[variables])
        return make.loop(target, names, make.literal(False), condition, step)

    return build


def _exists_one(variables: int) -> _Expander:
    def build(make: Maker, target: Node, arguments: list[Node]) -> Node:
        names = _names(arguments, variables)
        more = make.call("_+_", make.result, make.literal(1))
        step = make.call("_?_:_", arguments[variables], more, make.result)
        end = make.call("_==_", make.result, make.literal(1))
        return make.loop(target, names, make.literal(0), make.literal(True), step, end)

    return build


def _map(make: Maker, target: Node, arguments: list[Node]) -> Node:
    names = _variable(arguments[0], "argument is not an identifier")
    step = make.call("_+_", make.result, make.list(arguments[-1]))
    if len(arguments) == 3:
        step = make.call("_?_:_", arguments[1], step, make.result)
    return make.loop(target, names, make.list(), make.literal(True), step)


def _filter(make: Maker, target: Node, arguments: list[Node]) -> Node:
    names = _variable(arguments[0], "argument is not an identifier")
    more = make.call("_+_", make.result, make.list(arguments[0]))
    step = make.call("_?_:_", arguments[1], more, make.result)
    return make.loop(target, names, make.list(), make.literal(True), step)


def _transform(kind: str) -> _Expander:
    def build(make: Maker, target: Node, arguments: list[Node]) -> Node:
        names = _two_variables(*arguments[:2])
        value = arguments[-1]
        start = make.list() if kind == "list" else make.map()
        if kind == "list":
            step = make.call("_+_", make.result, make.list(value))
        elif kind == "map":
            step = make.call("cel.@mapInsert", make.result, make.name(names[0]), value)
        else:
            step = make.call("cel.@mapInsert", make.result, value)
        if len(arguments) == 4:
            step = make.call("_?_:_", arguments[2], step, make.result)
        return make.loop(target, names, start, make.literal(True), step)

    return build


def _opt_map(flat: bool) -> _Expander:
    def build(make: Maker, target: Node, arguments: list[Node]) -> Node:
        macro = "optFlatMap" if flat else "optMap"
        name, _ = _variable(arguments[0], f"{macro}() variable name must be a simple identifier")
        value = make.call("value", target=make.copy(target))
        inner = make.binding(name, value, arguments[1])
        inner = inner if flat else make.call("optional.of", inner)
        return make.call("_?_:_", make.call("hasValue", target=target), inner, make.call("optional.none"))

    return build


def _sort_by(make: Maker, target: Node, arguments: list[Node]) -> Node:
    if not isinstance(target, (ListLiteral, Select, Ident, Comprehension, Call)):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, text)
    keys = _map(make, make.name(_SORTED), arguments)
    return make.binding(_SORTED, target, make.call("@sortByAssociatedKeys", keys, target=make.name(_SORTED)))


_MACROS: Final[dict[tuple[str, int], _Expander]] = {
    ("all", 2): _all(1),
    ("all", 3): _all(2),
    ("exists", 2): _exists(1),
    ("exists", 3): _exists(2),
    ("exists_one", 2): _exists_one(1),
    ("exists_one", 3): _exists_one(2),
    ("existsOne", 3): _exists_one(2),
    ("filter", 2): _filter,
    ("map", 2): _map,
    ("map", 3): _map,
    ("optFlatMap", 2): _opt_map(flat=True),
    ("optMap", 2): _opt_map(flat=False),
    ("sortBy", 2): _sort_by,
    ("transformList", 3): _transform("list"),
    ("transformList", 4): _transform("list"),
    ("transformMap", 3): _transform("map"),
    ("transformMap", 4): _transform("map"),
    ("transformMapEntry", 3): _transform("entry"),
    ("transformMapEntry", 4): _transform("entry"),
}

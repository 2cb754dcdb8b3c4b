"""Type checking: assigns every node its type and every call its overloads, or reports issues."""

from __future__ import annotations

import msgspec

from setpoint.cel.declarations import Environment, Overload
from setpoint.cel.errors import CompileError, Issue
from setpoint.cel.nodes import (
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
    children,
)
from setpoint.cel.types import (  # fmt: skip
    BOOL,
    DYN,
    ERROR,
    INT,
    Solution,
    Type,
    is_dyn,
    list_of,
    map_of,
    more_general,
    optional_of,
    parameter,
    unwrapped,
)
from setpoint.cel.values import type_of_value


class Checked(msgspec.Struct):
    """An expression with the checker's results."""

    source: str
    root: Node
    environment: Environment
    types: dict[int, Type] = msgspec.field(default_factory=dict)
    overloads: dict[int, list[Overload]] = msgspec.field(default_factory=dict)
    """The possible overloads of each call, by the call's id; several if types are not known."""
    names: dict[int, Type] = msgspec.field(default_factory=dict)
    """The types that nodes name, by the ids of these nodes."""
    used: set[str] = msgspec.field(default_factory=set)
    """The environment's variables that the expression uses."""

    @property
    def type(self) -> Type:
        """The type of the whole expression."""
        return self.types[self.root.id]


def check(source: str, root: Node, environment: Environment) -> Checked:
    """Checks the tree. A selection such as ``a.b`` is replaced by one name if ``a.b`` is declared. Raises
    CompileError.
    """
    checked = Checked(source, root, environment)
    checker = _Checker(checked)
    checked.root = checker.check(root)
    for key, kind in checked.types.items():
        checked.types[key] = checker.solution.substitute(kind, free_to_dyn=True)
    if not checker.issues:
        checker.literals()
    if checker.issues:
        raise CompileError(source, checker.issues)
    return checked


class _Checker:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._environment = checked.environment
        self._locals: list[dict[str, Type]] = []
        self._free = 0
        self.solution = Solution()
        self.issues: list[Issue] = []

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _wrong(self, node: Node | Entry, message: str) -> None:
        self.issues.append(Issue(node.offset, message))

    def _is(self, node: Node, kind: Type) -> None:
        self._checked.types[node.id] = kind

    def _type(self, node: Node) -> Type:
        return self._checked.types[node.id]

    def _unknown(self) -> Type:
        self._free += 1
        return parameter(f"_var{self._free - 1}")

    def _local(self, name: str) -> Type | None:
        for scope in reversed(self._locals):
            if name in scope:
                return scope[name]
        return None

    def _resolved(self, name: str, node: Node) -> Type | None:
        """The type of a name; None if it is not declared. Records that the expression uses the variable, or that
        ``node`` names a type.
        """
        if not name.startswith("."):
            local_kind = self._local(name)
            if local_kind is not None:
                return local_kind
        definition = self._environment.name(name)
        if definition is None:
            return None
        kind, is_type = definition
        if is_type:
            self._checked.names[node.id] = kind.parameters[0]
        else:
            self._checked.used.add(name.removeprefix("."))
        return kind

    # -- nodes --------------------------------------------------------------------------------------------------------

    def check(self, node: Node) -> Node:
        """Checks the node. Returns the node, or the one that replaces it in the tree."""
        match node:
            case Literal():
                self._is(node, type_of_value(node.value))
            case Ident():
                kind = self._resolved(node.name, node)
                if kind is None:
                    self._wrong(node, f"undeclared reference to '{node.name}' (in container '')")
                self._is(node, kind or ERROR)
            case Select():
                return self._select(node)
            case Call():
                self._call(node)
            case ListLiteral():
                self._list(node)
            case MapLiteral():
                self._map(node)
            case StructLiteral():
                self._struct(node)
            case Comprehension():
                self._comprehension(node)
        return node

    def _select(self, node: Select) -> Node:
        name = _dotted(node)
        if name is not None and not node.test:
            ident = Ident(node.id, node.offset, name)
            kind = self._resolved(name, ident)
            if kind is not None:
                self._is(ident, kind)
                return ident
        node.operand = self.check(node.operand)
        kind = self._field(node, node.operand, node.field, optional=False)
        self._is(node, BOOL if node.test else self.solution.substitute(kind))
        return node

    def _field(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        target, was_optional = unwrapped(self.solution.substitute(self._type(operand)))
        kind = DYN
        if target.kind == "map":
            kind = target.parameters[1]
        elif target.kind == "struct":
            kind = self._struct_field(node, target.name, name)
        elif target.kind == "parameter":
            self.solution.assignable((DYN,), (target,))
        elif not is_dyn(target) and target.kind != "error":
            self._wrong(node, f"type '{target}' does not support field selection")
        return optional_of(kind) if was_optional or optional else kind

    def _struct_field(self, node: Node | Entry, struct: str, name: str) -> Type:
        try:
            kind = self._environment.provider.field(struct, name)
        except KeyError:
            self._wrong(node, f"unexpected failed resolution of '{struct}'")
            return ERROR
        if kind is None:
            self._wrong(node, f"undefined field '{name}'")
            return ERROR
        return kind

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            operand, field_ = node.arguments
            assert isinstance(field_, Literal)
            node.arguments[0] = operand = self.check(operand)
            self.check(field_)
            kind = self._field(node, operand, field_.value, optional=True)
            self._is(node, self.solution.substitute(kind))
            self._checked.overloads[node.id] = self._environment.functions["_?._"]
            return
        node.arguments = [self.check(argument) for argument in node.arguments]
        if node.target is not None:
            prefix = _dotted(node.target)
            if prefix is not None and f"{prefix}.{node.function}" in self._environment.functions:
                node.function, node.target = f"{prefix}.{node.function}", None
            else:
                node.target = self.check(node.target)
        overloads = self._environment.functions.get(node.function.removeprefix("."))
        if overloads is None:
            self._wrong(node, f"undeclared reference to '{node.function}' (in container '')")
            self._is(node, ERROR)
            return
        node.function = node.function.removeprefix(".")
        self._overloads(node, overloads)

    def _overloads(self, node: Call, overloads: list[Overload]) -> None:
        arguments = node.arguments if node.target is None else [node.target, *node.arguments]
        types = tuple(map(self._type, arguments))
        if node.function in ("_&&_", "_||_"):
            self._logic(node, types)
            return
        fitting: list[Overload] = []
        result: Type | None = None
        for overload in overloads:
            if overload.member != (node.target is not None):
                continue
            instance = Solution()
            for free in overload.parameters:
                instance.add(free, self._unknown())
            wanted = tuple(map(instance.substitute, overload.arguments))
            if not self.solution.assignable(types, wanted):
                continue
            fitting.append(overload)
            overload_result = self.solution.substitute(instance.substitute(overload.result))
            if result is None:
                result = overload_result
            elif not is_dyn(result) and overload_result != result:
                result = DYN
        if result is None:
            type_names = [self.solution.substitute(kind, free_to_dyn=True) for kind in types]
            before = f"{type_names.pop(0)}." if node.target is not None else ""
            signature = f"{before}({', '.join(map(str, type_names))})"
            self._wrong(node, f"found no matching overload for '{node.function}' applied to '{signature}'")
            self._is(node, ERROR)
            return
        self._checked.overloads[node.id] = fitting
        self._is(node, result)

    def _logic(self, node: Call, types: tuple[Type, ...]) -> None:
        right = True
        for argument, kind in zip(node.arguments, types, strict=True):
            if not self.solution.assignable((kind,), (BOOL,)):
                self._wrong(argument, f"expected type 'bool' but found '{kind}'")
                right = False
        self._checked.overloads[node.id] = self._environment.functions[node.function]
        self._is(node, BOOL if right else ERROR)

    def _list(self, node: ListLiteral) -> None:
        joined: Type | None = None
        node.items = [self.check(item) for item in node.items]
        for index, item in enumerate(node.items):
            kind = self._type(item)
            if index in node.optional:
                kind = self._unwrapped(item)
            joined = self._join(joined, kind)
        self._is(node, list_of(joined or self._unknown()))

    def _map(self, node: MapLiteral) -> None:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            entry.key = self.check(entry.key)
            keys = self._join(keys, self._type(entry.key))
            entry.value = self.check(entry.value)
            kind = self._unwrapped(entry.value) if entry.optional else self._type(entry.value)
            values = self._join(values, kind)
        self._is(node, map_of(keys or self._unknown(), values or self._unknown()))

    def _struct(self, node: StructLiteral) -> None:
        definition = self._environment.name(node.name)
        if definition is None:
            self._wrong(node, f"undeclared reference to '{node.name}' (in container '')")
            self._is(node, ERROR)
            return
        kind = definition[0].parameters[0] if definition[1] else ERROR
        if not definition[1]:
            self._wrong(node, f"'{definition[0]}' is not a type")
        elif kind.kind != "struct":
            self._wrong(node, f"'{kind}' is not a message type")
            kind = ERROR
        node.name = node.name.removeprefix(".")
        self._is(node, kind)
        for entry in node.entries:
            entry.value = self.check(entry.value)
            if kind == ERROR:
                continue
            wanted = self._struct_field(entry, kind.name, entry.key)
            provided = self._unwrapped(entry.value) if entry.optional else self._type(entry.value)
            if not self.solution.assignable((wanted,), (provided,)):
                text = f"expected type of field '{entry.key}' is '{wanted}' but provided type is '{provided}'"
                self._wrong(entry, text)

    def _unwrapped(self, node: Node) -> Type:
        kind, was_optional = unwrapped(self._type(node))
        if not was_optional and not is_dyn(kind):
            self._wrong(node, f"expected type '{optional_of(kind)}' but found '{kind}'")
        return kind

    def _join(self, before: Type | None, kind: Type) -> Type:
        """The common type of ``before`` and ``kind``; DYN if there is none. Whether the elements of a literal have one
        type is checked later, by `literals`, when all types are known.
        """
        if before is None:
            return kind
        if self.solution.assignable((before,), (kind,)):
            return more_general(before, kind)
        return DYN

    def _comprehension(self, node: Comprehension) -> None:
        node.range = self.check(node.range)
        node.start = self.check(node.start)
        collected = self._type(node.start)
        first, second = self._items(node)
        self._locals.append({node.accumulator: collected})
        self._locals.append({node.variable: first} | ({node.variable2: second} if node.variable2 else {}))
        node.condition = self.check(node.condition)
        self._assert(node.condition, BOOL)
        node.step = self.check(node.step)
        self._assert(node.step, collected)
        self._locals.pop()
        node.result = self.check(node.result)
        self._locals.pop()
        self._is(node, self.solution.substitute(self._type(node.result)))

    def _items(self, node: Comprehension) -> tuple[Type, Type]:
        kind = self.solution.substitute(self._type(node.range))
        if kind.kind == "list":
            return (INT, kind.parameters[0]) if node.variable2 else (kind.parameters[0], ERROR)
        if kind.kind == "map":
            return kind.parameters[0], kind.parameters[1]
        if is_dyn(kind) or kind.kind in ("error", "parameter"):
            self.solution.assignable((DYN,), (kind,))
            return DYN, DYN
        text = f"expression of type '{kind}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self._wrong(node.range, text)
        return ERROR, ERROR

    def _assert(self, node: Node, kind: Type) -> None:
        if not self.solution.assignable((kind,), (self._type(node),)):
            self._wrong(node, f"expected type '{kind}' but found '{self._type(node)}'")

    # -- literals -----------------------------------------------------------------------------------------------------

    def literals(self) -> None:
        """Checks that all items of a list literal have one type, and that all keys of a map literal have one type, as
        do all its values. Literals inside a call of ``format`` are exempt.
        """
        for node, exempt in _with_exemption(self._checked.root, False):
            if exempt:
                continue
            if isinstance(node, ListLiteral):
                places = [(item, index in node.optional) for index, item in enumerate(node.items)]
                self._same(places)
            elif isinstance(node, MapLiteral):
                self._same([(entry.key, False) for entry in node.entries])
                self._same([(entry.value, entry.optional) for entry in node.entries])

    def _same(self, places: list[tuple[Node, bool]]) -> None:
        first: Type | None = None
        for node, optional in places:
            kind = self._type(node)
            if optional:
                kind = unwrapped(kind)[0]
            if first is None:
                first = kind
            elif first != kind:
                self._wrong(node, f"expected type '{first}' but found '{kind}'")
                return


def _with_exemption(node: Node, exempt: bool) -> list[tuple[Node, bool]]:
    nodes = [(node, exempt)]
    inside = exempt or (isinstance(node, Call) and node.function == "format")
    for child in children(node):
        nodes += _with_exemption(child, inside)
    return nodes


def _dotted(node: Node) -> str | None:
    """The node as a dotted name, such as ``a.b.c``; None unless it consists of names only."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        before = _dotted(node.operand)
        return f"{before}.{node.field}" if before is not None else None
    return None

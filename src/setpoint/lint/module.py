"""One source file: its syntax tree, the names that it imports, and the functions that reconciles call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
_CONTEXTS = frozenset(("Context", "SyncContext"))


class Mistake(NamedTuple):
    """A place at which a rule is broken: the line and column, which count from 1, and a sentence with the remedy."""

    line: int
    column: int
    message: str


class Module:
    """A parsed file.

    ``reconciles`` are the functions with a parameter, after the object, whose annotation is a `setpoint.Context`, or
    that is called ``ctx``, has no annotation and comes second. ``reached`` are these, and the functions of the module
    that they call by name.

    Raises:
        SyntaxError: the text is not Python.
    """

    def __init__(self, text: str, file: Path) -> None:
        self.file = file
        self.tree = ast.parse(text, str(file))
        self.lines = text.splitlines()
        self._imports = dict(_imports(self.tree))
        self.functions = [node for node in ast.walk(self.tree) if isinstance(node, Function)]
        self.reconciles = [function for function in self.functions if self.context_of(function)]
        by_name = {function.name: function for function in self.tree.body if isinstance(function, Function)}
        self.reached: list[Function] = []
        waiting = list(self.reconciles)
        while waiting:
            function = waiting.pop()
            if function in self.reached:
                continue
            self.reached.append(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in by_name:
                    waiting.append(by_name[node.func.id])

    def context_of(self, function: Function) -> str:
        """The name of the parameter that is the context of a reconcile; empty if there is none."""
        arguments = [*function.args.posonlyargs, *function.args.args]
        if arguments and arguments[0].arg in ("self", "cls"):
            del arguments[0]
        for argument in arguments[1:]:
            note = argument.annotation
            if note is not None and self.name_of(note).rpartition(".")[2] in _CONTEXTS:
                return argument.arg if self.name_of(note).startswith("setpoint.") else ""
        second = arguments[1] if len(arguments) > 1 else None
        return "ctx" if second is not None and second.arg == "ctx" and second.annotation is None else ""

    def name_of(self, node: ast.expr) -> str:
        """The full name of an expression such as ``sp.Context``: ``setpoint.Context``; empty if it is not a name."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self.name_of(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                return ""
        if isinstance(node, ast.Subscript):
            return self.name_of(node.value)
        if isinstance(node, ast.Name):
            return self._imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.name_of(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""

    def is_imported(self, node: ast.expr) -> bool:
        """Whether the first part of a name is imported."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._imports

    def calls(self, function: Function) -> Iterator[tuple[ast.Call, str]]:
        """The calls in a function with the full names of what is called."""
        for node in own_nodes(function):
            if isinstance(node, ast.Call):
                yield node, self.name_of(node.func)


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions and lambdas in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def at(node: ast.expr | ast.stmt | ast.ExceptHandler, message: str) -> Mistake:
    """A mistake at the place of a node."""
    return Mistake(node.lineno, node.col_offset + 1, message)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield (
                    name.asname or name.name.partition(".")[0],
                    name.name if name.asname else name.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"

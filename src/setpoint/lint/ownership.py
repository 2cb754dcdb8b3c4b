"""Children whose kind the controller does not declare."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from setpoint.lint.module import Function, Mistake, Module, at

_DECLARATIONS: Final = frozenset(("owns", "watches", "needs", "reads"))
_WRITES: Final = frozenset(("create", "apply", "keep"))


def missing_owns(module: Module) -> Iterator[Mistake]:
    """Kinds of which a reconcile creates children, and of which its controller declares nothing: a child that a user
    deletes stays away. Controllers are looked for in the module of their reconcile.
    """
    functions = {function.name: function for function in module.reconciles}
    declared = _declared(module)
    for name, kinds in declared.items():
        if name not in functions or kinds is None:
            continue
        function = functions[name]
        for kind, call in _children(module, function):
            if kind.rpartition(".")[2] not in kinds:
                short = kind.rpartition(".")[2]
                yield at(
                    call, f"the controller of {name} does not declare .owns({short}): a deleted one is not replaced"
                )


def _declared(module: Module) -> dict[str, set[str] | None]:
    """The kinds that are declared for each function that is the reconcile of a controller; None if not all calls are
    seen.
    """
    declarations: dict[str, set[str] | None] = {}
    variables: dict[str, str] = {}
    for statement in ast.walk(module.tree):
        if not isinstance(statement, ast.Assign | ast.Expr | ast.Return) or statement.value is None:
            continue
        for node in ast.walk(statement.value):
            if not isinstance(node, ast.Call):
                continue
            if module.name_of(node.func) in ("setpoint.Controller", "setpoint.controller.Controller"):
                function = node.args[1] if len(node.args) > 1 else None
                if not isinstance(function, ast.Name):
                    continue
                kinds = declarations.setdefault(function.id, set())
                if kinds is not None:
                    kinds |= _in_chain(module, statement.value)
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    variables[statement.targets[0].id] = function.id
                elif not isinstance(statement, ast.Expr):
                    continue
    for node in ast.walk(module.tree):  # declarations that follow on a variable
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DECLARATIONS:
            base: ast.expr = node.func.value
            while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
                base = base.func.value
            if (
                isinstance(base, ast.Name)
                and (name := variables.get(base.id))
                and (kinds := declarations.get(name)) is not None
            ):
                kinds |= _in_chain(module, node)
    return declarations


def _in_chain(module: Module, expression: ast.expr) -> set[str]:
    return {
        module.name_of(call.args[0]).rpartition(".")[2]
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _DECLARATIONS
        and call.args
    }  # fmt: skip


def _children(module: Module, function: Function) -> Iterator[tuple[str, ast.Call]]:
    context = module.context_of(function)
    for call, _ in module.calls(function):
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _WRITES or not call.args:
            continue
        if not isinstance(call.func.value, ast.Name) or call.func.value.id != context:
            continue
        child = call.args[0]
        if isinstance(child, ast.Call):
            child = child.func
            child = child.value if isinstance(child, ast.Attribute) and child.attr == "named" else child
        elif call.func.attr != "keep":
            continue
        kind = module.name_of(child)
        if kind.rpartition(".")[2][:1].isupper():
            yield kind, call

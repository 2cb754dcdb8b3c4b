"""Module-level state that reconciles change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from setpoint.lint.module import Mistake, Module, at, own_nodes

_CHANGES: Final = frozenset((
    *("append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse"),
    *("add", "discard", "update", "setdefault", "appendleft", "popleft"),
))  # fmt: skip
_MAKERS: Final = frozenset(("dict", "list", "set", "deque", "defaultdict", "Counter", "OrderedDict"))


def module_state(module: Module) -> Iterator[Mistake]:
    """Changes of module-level names in a reconcile: a restart and a new leader begin without them."""
    containers = set(_containers(module))
    for function in module.reached:
        names = {name for node in own_nodes(function) if isinstance(node, ast.Global) for name in node.names}
        local = {
            argument.arg for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        }
        local |= {
            node.id for node in own_nodes(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } - names
        for node in own_nodes(function):
            changed = ""
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names:
                changed = node.id
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                changed = node.value.id if isinstance(node.value, ast.Name) and node.value.id in containers else ""
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
                base = node.func.value
                changed = base.id if isinstance(base, ast.Name) and base.id in containers else ""
            if changed and changed not in local:
                text = f"{changed} is changed by reconciles, and lost at a restart and with a new leader"
                yield at(node, f"{text}: store it in the status or an object")  # type: ignore[arg-type]


def _containers(module: Module) -> Iterator[str]:
    for statement in module.tree.body:
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        is_call = isinstance(value, ast.Call) and module.name_of(value.func).rpartition(".")[2] in _MAKERS
        if is_call or isinstance(value, ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp):
            assert isinstance(statement, ast.Assign | ast.AnnAssign)
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                if isinstance(target, ast.Name):
                    yield target.id

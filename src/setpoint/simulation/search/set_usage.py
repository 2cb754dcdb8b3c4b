"""Set usage: detects whether the user's code uses sets, whose order differs between processes."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from setpoint.simulation.scenario.simulation_options import Setup
from setpoint.testing.user_code import is_users_file

HASH_SEEDS: Final = (1, 2, 3)
"""The values of PYTHONHASHSEED to try. About half of all values change the order of two strings in a set."""
_NAMES: Final = frozenset({"set", "frozenset", "hash"})
_OF_SETS: Final = (ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor)


def uses_sets(setup: Setup) -> bool:
    """Whether the user's modules create sets or compute hashes: the modules of the scenario, the factory and the
    controllers, and the modules whose names these use. If a module can't be read, the answer is true.
    """
    functions: list[Any] = [setup.scenario, setup.factory]
    for controller in setup.controllers():
        functions += [controller.reconcile, controller.finalizer_function]
    modules = [
        sys.modules.get(getattr(inspect.unwrap(function), "__module__", "") or "") for function in functions if function
    ]
    files: set[str] = set()
    while modules:
        module = modules.pop()
        file = getattr(module, "__file__", None)
        if not isinstance(module, ModuleType) or not file or not is_users_file(file) or file in files:
            continue
        files.add(file)
        if _makes_sets(Path(file)):
            return True
        for value in list(vars(module).values()):
            modules.append(value if isinstance(value, ModuleType) else sys.modules.get(_module_of(value)))
    return False


def _module_of(value: object) -> str:
    name = getattr(value, "__module__", "")
    return name if isinstance(name, str) else ""


def _makes_sets(file: Path) -> bool:
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return True
    return any(_is_set(node) for node in ast.walk(tree))


def _is_set(node: ast.AST) -> bool:
    if isinstance(node, ast.Set):
        # A constant set that is only asked whether something is in it has no order.
        return not all(isinstance(item, ast.Constant) for item in node.elts)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _NAMES
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OF_SETS):
        return any(
            isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) and side.func.attr in ("keys", "items")
            for side in (node.left, node.right)
        )
    return isinstance(node, ast.SetComp)

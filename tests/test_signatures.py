"""Functions take few parameters, and none of them hides a program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src" / "setpoint"
PARAMETERS = 9
"""The most parameters of a function, without self."""
CLOSURE = 200
"""The lines that a function within a function may have."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Function(NamedTuple):
    name: str
    parameters: int
    lines: int
    is_nested: bool


def functions(node: ast.AST, name: str, parent: ast.AST | None = None) -> Iterator[Function]:
    """The functions below ``node``; ``parent`` is the class or function in which it stands."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            own = f"{name}:{child.lineno} {child.name}"
            given = child.args
            parameters = [entry.arg for entry in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            if isinstance(parent, ast.ClassDef) and parameters and parameters[0] in ("self", "cls"):
                parameters = parameters[1:]
            lines = (child.end_lineno or child.lineno) - child.lineno + 1
            yield Function(own, len(parameters), lines, isinstance(parent, FunctionNode))
            yield from functions(child, name, child)
        else:
            yield from functions(child, name, child if isinstance(child, ast.ClassDef) else parent)


def all_functions() -> list[Function]:
    current_functions: list[Function] = []
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text("utf-8")
        if not text.startswith("# Generated"):
            current_functions += functions(ast.parse(text), str(file.relative_to(SOURCE)))
    return current_functions


def test_the_count_leaves_self_out_and_sees_nested_functions() -> None:
    tree = ast.parse("class A:\n def f(self, a, /, b, *c, d, **e):\n  if a:\n   async def g(self): ...\n")
    assert [(f.parameters, f.is_nested) for f in functions(tree, "x")] == [(3, False), (1, True)]


def test_no_function_has_more_parameters_than_a_reader_can_follow() -> None:
    # The package of controllers has limits of its own.
    assert [f for f in all_functions() if f.parameters > PARAMETERS and not f.name.startswith("controller/")] == []


def test_no_function_within_a_function_is_a_program_of_its_own() -> None:
    assert [f for f in all_functions() if f.is_nested and f.lines > CLOSURE] == []

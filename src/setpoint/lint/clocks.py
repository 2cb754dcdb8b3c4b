"""Clocks and random numbers that are not those of the context, and times in a status."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from setpoint.lint.module import Function, Mistake, Module, at

_CLOCKS: Final = frozenset((
    *("time.time", "time.time_ns", "time.localtime", "time.gmtime"),
    *(f"datetime.{name}" for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")),
))  # fmt: skip
_TEXTS: Final = frozenset(("str", "int", "setpoint.meta.format_time"))
_RANDOM: Final = frozenset(("uuid.uuid1", "uuid.uuid4", "os.urandom"))


def unreplayable(module: Module) -> Iterator[Mistake]:
    """Reads of the machine's clock and random numbers in a reconcile, or in functions that it calls. Those of `secrets`
    are for passwords, which have to be like this.
    """
    for function in module.reached:
        for call, name in module.calls(function):
            if not module.is_imported(call.func):
                continue
            if name in _CLOCKS:
                yield at(call, f"{name} reads the machine's clock: use ctx.now(), which is virtual in tests")
            elif name in _RANDOM or name.startswith("random."):
                yield at(call, f"{name} differs in each run: use ctx.random, or derive the value from the object's uid")


def status_times(module: Module) -> Iterator[Mistake]:
    """Times that every reconcile writes into the status: each write starts the next reconcile."""
    for function in module.reconciles:
        context = module.context_of(function)
        for statement in _unconditional(function):
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if not any(
                isinstance(target, ast.Attribute) and ".status" in f".{ast.unparse(target)}" for target in targets
            ):
                continue
            if _is_time(module, statement.value, f"{context}.now"):
                text = "the status contains the time of every reconcile, so it never stops changing: write a time only "
                yield at(statement, f"{text}when the fact that it dates changes, or into a condition")


def _is_time(module: Module, value: ast.expr, now: str) -> bool:
    """Whether the value is the time of now, also as text, or in sum with a duration."""
    if isinstance(value, ast.Call):
        if ast.unparse(value.func) == now or module.name_of(value.func) in _CLOCKS:
            return True
        if isinstance(value.func, ast.Attribute) and _is_time(module, value.func.value, now):
            return True
        return module.name_of(value.func) in _TEXTS and any(_is_time(module, part, now) for part in value.args)
    if isinstance(value, ast.BinOp):
        return _is_time(module, value.left, now) or _is_time(module, value.right, now)
    if isinstance(value, ast.JoinedStr):
        parts = [part.value for part in value.values if isinstance(part, ast.FormattedValue)]
        return any(_is_time(module, part, now) for part in parts)
    return False


def _unconditional(function: Function) -> Iterator[ast.stmt]:
    """The statements that every call reaches: those before the first ``return``."""
    for statement in function.body:
        if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
            return
        yield statement
        if isinstance(statement, ast.With | ast.AsyncWith):
            yield from statement.body

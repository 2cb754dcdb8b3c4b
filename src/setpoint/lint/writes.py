"""Writes of reconciles: names, owners, conflicts, and lists of everything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from setpoint.lint.module import Function, Mistake, Module, at, own_nodes

_REVIEWS: Final = ("Review", "TokenRequest", "Event", "Binding", "Eviction")
_LIMITS: Final = frozenset(("namespace", "selector", "label_selector", "field_selector", "labels", "fields", "limit"))


def anonymous_creates(module: Module) -> Iterator[Mistake]:
    """Objects that a reconcile creates with a generated name, or with the client, which sets no owner."""
    for function in module.reconciles:
        for call, text in _context_calls(module, function, "create"):
            if any(isinstance(node, ast.keyword) and node.arg == "generate_name" for node in ast.walk(call)):
                yield at(
                    call,
                    "a generated name: a repeated reconcile creates another object. Derive the name from the owner",
                )
            elif ".client." in text and call.args and not _is_exempt(call):
                yield at(
                    call,
                    f"{text} sets no owner, so the object stays when its owner is deleted: use ctx.create or ctx.apply",
                )


def caught_conflicts(module: Module) -> Iterator[Mistake]:
    """Conflicts that a reconcile swallows: its decision was made for another state of the object."""
    for function in module.reached:
        for node in own_nodes(function):
            if not isinstance(node, ast.ExceptHandler) or node.type is None:
                continue
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = [module.name_of(kind) for kind in kinds]
            if not any(name.startswith("setpoint.") and name.endswith(".Conflict") for name in names):
                continue
            if all(isinstance(statement, ast.Pass | ast.Expr) for statement in node.body):
                yield at(
                    node, "a conflict is swallowed: let it be raised, and the key is reconciled again with new reads"
                )


def whole_lists(module: Module) -> Iterator[Mistake]:
    """Lists of all objects of a kind that every reconcile requests from the API server."""
    for function in module.reconciles:
        nested = {id(node) for part in function.body for node in _nested(part)}
        for call, text in _context_calls(module, function, "list"):
            if (
                id(call) not in nested
                and ".client." in text
                and not any(keyword.arg in _LIMITS for keyword in call.keywords)
            ):
                remedy = "declare .reads(Kind) or .watches(Kind, ...) and use ctx.list, which reads the cache"
                yield at(
                    call, f"{text} requests all objects in each reconcile, and is not started by changes: {remedy}"
                )


def _nested(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that are reached only under a condition."""
    for node in ast.walk(statement):
        if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.Match):
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
                    yield from ast.walk(part)


def _context_calls(module: Module, function: Function, verb: str) -> Iterator[tuple[ast.Call, str]]:
    """The calls of ``ctx.VERB`` and ``ctx.client.VERB``, with their text."""
    context = module.context_of(function)
    wanted = f"{context}.{verb}", f"{context}.client.{verb}"
    for call, _ in module.calls(function):
        if (text := ast.unparse(call.func)) in wanted:
            yield call, text


def _is_exempt(call: ast.Call) -> bool:
    """Whether the object is a review, which is not stored, or says its owner itself, or is made elsewhere."""
    value = call.args[0]
    if not isinstance(value, ast.Call) or "owner" in ast.unparse(call):
        return True
    name = ast.unparse(value.func).removesuffix(".named").rpartition(".")[2]
    return name.endswith(_REVIEWS)

"""The handlers in the source of a kopf operator, and the resources that they are for; nothing is executed."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["ADMISSION", "FINALIZE", "PROGRAM", "RECONCILE", "WATCH", "Handler", "handlers_in"]

RECONCILE: Final = ("create", "update", "resume", "field", "timer", "daemon")
FINALIZE: Final = ("delete",)
ADMISSION: Final = ("validate", "mutate")
WATCH: Final = ("event", "index")
PROGRAM: Final = ("startup", "cleanup", "login", "probe")
_ALL: Final = (*RECONCILE, *FINALIZE, *ADMISSION, *WATCH, *PROGRAM)
_BESIDE: Final = ("timer", "daemon", "index")
"""The decorators that are in ``kopf`` itself; all others are in ``kopf.on``."""
_SELECTING: Final = ("group", "version", "plural", "kind", "singular")


@dataclass(frozen=True)
class Handler:
    """A decorated function; one that handles several things is several of these."""

    what: str
    resource: tuple[str, str, str]
    """Group, version, and plural (or kind, or singular); empty where the source doesn't say, as for handlers of the
    program."""
    name: str
    source: str
    line: int


def handlers_in(tree: ast.Module, source: str) -> list[Handler]:
    """The handlers, in the order of their lines.

    Resources may be given in all ways of kopf, by texts and by constants of the module. ``kopf`` may have another name
    there, and so may what is imported from it.
    """
    constants = _constants(tree)
    names = _decorators(tree)
    lines = source.splitlines()
    found: list[Handler] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            what = names.get(ast.unparse(decorator if call is None else call.func))
            if what is None:
                continue
            resource = ("", "", "") if what in PROGRAM or call is None else _resource(call, constants)
            text = "\n".join(lines[node.decorator_list[0].lineno - 1 : node.end_lineno])
            found.append(Handler(what, resource, node.name, textwrap.dedent(text), node.lineno))
    return sorted(found, key=lambda handler: (handler.line, _ALL.index(handler.what)))


def _decorators(tree: ast.Module) -> dict[str, str]:
    """The expressions that are decorators of kopf in this module, such as ``kopf.on.create``, and what each handles."""
    modules, ons, found = {"kopf"}, set[str](), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname for each in node.names if each.name == "kopf" and each.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "kopf":
            for each in node.names:
                if each.name == "on":
                    ons.add(each.asname or "on")
                elif each.name in _BESIDE:
                    found[each.asname or each.name] = each.name
        elif isinstance(node, ast.ImportFrom) and node.module == "kopf.on":
            found |= {each.asname or each.name: each.name for each in node.names if each.name in _ALL}
    ons |= {f"{module}.on" for module in modules}
    found |= {f"{on}.{what}": what for on in ons for what in _ALL}
    return found | {f"{module}.{what}": what for module in modules for what in _BESIDE}


def _constants(tree: ast.Module) -> dict[str, str]:
    """The texts that the module's names have, also those of classes, as ``Names.GROUP``."""
    found: dict[str, str] = {}
    scopes: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    scopes += [(f"{each.name}.", each.body) for each in tree.body if isinstance(each, ast.ClassDef)]
    for prefix, body in scopes:
        for statement in body:
            targets: list[ast.expr] = []
            if isinstance(statement, ast.Assign):
                targets = statement.targets
            elif isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            value = None if not targets else _text(statement.value, found)  # type: ignore[attr-defined]
            for target in targets:
                if isinstance(target, ast.Name) and value is not None:
                    found[prefix + target.id] = value
    return found


def _text(node: ast.expr | None, constants: Mapping[str, str]) -> str | None:
    """The text that an expression surely is; None for any other."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name | ast.Attribute):
        return constants.get(ast.unparse(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left, constants), _text(node.right, constants)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        parts = [_text(each.value if isinstance(each, ast.FormattedValue) else each, constants) for each in node.values]
        return None if None in parts else "".join(each or "" for each in parts)
    return None


def _resource(call: ast.Call, constants: Mapping[str, str]) -> tuple[str, str, str]:
    """Group, version and plural, in any of the ways that kopf takes them."""
    texts = [_text(each, constants) for each in call.args]
    named = {
        each.arg: text
        for each in call.keywords
        if each.arg in _SELECTING and (text := _text(each.value, constants)) is not None
    }
    if None in texts:
        return "", "", ""
    given = [text for text in texts if text is not None]
    if len(given) == 3:
        return given[0], given[1], given[2]
    if len(given) == 2:
        group, _, version = given[0].rpartition("/")
        return (group, version, given[1]) if group else (given[0], "", given[1])
    if len(given) == 1 and "." in given[0]:
        plural, _, rest = given[0].partition(".")
        version, _, group = rest.partition(".")
        return (group, version, plural) if version.startswith("v") and group else (rest, "", plural)
    plural = named.get("plural") or named.get("kind") or named.get("singular") or (given[0] if given else "")
    return named.get("group", ""), named.get("version", ""), plural

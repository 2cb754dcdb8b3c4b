"""The handlers in the source of a kopf operator, and the resources that they handle; nothing is executed."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from setpoint.scaffold.kopf_constants import Constants

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
    """A decorated function and one event that it handles. A function with several decorators has a Handler for each."""

    event: str
    resource: tuple[str, str, str]
    """Group, version, and plural (or kind, or singular). Each is empty if the source doesn't give it, for example for
    handlers of the program itself.
    """
    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    source: str
    line: int
    unknown: str = ""
    """The decorator, if it names a resource by a value that is known only when the program runs; otherwise ``""``."""


def handlers_in(tree: ast.Module, source: str, place: Path) -> list[Handler]:
    """The handlers, in the order of their lines.

    A resource may be given in any form that kopf accepts, as literal text or through constants of the module or of
    neighbouring modules. The module may import ``kopf``, and names from it, under other names.
    """
    constants = Constants(tree, place)
    names = _decorators(tree)
    lines = source.splitlines()
    handlers: list[Handler] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            event = names.get(ast.unparse(decorator if call is None else call.func))
            if event is None:
                continue
            selected = call is not None and event not in PROGRAM
            resource = _resource(call, constants) if call is not None and selected else ("", "", "")
            text = "\n".join(lines[node.decorator_list[0].lineno - 1 : node.end_lineno])
            unknown = ast.unparse(decorator) if selected and not resource[2] else ""
            handlers.append(Handler(event, resource, node.name, node, textwrap.dedent(text), node.lineno, unknown))
    return sorted(handlers, key=lambda handler: (handler.line, _ALL.index(handler.event)))


def _decorators(tree: ast.Module) -> dict[str, str]:
    """The expressions that stand for kopf's decorators in this module, such as ``kopf.on.create``, each with the
    decorator's name in kopf, such as ``create``.
    """
    modules, ons, decorators = {"kopf"}, set[str](), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname for alias in node.names if alias.name == "kopf" and alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module == "kopf":
            for alias in node.names:
                if alias.name == "on":
                    ons.add(alias.asname or "on")
                elif alias.name in _BESIDE:
                    decorators[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module == "kopf.on":
            decorators |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in _ALL}
    ons |= {f"{module}.on" for module in modules}
    decorators |= {f"{on}.{event}": event for on in ons for event in _ALL}
    return decorators | {f"{module}.{event}": event for module in modules for event in _BESIDE}


def _resource(call: ast.Call, constants: Constants) -> tuple[str, str, str]:
    """The group, version and plural, in any of the ways that kopf accepts; each of them is empty if it can't be
    determined.
    """
    texts = [text for argument in call.args for text in constants.texts(argument)]
    named = {keyword.arg: constants.text(keyword.value) or "" for keyword in call.keywords if keyword.arg in _SELECTING}
    if len(texts) == 3:
        return texts[0] or "", texts[1] or "", texts[2] or ""
    if len(texts) == 2:
        group, _, version = (texts[0] or "").rpartition("/")
        return (group, version, texts[1] or "") if group else (version, "", texts[1] or "")
    only = texts[0] or "" if len(texts) == 1 else ""
    if "." in only:
        plural, _, rest = only.partition(".")
        version, _, group = rest.partition(".")
        return (group, version, plural) if version.startswith("v") and group else (rest, "", plural)
    plural = named.get("plural") or named.get("kind") or named.get("singular") or only
    return named.get("group", ""), named.get("version", ""), plural

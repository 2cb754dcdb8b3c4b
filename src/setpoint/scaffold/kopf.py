"""The port of a kopf operator: its handlers are found in the source, and become comments where their work belongs.

Nothing is executed. Handlers of one custom resource become one controller: creations, updates, resumes and timers its
reconcile, deletions its clean-up, checks and defaults of admission its webhooks, others notes about declarations.
"""

from __future__ import annotations

import ast
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from setpoint.deploy.tree import File
from setpoint.scaffold.names import KindName
from setpoint.scaffold.project import Api, Project
from setpoint.scaffold.templates import template, words

__all__ = ["KopfProblem", "Port", "ported"]

_RECONCILE: Final = ("create", "update", "resume", "field", "timer", "daemon")
_FINALIZE: Final = ("delete",)
_ADMISSION: Final = ("validate", "mutate")
_WATCH: Final = ("event", "index")
_PROGRAM: Final = ("startup", "cleanup", "login", "probe")
_ALL: Final = (*_RECONCILE, *_FINALIZE, *_ADMISSION, *_WATCH, *_PROGRAM)
_TYPES: Final = {"bool": bool, "int": int, "float": float, "str": str}
_ABOUT: Final = {
    "create": "was called when an object was created",
    "update": "was called when an object had changed; compare with what is there instead of with what was",
    "resume": "was called for every object at the start, as a reconcile is anyway",
    "field": "was called when this field had changed",
    "timer": "was called at intervals: return sp.after(seconds) for that",
    "daemon": "ran as long as the object: start what it did elsewhere, or return sp.after(seconds)",
    "delete": "was called when an object was to be deleted",
    "validate": "checked objects before they were stored: review.invalid(field, value, why) in an sp.Admission",
    "mutate": "changed objects before they were stored: sp.Admission(...).defaults(function)",
    "event": "was called for every event: controller.watches(Kind, map), or a predicate",
    "index": "was an index: controller.index(name, function)",
    "startup": "was called at the start: the part before yield of a lifespan of sp.main (docs/programs.md)",
    "cleanup": "was called at the end: the part after yield of a lifespan of sp.main (docs/programs.md)",
    "login": "gave credentials: setpoint reads kubeconfig files and accounts of pods itself",
    "probe": "was a health check: program.manager.readyz.add(name, check) in a lifespan",
}


class KopfProblem(Exception):
    """A file can't be ported; the message names it and the reason."""


@dataclass(frozen=True)
class _Handler:
    what: str
    resource: tuple[str, str, str]
    """Group, version, plural; empty for handlers of the program."""
    name: str
    source: str
    line: int


@dataclass
class _Kind:
    handlers: list[_Handler] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Port:
    """The custom resources and handlers of a kopf operator."""

    group: str
    apis: tuple[Api, ...]
    _kinds: dict[str, _Kind]
    _others: tuple[_Handler, ...]

    def files(self, project: Project, api: Api) -> dict[str, File]:
        """The files of a kind, with its handlers as comments; the first kind has those of the program and of kinds that
        are not the operator's own, too."""
        kind = self._kinds[api.kind]
        others = [each for each in self._others if api is self.apis[0] or api == self.apis[0]]
        found = template("kopf", words(project.names, project.kind_names(api)))
        module = project.kind_names(api).module
        package = f"src/{project.names.package}/{module}"
        fields = [f"    {name}: {annotation}" for name, annotation in sorted(kind.fields.items())]
        blocks = {
            "    # RECONCILE\n": _comments(kind.handlers, _RECONCILE, "    "),
            "    # FINALIZE\n": _comments(kind.handlers, _FINALIZE, "    "),
            "# DECLARE\n": _comments([*kind.handlers, *others], (*_ADMISSION, *_WATCH, *_PROGRAM), "")
            + _comments(others, (*_RECONCILE, *_FINALIZE), "", foreign=True),
            "\n    FIELDS: Any\n": "".join(f"\n{line}" for line in fields) + ("\n" if fields else ""),
        }
        for path, file in found.items():
            text = file.text
            for marker, block in blocks.items():
                text = text.replace(marker, block)
            if path == f"{package}/types.py" and "Any" not in "".join(fields):
                text = text.replace("from typing import Any\n\n", "")
            if path == f"{package}/controller.py" and not any(each.what in _FINALIZE for each in kind.handlers):
                text = _without_clean_up(text)
            found[path] = File(text.rstrip("\n") + "\n" if text.strip() else text, once=True)
        return found


def ported(path: Path) -> Port:
    """The custom resources and handlers in a kopf operator's file.

    Raises:
        KopfProblem: the file can't be read, is not Python, or has no handlers of custom resources.
        NameProblem: a kind has no valid name.
    """
    try:
        source = path.read_text("utf-8")
        tree = ast.parse(source, str(path))
    except OSError as problem:
        raise KopfProblem(f"{path}: {problem.strerror}") from None
    except (SyntaxError, ValueError) as problem:
        raise KopfProblem(f"{path}: not a Python file: {problem}") from None
    handlers = [handler for node in ast.walk(tree) for handler in _handlers(node, source)]
    handlers.sort(key=lambda handler: (handler.line, _ALL.index(handler.what)))
    kinds: dict[str, _Kind] = defaultdict(_Kind)
    apis: dict[str, Api] = {}
    groups: list[str] = []
    others: list[_Handler] = []
    for handler in handlers:
        group, version, plural = handler.resource
        if "." not in group or group.endswith(".k8s.io"):
            others.append(handler)
            continue
        groups.append(group)
        if group != groups[0]:
            raise KopfProblem(
                f"{path}:{handler.line}: handlers of two groups, {groups[0]} and {group}; port them separately"
            )
        kind = _kind_of(plural)
        names = KindName(kind, version or "v1", group)
        apis.setdefault(kind, Api(kind, names.version, plural=plural if plural != names.plural else ""))
        kinds[kind].handlers.append(handler)
        for name, annotation in _fields(handler.source):
            known = kinds[kind].fields.get(name, annotation)
            kinds[kind].fields[name] = known if not known.startswith("Any") else annotation
    if not apis:
        raise KopfProblem(
            f"{path}: no handlers of a custom resource, such as @kopf.on.create('example.com', 'v1', 'shops')"
        )
    return Port(groups[0], tuple(apis.values()), dict(kinds), tuple(others))


def _handlers(node: ast.AST, source: str) -> list[_Handler]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    found = []
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        parts = ast.unparse(call.func if call is not None else decorator).split(".")
        what = parts[-1]
        if parts[:-1] not in (["kopf", "on"], ["kopf"], ["on"]) or what not in _ALL:
            continue
        resource = ("", "", "") if what in _PROGRAM or call is None else _resource(call)
        lines = source.splitlines()[node.decorator_list[0].lineno - 1 : node.end_lineno]
        found.append(_Handler(what, resource, node.name, textwrap.dedent("\n".join(lines)), node.lineno))
    return found


def _resource(call: ast.Call) -> tuple[str, str, str]:
    """Group, version and plural, in any of the ways that kopf takes them."""
    given = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    named = {
        each.arg: each.value.value
        for each in call.keywords
        if each.arg in ("group", "version", "plural", "kind", "singular")
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
    }
    if len(given) == 3:
        return given[0], given[1], given[2]
    if len(given) == 2:
        group, _, version = given[0].rpartition("/")
        return (group, version, given[1]) if group else (given[0], "", given[1])
    if len(given) == 1 and "." in given[0]:
        plural, _, rest = given[0].partition(".")
        version, _, group = rest.partition(".")
        return (group, version, plural) if version.startswith("v") and group else (rest, "", plural)
    plural = named.get("plural") or named.get("kind", named.get("singular", "")) or (given[0] if given else "")
    return named.get("group", ""), named.get("version", ""), plural


def _kind_of(plural: str) -> str:
    word = plural
    if word.islower() and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.islower() and word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.islower() and word.endswith("s"):
        word = word[:-1]
    return "".join(part[:1].upper() + part[1:] for part in word.replace("_", "-").split("-"))


def _fields(source: str) -> list[tuple[str, str]]:
    """The fields of ``spec`` that a handler reads, with types guessed from their defaults."""
    found: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(source)):
        name: object = None
        default: object = None
        if isinstance(node, ast.Subscript) and _is_spec(node.value) and isinstance(node.slice, ast.Constant):
            name = node.slice.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and _is_spec(node.func.value)
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            name = node.args[0].value
            if len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
                default = node.args[1].value
        if isinstance(name, str) and _snake(name).isidentifier():
            kind = next((word for word, each in _TYPES.items() if type(default) is each), "")
            found.append((_snake(name), f"{kind} = {default!r}" if kind else "Any = None"))
    return found


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).lstrip("_")


def _is_spec(node: ast.expr) -> bool:
    """``spec``, or ``body["spec"]`` of it."""
    if isinstance(node, ast.Name):
        return node.id == "spec"
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "spec"


def _comments(handlers: list[_Handler], kinds: tuple[str, ...], indent: str, *, foreign: bool = False) -> str:
    """Each function once, also where it handles several things."""
    functions: dict[tuple[str, int], list[_Handler]] = defaultdict(list)
    for handler in handlers:
        if handler.what in kinds:
            functions[handler.name, handler.line].append(handler)
    text = ""
    for (name, line), found in functions.items():
        whats = ", ".join(handler.what for handler in found)
        about = f"watched {found[0].resource[2]}: controller.watches(Kind, map)" if foreign else _ABOUT[found[-1].what]
        lines = [f"{name} (kopf, line {line}: {whats}) {about}", "", *found[0].source.splitlines()]
        text += "".join(f"{indent}# {each}".rstrip() + "\n" for each in lines) + (f"{indent}#\n" if indent else "\n")
    return text


def _without_clean_up(text: str) -> str:
    start = text.index("async def clean_up(")
    end = text.index("controller = ")
    return (text[:start] + text[end:]).replace(".finalize(clean_up)", "")

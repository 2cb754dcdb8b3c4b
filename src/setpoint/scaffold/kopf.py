"""The port of a kopf operator: its handlers are found in the source, and become comments where their work belongs.

Nothing is executed. Handlers of one custom resource become one controller: creations, updates, resumes and timers its
reconcile, deletions its clean-up, checks and defaults of admission its webhooks, others notes about declarations.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from setpoint.deploy.tree import File
from setpoint.scaffold.kopf_handlers import ADMISSION, FINALIZE, PROGRAM, RECONCILE, WATCH, Handler, handlers_in
from setpoint.scaffold.names import KindName
from setpoint.scaffold.project import Api, Project
from setpoint.scaffold.templates import template, words

__all__ = ["KopfProblem", "Port", "ported"]

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


@dataclass
class _Kind:
    handlers: list[Handler] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Port:
    """The custom resources and handlers of a kopf operator."""

    group: str
    apis: tuple[Api, ...]
    _kinds: dict[str, _Kind]
    _others: tuple[Handler, ...]

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
            "    # RECONCILE\n": _comments(kind.handlers, RECONCILE, "    "),
            "    # FINALIZE\n": _comments(kind.handlers, FINALIZE, "    "),
            "# DECLARE\n": _comments([*kind.handlers, *others], (*ADMISSION, *WATCH, *PROGRAM), "")
            + _comments(others, (*RECONCILE, *FINALIZE), "", foreign=True),
            "\n    FIELDS: Any\n": "".join(f"\n{line}" for line in fields) + ("\n" if fields else ""),
        }
        for path, file in found.items():
            text = file.text
            for marker, block in blocks.items():
                text = text.replace(marker, block)
            if path == f"{package}/types.py" and "Any" not in "".join(fields):
                text = text.replace("from typing import Any\n\n", "")
            if path == f"{package}/controller.py" and not any(each.what in FINALIZE for each in kind.handlers):
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
    handlers = handlers_in(tree, source)
    kinds: dict[str, _Kind] = defaultdict(_Kind)
    apis: dict[str, Api] = {}
    groups: list[str] = []
    others: list[Handler] = []
    spelled = _spelled(handler.resource[2] for handler in handlers)
    for handler in handlers:
        group, version, name = handler.resource
        if _is_own(group):
            groups.append(group)
            if group != groups[0]:
                raise KopfProblem(
                    f"{path}:{handler.line}: handlers of two groups, {groups[0]} and {group}; port them separately"
                )
            kind = spelled[_kind_of(name).lower()]
            known = apis.get(kind)
            names = KindName(kind, version or (known.version if known is not None else "v1"), group)
            plural = name if name.islower() and name != kind.lower() else known.plural if known is not None else ""
            apis[kind] = Api(kind, names.version, plural=plural if plural != names.plural else "")
    for handler in handlers:
        group, _, name = handler.resource
        own = spelled[_kind_of(name).lower()]
        if own not in apis or (group and not _is_own(group)):
            others.append(handler)
            continue
        # Most handlers give the plural alone, as kopf's own examples do: it is the resource that has a group elsewhere.
        kinds[own].handlers.append(handler)
        for field_name, annotation in _fields(handler.source):
            noted = kinds[own].fields.get(field_name, annotation)
            kinds[own].fields[field_name] = noted if not noted.startswith("Any") else annotation
    if not apis:
        raise KopfProblem(
            f"{path}: no handlers of a custom resource, such as @kopf.on.create('example.com', 'v1', 'shops')"
        )
    return Port(groups[0], tuple(apis.values()), dict(kinds), tuple(others))


def _spelled(names: Iterable[str]) -> dict[str, str]:
    """The kinds of these plurals, kinds and singulars by their lower-case names. Only a kind says where its words
    begin."""
    found: dict[str, str] = {}
    for kind in map(_kind_of, names):
        known = found.setdefault(kind.lower(), kind)
        found[kind.lower()] = max(known, kind, key=lambda each: sum(map(str.isupper, each)))
    return found


def _is_own(group: str) -> bool:
    """Whether the group is one of custom resources."""
    return "." in group and not group.endswith(".k8s.io")


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


def _comments(handlers: list[Handler], kinds: tuple[str, ...], indent: str, *, foreign: bool = False) -> str:
    """Each function once, also where it handles several things."""
    functions: dict[tuple[str, int], list[Handler]] = defaultdict(list)
    for handler in handlers:
        if handler.what in kinds:
            functions[handler.name, handler.line].append(handler)
    text = ""
    for (name, line), found in functions.items():
        whats = ", ".join(handler.what for handler in found)
        about = _ABOUT[found[-1].what]
        if foreign:
            watched = found[0].resource[2] or "what can only be seen when the program runs"
            about = f"watched {watched}: controller.watches(Kind, map)"
        lines = [f"{name} (kopf, line {line}: {whats}) {about}", "", *found[0].source.splitlines()]
        text += "".join(f"{indent}# {each}".rstrip() + "\n" for each in lines) + (f"{indent}#\n" if indent else "\n")
    return text


def _without_clean_up(text: str) -> str:
    start = text.index("async def clean_up(")
    end = text.index("controller = ")
    return (text[:start] + text[end:]).replace(".finalize(clean_up)", "")

"""Ports a kopf operator: finds its handlers in the source, and turns them into comments where their code belongs.

Nothing is executed. The handlers of a custom resource become one controller: handlers for creations, updates, resumes,
fields, timers and daemons become comments in its reconcile function, and handlers for deletions become comments in its
clean-up function. All others become notes beside the controller's declaration.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from setpoint.deploy.file_tree import File
from setpoint.models import BUILTIN
from setpoint.scaffold.kopf_definitions import Scope, definitions_beside, named_by_definitions, places_of
from setpoint.scaffold.kopf_fields import Guess, class_body, fields_read
from setpoint.scaffold.kopf_handlers import ADMISSION, FINALIZE, PROGRAM, RECONCILE, WATCH, Handler, handlers_in
from setpoint.scaffold.names import KindName
from setpoint.scaffold.project import Api, Project
from setpoint.scaffold.scope import cluster_scoped
from setpoint.scaffold.templates import template, words

_ABOUT: Final = {
    "create": "was called when an object was created",
    "update": "was called when an object had changed; compare with the current state, not with the previous one",
    "resume": "was called for every object at the start, as a reconcile is anyway",
    "field": "was called when this field had changed",
    "timer": "was called at intervals: return sp.after(seconds) for that",
    "daemon": "ran as long as the object existed: start its work elsewhere, or return sp.after(seconds)",
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
_BUILTIN: Final = frozenset(
    name.lower()
    for resource in BUILTIN
    for name in (resource.plural, resource.singular, resource.kind, *resource.short_names)
)


class KopfProblem(Exception):
    """A file can't be ported; the message names it and the reason."""


@dataclass
class _Kind:
    handlers: list[Handler] = field(default_factory=list)
    fields: dict[str, Guess] = field(default_factory=dict)


@dataclass(frozen=True)
class Port:
    """The custom resources and handlers of a kopf operator."""

    group: str
    apis: tuple[Api, ...]
    _kinds: dict[str, _Kind]
    _others: tuple[Handler, ...]

    def files(self, project: Project, api: Api) -> dict[str, File]:
        """The files of a kind, with its handlers as comments. The files of the first kind also contain the handlers of
        the program itself, and the handlers of kinds that are not the operator's own.
        """
        kind = self._kinds[api.kind]
        others = [other for other in self._others if api is self.apis[0] or api == self.apis[0]]
        files = template("kopf", words(project.names, project.kind_names(api)))
        module = project.kind_names(api).module
        package = f"src/{project.names.package}/{module}"
        fields = [f"    {line}" for line in class_body(kind.fields)]
        blocks = {
            "    # RECONCILE\n": _comments(kind.handlers, RECONCILE, "    "),
            "    # FINALIZE\n": _comments(kind.handlers, FINALIZE, "    "),
            "# DECLARE\n": _comments([*kind.handlers, *others], (*ADMISSION, *WATCH, *PROGRAM), "")
            + _comments(others, (*RECONCILE, *FINALIZE), "", foreign=True),
            "\n    FIELDS: Any\n": "".join(f"\n{line}" for line in fields) + ("\n" if fields else ""),
        }
        for path, file in files.items():
            text = file.text
            for marker, block in blocks.items():
                text = text.replace(marker, block)
            if path == f"{package}/types.py":
                if not any(": Any =" in line for line in fields):
                    text = text.replace("from typing import Any\n\n", "")
                if any("= msgspec.field(" in line for line in fields):
                    text = text.replace("import setpoint as sp\n", "import msgspec\nimport setpoint as sp\n", 1)
            if path == f"{package}/controller.py" and not any(handler.event in FINALIZE for handler in kind.handlers):
                text = _without_clean_up(text)
            files[path] = File(text.rstrip("\n") + "\n" if text.strip() else text, once=True)
        return cluster_scoped(files, api.kind) if api.scope == "Cluster" else files


def ported(path: Path, group: str = "") -> Port:
    """The custom resources and handlers in a kopf operator's file.

    ``group`` selects the API group, and is required if the file has handlers of several groups; handlers of the other
    groups become notes. The `group` of the result is empty if no handler names one, because kopf also accepts the name
    of a resource without a group.

    Raises:
        KopfProblem: the file can't be read, is not Python, has no handlers of custom resources, or has several groups
            and ``group`` is not one of them.
        NameProblem: the name of a kind is not valid.
    """
    try:
        source = path.read_text("utf-8-sig")
        tree = ast.parse(source, str(path))
    except OSError as problem:
        raise KopfProblem(f"{path}: {problem.strerror}") from None
    except (SyntaxError, ValueError) as problem:
        raise KopfProblem(f"{path}: not a Python file: {problem}") from None
    definitions = definitions_beside(path)
    handlers = named_by_definitions(handlers_in(tree, source, path), definitions)
    groups = list(dict.fromkeys(handler.resource[0] for handler in handlers if _is_own(handler.resource[0])))
    if len(groups) > 1 and group not in groups:
        raise KopfProblem(
            f"{path}: handlers of the groups {', '.join(groups)}; port one group at a time: --group {groups[0]}"
        )
    chosen = group if group in groups else next(iter(groups), "")
    spelled = _spelled(handler.resource[2] for handler in handlers)
    apis = _apis(handlers, chosen, spelled, places_of(definitions))
    if not apis:
        raise KopfProblem(f"{path}{_nothing(handlers)}")
    kinds: dict[str, _Kind] = defaultdict(_Kind)
    others: list[Handler] = []
    for handler in handlers:
        its_group, _, name = handler.resource
        own = spelled[_kind_of(name).lower()]
        if own not in apis or its_group not in ("", chosen):
            others.append(handler)
            continue
        # Most handlers give the plural alone, as kopf's own examples do: it is the resource that has a group elsewhere.
        kinds[own].handlers.append(handler)
        for field_name, guess in fields_read(handler.node).items():
            noted = kinds[own].fields.get(field_name, guess)
            kinds[own].fields[field_name] = guess if noted.type == "Any" else noted
    return Port(chosen, tuple(apis.values()), dict(kinds), tuple(others))


def _apis(
    handlers: Iterable[Handler], group: str, spelled: dict[str, str], places: dict[str, tuple[str, Scope]]
) -> dict[str, Api]:
    """The kinds of ``group``, and the kinds whose handlers do not name a group, except built-in kinds."""
    apis: dict[str, Api] = {}
    for handler in handlers:
        its_group, version, name = handler.resource
        if not name or its_group not in ("", group) or (not its_group and name.lower() in _BUILTIN):
            continue
        kind = spelled[_kind_of(name).lower()]
        previous = apis.get(kind)
        names = KindName(kind, version or (previous.version if previous is not None else "v1"), group)
        plural = name if name.islower() and name != kind.lower() else previous.plural if previous is not None else ""
        plural, scope = places.get(kind, (plural, "Namespaced"))
        plural = plural if plural != names.plural else ""
        apis[kind] = Api(kind, names.version, plural=plural, scope=scope, source="kopf")
    return apis


def _nothing(handlers: Iterable[Handler]) -> str:
    """The reason why there is nothing to port."""
    unknown = next((handler for handler in handlers if handler.unknown), None)
    if unknown is None:
        return ": no handlers of a custom resource, such as @kopf.on.create('example.com', 'v1', 'shops')"
    return f":{unknown.line}: @{unknown.unknown}: the resource's name is in neither this file nor one beside it"


def _spelled(names: Iterable[str]) -> dict[str, str]:
    """The kinds that these plurals, kinds and singulars stand for, by their lower-case names. The spelling with the
    most capitals is kept, because only the name of a kind shows where its words begin.
    """
    spellings: dict[str, str] = {}
    for kind in map(_kind_of, names):
        spelling = spellings.setdefault(kind.lower(), kind)
        spellings[kind.lower()] = max(spelling, kind, key=lambda text: sum(map(str.isupper, text)))
    return spellings


def _is_own(group: str) -> bool:
    """Whether ``group`` looks like a group of custom resources: it has a dot, and does not end in ``.k8s.io``."""
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


def _comments(handlers: list[Handler], kinds: tuple[str, ...], indent: str, *, foreign: bool = False) -> str:
    """The handlers as comments; a function that handles several events appears only once."""
    functions: dict[tuple[str, int], list[Handler]] = defaultdict(list)
    for handler in handlers:
        if handler.event in kinds:
            functions[handler.name, handler.line].append(handler)
    text = ""
    for (name, line), group in functions.items():
        whats = ", ".join(handler.event for handler in group)
        about = _ABOUT[group[-1].event]
        if foreign:
            watched = group[0].resource[2] or "a resource that is known only when the program runs"
            about = f"watched {watched}: controller.watches(Kind, map)"
        lines = [f"{name} (kopf, line {line}: {whats}) {about}", "", *group[0].source.splitlines()]
        text += "".join(f"{indent}# {line}".rstrip() + "\n" for line in lines) + (f"{indent}#\n" if indent else "\n")
    return text


def _without_clean_up(text: str) -> str:
    start = text.index("async def clean_up(")
    end = text.index("controller = ")
    return (text[:start] + text[end:]).replace(".finalize(clean_up)", "")

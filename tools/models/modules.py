"""Renders the modules of classes: ``core_v1.py`` and its sisters."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tools.models.naming import class_name, constant_name, module_name, needs_wire_name
from tools.models.prose import class_doc, docstring, field_doc
from tools.models.types import HAND_WRITTEN, Class, Field, Role

_META_TYPES = frozenset({"MicroTime", "ApiModel", "Object", "Resource"})
_WIDTH = 120


def render_module(
    name: str, classes: list[Class], header: str, mixins: dict[str, dict[str, str]], passed_on: dict[str, list[str]]
) -> str:
    """The module's text. ``mixins`` are the hand-written extra bases: module -> class -> mixin; ``passed_on`` are the
    classes that it has from another version of its group: module -> names.
    """
    extra = mixins.get(name, {})
    missing = extra.keys() - {class_.name for class_ in classes}
    if missing:
        raise SystemExit(f"_mixins.py has bases for classes that {name} does not have: {sorted(missing)}")
    bodies = [_class(class_, extra.get(class_.name)) for class_ in classes]
    text = "\n\n\n".join(bodies)
    head = [header, f'"""{_title(name, classes)}"""', "", "from __future__ import annotations", ""]
    return "\n".join([*head, *_imports(name, classes, text, extra, passed_on), "", "", text, ""])


def _title(name: str, classes: list[Class]) -> str:
    kinds = [class_.gvk for class_ in classes if class_.gvk and class_.role is Role.OBJECT]
    if not kinds:
        return "Types that all groups share: options, discovery, metadata (meta.k8s.io/v1)."
    group, version, _ = kinds[0]
    return f"{group}/{version}." if group else f"{version}, the core group."


def _imports(
    name: str, classes: list[Class], text: str, extra: dict[str, str], passed_on: dict[str, list[str]]
) -> list[str]:
    words = _names_in(text)
    standard = ["from datetime import datetime"] if "datetime" in words else []
    typing = [word for word in ("Any", "ClassVar") if word in words]
    if typing:
        standard.append(f"from typing import {', '.join(typing)}")
    ours: dict[str, list[str]] = {}
    own = {class_.name for class_ in classes}
    meta = _META_TYPES & words
    if name != "meta_v1":
        used = sorted({definition for class_ in classes for definition in class_.uses})
        for definition in used:
            if definition in HAND_WRITTEN:
                meta |= {class_name(definition)}
            elif module_name(definition) != name and class_name(definition) not in chain(*passed_on.values()):
                ours.setdefault(f"setpoint.models.{module_name(definition)}", []).append(class_name(definition))
        for module, imported in ours.items():
            clash = own & set(imported)
            if clash:
                raise SystemExit(f"{name} has {sorted(clash)} of its own and imports it from {module}")
    else:
        meta |= {class_name(definition) for definition in HAND_WRITTEN}
    if clash := own & (meta | {"Any", "ClassVar", "datetime"}):
        raise SystemExit(f"{name} has classes named as what it imports: {sorted(clash)}")
    ours["setpoint.meta"] = sorted(meta)
    if extra:
        ours["setpoint.models._mixins"] = sorted(extra.values())
    if "KindList" in words:
        ours["setpoint.models._kind_list"] = ["KindList"]
    if "_table" in words:
        ours["setpoint.models"] = ["_table"]
    lines = [*standard, ""] if standard else []
    if "msgspec" in words:
        lines += ["import msgspec", ""]
    again = {
        f"setpoint.models.{module}": [f"{word} as {word}" for word in names] for module, names in passed_on.items()
    }
    for module in sorted({*ours, *again}):
        lines += _from(module, sorted([*ours.get(module, ()), *again.get(module, ())]))
    if name == "meta_v1":
        public = sorted(own | {class_name(definition) for definition in HAND_WRITTEN})
        lines += ["", "__all__ = [", *(f'    "{word}",' for word in public), "]"]
    return lines


def _names_in(text: str) -> frozenset[str]:
    """The names that code (not prose) of the module reads."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def _from(module: str, names: list[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _class(class_: Class, mixin: str | None) -> str:
    bases = {Role.OBJECT: ["Object", "ApiModel"], Role.LIST: [f"KindList[{class_.item}]"]}.get(
        class_.role, ["ApiModel"]
    )
    if mixin:
        bases.insert(0, mixin)
    lines = [f"class {class_.name}({', '.join(bases)}):"]
    doc = class_doc(class_.doc) or f"{class_.name} of {class_.module.replace('_', '/')}."
    lines += docstring(doc, "    ")
    lines += _class_variables(class_)
    if class_.fields:
        lines.append("")
    for item in class_.fields:
        lines.append(_field(item))
        if item.doc:
            lines += docstring(field_doc(item.doc), "    ")
    return "\n".join(lines)


def _class_variables(class_: Class) -> Iterable[str]:
    if class_.role is Role.PART or class_.gvk is None:
        return
    group, version, kind = class_.gvk
    yield ""
    if class_.role is Role.OBJECT:
        yield f"    resource: ClassVar[Resource] = _table.{constant_name(group, version, kind)}"
    else:
        yield (
            f'    api_version: ClassVar[str] = "{group}/{version}"'
            if group
            else f'    api_version: ClassVar[str] = "{version}"'
        )
        yield f'    kind: ClassVar[str] = "{kind}"'


def _field(item: Field) -> str:
    line = f"    {item.attribute}: {item.annotation}"
    arguments = []
    if needs_wire_name(item.attribute, item.wire):
        arguments.append(f'name="{item.wire}"')
    if item.factory is not None:
        arguments.append(f"default_factory={item.factory}")
    elif item.default is not None and arguments:
        arguments.append(f"default={item.default}")
    if arguments:
        return f"{line} = msgspec.field({', '.join(arguments)})"
    return f"{line} = {item.default}" if item.default is not None else line


def read_mixins(path: Path) -> dict[str, dict[str, str]]:
    """The classes of ``_mixins.py`` by module and class; ``PodMixin`` says ``_for = "core_v1.Pod"``."""
    mixins: dict[str, dict[str, str]] = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Mixin"):
            for statement in node.body:
                if (
                    isinstance(statement, ast.AnnAssign)
                    and ast.unparse(statement.target) == "_for"
                    and statement.value is not None
                ):
                    module, _, name = str(ast.literal_eval(statement.value)).partition(".")
                    mixins.setdefault(module, {})[name] = node.name
    return mixins

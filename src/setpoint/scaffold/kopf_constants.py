"""The values of names in a kopf operator's source, as far as they can be determined without executing the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ABOVE: Final = 6
"""The number of folders in which an imported module is looked for: the importing module's own folder and that folder's
parents.
"""
_Value = str | list[str | None]


class Constants:
    """The constants of a module, those of its classes (``Names.GROUP``), and those that it imports from other files.

    For a text that is read from the environment, the default in the source is used.
    """

    def __init__(self, tree: ast.Module, place: Path, *, importers: frozenset[Path] = frozenset()) -> None:
        self._place = place.resolve()
        self._importers = importers | {self._place}
        self._imported = dict(_imports(tree))
        self._modules: dict[Path, Constants | None] = {}
        self._own: dict[str, _Value] = {}
        for statement in tree.body:
            if isinstance(statement, ast.ClassDef):
                for inner in statement.body:
                    self._assign(f"{statement.name}.", inner)
            else:
                self._assign("", statement)

    def text(self, node: ast.expr | None, prefix: str = "") -> str | None:
        """The text that an expression evaluates to; None if that is not certain. ``prefix`` is the name of the class
        that contains the expression, followed by a dot.
        """
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            value = (self._find(prefix + name) if prefix else None) or self._find(name)
            return value if isinstance(value, str) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.text(node.left, prefix), self.text(node.right, prefix)
            return None if left is None or right is None else left + right
        if isinstance(node, ast.JoinedStr):
            values = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
            parts = [self.text(part, prefix) for part in values]
            return None if None in parts else "".join(text or "" for text in parts)
        if isinstance(node, ast.Call) and len(node.args) == 2 and _reads_the_environment(node.func):
            return self.text(node.args[1], prefix)
        return None

    def texts(self, node: ast.expr) -> list[str | None]:
        """The texts that an argument evaluates to; None in place of a text that is not certain. ``*RESOURCE`` stands
        for several texts.
        """
        if not isinstance(node, ast.Starred):
            return [self.text(node)]
        if isinstance(node.value, ast.Tuple | ast.List):
            return [self.text(element) for element in node.value.elts]
        value = self._find(ast.unparse(node.value))
        return value if isinstance(value, list) else [None]

    def _assign(self, prefix: str, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            return
        value: _Value | None
        if isinstance(statement.value, ast.Tuple | ast.List):
            value = [self.text(element, prefix) for element in statement.value.elts]
        else:
            value = self.text(statement.value, prefix)
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                self._own[prefix + target.id] = value

    def _find(self, name: str) -> _Value | None:
        if name in self._own:
            return self._own[name]
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            imported = self._imported.get(".".join(parts[:end]))
            if imported is None:
                continue
            level, module, attribute = imported
            rest = [attribute, *parts[end:]] if attribute else parts[end:]
            # A name that is imported from a package is an attribute of it, or one of its modules.
            for depth in range(min(2, len(rest))):
                constants = self._module(level, ".".join(filter(None, (module, *rest[:depth]))))
                value = constants._find(".".join(rest[depth:])) if constants is not None else None
                if value is not None:
                    return value
        return None

    def _module(self, level: int, name: str) -> Constants | None:
        """The constants of an imported module; None if its file does not exist."""
        folder = self._place.parent
        folders = [folder, *folder.parents][level - 1 : level] if level else [folder, *folder.parents][:_ABOVE]
        for root in folders:
            base = root.joinpath(*name.split(".")) if name else root
            # `from .. import settings` means a folder, and the root folder has no name to put a suffix on.
            files = (base.with_name(base.name + ".py"), base / "__init__.py") if name else (base / "__init__.py",)
            for file in files:
                if file not in self._modules:
                    self._modules[file] = self._read(file)
                if (module := self._modules[file]) is not None:
                    return module
        return None

    def _read(self, file: Path) -> Constants | None:
        if file in self._importers:
            return None
        try:
            tree = ast.parse(file.read_text("utf-8-sig"), str(file))
        except (OSError, SyntaxError, ValueError):
            return None
        return Constants(tree, file, importers=self._importers)


def _reads_the_environment(function: ast.expr) -> bool:
    return f".{ast.unparse(function)}".endswith((".environ.get", ".getenv"))


def _imports(tree: ast.Module) -> Iterator[tuple[str, tuple[int, str, str]]]:
    """The names that a module's imports define, each with the level of the import, the imported module, and the
    attribute of the module (empty if the name stands for the module itself).
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, (0, alias.name, "")
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, (node.level, node.module or "", alias.name)

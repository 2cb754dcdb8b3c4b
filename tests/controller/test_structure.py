"""The structure of the package: few files, and short chains of imports."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import setpoint.controller

PACKAGE = "setpoint.controller"
FOLDER = Path(setpoint.controller.__file__).parent
MAX_FILES = 34
MAX_FLOORS = 8


def module_files(folder: Path, package: str) -> dict[str, Path]:
    """The files of a package and of its subpackages, by the names of their modules."""
    files = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        files[".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    return files


def imports_of(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules that a file imports, at its top, inside functions, or for type checkers only."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported.update(name if name in modules else node.module for name in names)
    return {name for name in imported if name in modules and modules[name] != path}


def longest_chain(modules: dict[str, Path]) -> list[str]:
    """The longest chain of modules of which each imports the next."""
    imports = {name: imports_of(path, modules) for name, path in modules.items()}

    @cache
    def chain_from(name: str) -> tuple[str, ...]:
        return (name, *max((chain_from(below) for below in sorted(imports[name])), key=len, default=()))

    return list(max((chain_from(name) for name in sorted(imports)), key=len))


def test_the_package_has_at_most_34_files() -> None:
    assert len(module_files(FOLDER, PACKAGE)) <= MAX_FILES


def test_no_chain_of_imports_is_longer_than_8_files() -> None:
    chain = longest_chain(module_files(FOLDER, PACKAGE))
    assert len(chain) <= MAX_FLOORS, " imports ".join(chain)


def test_a_chain_through_a_function_a_subpackage_and_a_type_is_counted(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "__init__.py").write_text("")
    (tmp_path / "low" / "bolt.py").write_text("")
    (tmp_path / "wheel.py").write_text("def turn():\n    from small.low import bolt\n")
    (tmp_path / "car.py").write_text("if TYPE_CHECKING:\n    from small.wheel import Wheel\n")
    (tmp_path / "__init__.py").write_text("import small.car\n")
    assert longest_chain(module_files(tmp_path, "small")) == ["small", "small.car", "small.wheel", "small.low.bolt"]

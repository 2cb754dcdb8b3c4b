"""The structure of the package: few files, and short chains of imports."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from textwrap import dedent

import setpoint.controller

PACKAGE = "setpoint.controller"
FOLDER = Path(setpoint.controller.__file__).parent
MAX_FILES = 34
MAX_FLOORS = 8
MAX_PARTS = 7
"""The most parameters of a constructor, without self."""


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


def constructors(tree: ast.AST) -> dict[str, int]:
    """The number of parameters of each class's constructor: of ``__init__``, or the fields of a dataclass."""
    counts = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            fields = [ast.unparse(line) for line in node.body if isinstance(line, ast.AnnAssign)]
            counts[node.name] = sum("ClassVar[" not in line and "init=False" not in line for line in fields)
        for function in node.body:
            if isinstance(function, ast.FunctionDef) and function.name == "__init__":
                given = function.args
                counts[node.name] = len([*given.posonlyargs, *given.args, *given.kwonlyargs]) - 1
    return counts


def test_fields_of_dataclasses_and_parameters_of_init_are_counted() -> None:
    text = """
        @dataclass(frozen=True)
        class Wheel:
            size: int
            label: str = ""
            _turns: int = field(init=False)
            count: ClassVar[int] = 0

        class Car:
            seats: int
            def __init__(self, a, /, b, *, c): ...
    """
    assert constructors(ast.parse(dedent(text))) == {"Wheel": 2, "Car": 3}


def test_no_constructor_has_more_than_7_parameters() -> None:
    counts = {
        f"{path.relative_to(FOLDER)} {name}": count
        for path in sorted(FOLDER.rglob("*.py"))
        for name, count in constructors(ast.parse(path.read_text())).items()
    }
    assert len(counts) > MAX_FILES
    assert {name: count for name, count in counts.items() if count > MAX_PARTS} == {}


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

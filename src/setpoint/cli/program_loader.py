"""Loads a user's program, which the command line may name in any form that Python or a shell accepts."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from setpoint.cli.user_traceback import user_frames

FORMS: Final = "a file (app.py), a package's folder, a module (package.module); each may end in :name"
_NO_PACKAGE: Final = "this folder is not a package, as it has no __init__.py; name a file in it"
_loading: ContextVar[str] = ContextVar("loading", default="")


class SourceError(Exception):
    """A source on the command line can't be used; the message names the source and the remedy."""


@dataclass(frozen=True)
class Loaded:
    """A user's module. ``named`` maps the names after the colon of the source to their objects; it is None if there is
    no colon.
    """

    source: str
    module: ModuleType
    named: dict[str, Any] | None

    @property
    def values(self) -> list[Any]:
        """The named objects or, if none are named, the module's global values. Lists and tuples are flattened, and a
        named module stands for its global values.
        """
        values: list[Any] = []
        for value in list(vars(self.module).values() if self.named is None else self.named.values()):
            if isinstance(value, ModuleType) and self.named is not None:
                values += vars(value).values()
            else:
                values += value if isinstance(value, list | tuple) else [value]
        return values


@dataclass(frozen=True)
class _Place:
    """The module ``name``, with ``folders`` first on the path; ``file`` is set for a module outside a package."""

    name: str
    folders: tuple[Path, ...]
    file: Path | None = None


def being_loaded() -> str:
    """The source that is being imported at the moment; ``""`` if there is none."""
    return _loading.get()


@contextmanager
def loaded(source: str) -> Iterator[Loaded]:
    """Loads the program at ``source``: ``app.py``, ``folder/package`` or ``package.module``, each optionally with
    ``:name,name``.

    A file of a package is imported as part of the package, so relative imports work; any file can import its
    neighbours. Afterwards ``sys.path`` and ``sys.modules`` are restored, so a different program with modules of the
    same names can be loaded. The program's output during the import goes to standard error.

    Raises:
        SourceError: the source does not exist, or its import failed; in that case the message contains the user's own
            traceback.
    """
    path, modules = list(sys.path), set(sys.modules)
    place_name, names = _split(source)
    place = _place(place_name)
    try:
        sys.path[:0] = map(str, dict.fromkeys(place.folders))
        module = _imported(place, place_name)
        yield Loaded(source, module, {name: _attribute(module, name, place_name) for name in names} if names else None)
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name not in modules]:
            if _is_users(name, place):
                del sys.modules[name]
        importlib.invalidate_caches()


def _split(source: str) -> tuple[str, list[str]]:
    """The file, folder or module, and the names after its colon. ``C:\\app.py`` has no such names."""
    place, colon, names = source.rpartition(":")
    if not colon or Path(source).exists() or "\\" in names or "/" in names:
        return source, []
    attributes = [name.strip() for name in names.split(",")]
    if not place or not all(part.isidentifier() for name in attributes for part in name.split(".")):
        raise SourceError(f"{source}: a name must follow the colon, such as {place or 'app.py'}:controller")
    return place, attributes


def _place(place_name: str) -> _Place:
    path = Path(place_name)
    is_name = all(part.isidentifier() for part in place_name.split("."))
    if place_name and path.is_dir():
        if (path / "__init__.py").is_file():
            return _of_file(path)
        if not is_name:
            files = ", ".join(sorted(str(path / file.name) for file in path.glob("*.py"))[:3])
            raise SourceError(f"{place_name}: {_NO_PACKAGE}{files and f': {files}'}")
    elif path.is_file():
        if path.suffix != ".py":
            raise SourceError(f"{place_name}: not a Python file, as its name does not end in .py; give {FORMS}")
        return _of_file(path.parent if path.name == "__init__.py" else path)
    elif place_name.endswith(".py") or not is_name:
        raise SourceError(f"{place_name or repr(place_name)}: no such file{_hint(place_name)}; give {FORMS}")
    return _Place(place_name, (Path.cwd(),))


def _hint(place_name: str) -> str:
    path = Path(place_name)
    others = [str(path.with_name(file.name)) for file in path.parent.glob("*.py")] if place_name else []
    candidates = [
        place_name.replace("\\", "/"),
        f"{place_name}.py",
        place_name.replace("-", "_"),
        place_name.replace("_", "-"),
    ]
    matches = [
        candidate for candidate in candidates if candidate != place_name and Path(candidate).is_file()
    ] or get_close_matches(place_name, others, 1, 0.8)
    return f" (is {matches[0]} meant?)" if matches else ""


def _of_file(path: Path) -> _Place:
    """The place of a file or of a package's folder: its name within the outermost enclosing package."""
    path = Path(os.path.abspath(path))
    folder, parts = path.parent, [path.name.removesuffix(".py")]
    while (folder / "__init__.py").is_file() and "." not in folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    if path.is_file() and (len(parts) == 1 or "." in parts[-1]):
        return _Place(_free_name(path.stem), (path.parent,), path)
    if "." in parts[-1]:
        raise SourceError(f"{path}: Python can't import a package that has a dot in its name; rename the folder")
    return _Place(".".join(parts), (folder, path.parent))


def _free_name(stem: str) -> str:
    """A module name that no other module has, made from the file's name. The file's name itself may belong to another
    module (``operator.py``), or may not be an identifier (``my-operator.py``).
    """
    name = re.sub(r"\W", "_", stem)
    while name in sys.modules or name in sys.stdlib_module_names:
        name += "_"
    return name


def _imported(place: _Place, place_name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(place.name, place.file) if place.file is not None else None
    top = sys.modules.get(place.name.partition(".")[0])
    if place.file is None and len(place.folders) > 1 and top is not None and not _is_users(top.__name__, place):
        location = getattr(top, "__file__", None) or "Python itself"
        raise SourceError(f"{place_name}: another module is named {top.__name__} ({location}); rename the package")
    token = _loading.set(place_name)
    try:
        with redirect_stdout(sys.stderr):
            importlib.invalidate_caches()
            if spec is None:
                module = importlib.import_module(place.name)
            else:
                module = importlib.util.module_from_spec(spec)
                sys.modules[place.name] = module  # msgspec resolves annotations there
                assert spec.loader is not None
                spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - any error belongs to the user
        raise SourceError(_why(problem, place, place_name)) from None
    finally:
        _loading.reset(token)
    if getattr(module, "__file__", None) is None and hasattr(module, "__path__"):
        raise SourceError(f"{place_name}: {_NO_PACKAGE}")
    return module


def _why(problem: BaseException, place: _Place, place_name: str) -> str:
    from setpoint.crd import DefinitionError
    from setpoint.webhook import AdmissionError

    frames, text = user_frames(problem)
    at = f"{os.path.relpath(frames[-1].filename)}:{frames[-1].lineno}" if frames else place_name
    if isinstance(problem, SourceError | DefinitionError | AdmissionError):
        return f"{at}: {problem}"
    if isinstance(problem, SystemExit):
        return f"{at}: it ends the program during the import; put that under if __name__ == '__main__':"
    if not frames:
        if isinstance(problem, ModuleNotFoundError) and f"{place.name}.".startswith(f"{problem.name}."):
            return f"{place_name}: no file, and no module that can be imported: {problem}; give {FORMS}"
        if isinstance(problem, OSError):
            return f"{place_name}: can't be read: {problem.strerror}"
    return f"{place_name} can't be imported:\n{text.rstrip()}"


def _attribute(module: ModuleType, name: str, place_name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part) and isinstance(value, ModuleType) and _has_submodule(value, part):
            value = _imported(_Place(f"{value.__name__}.{part}", ()), f"{place_name}:{name}")
        elif hasattr(value, part):
            value = getattr(value, part)
        else:
            matches = get_close_matches(
                part, [attribute for attribute in dir(value) if not attribute.startswith("_")], 1
            )
            suggestion = f" (is {matches[0]} meant?)" if matches else ""
            raise SourceError(
                f"{place_name}:{name}: there is no {part} in {getattr(value, '__name__', place_name)}{suggestion}"
            )
    return value


def _has_submodule(module: ModuleType, name: str) -> bool:
    return hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{name}") is not None


def _is_users(name: str, place: _Place) -> bool:
    """Whether a module was found in one of the place's folders."""
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return False
    module = sys.modules[name]
    files = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return any(
        path.is_relative_to(folder) and "site-packages" not in path.parts
        for path in (Path(file) for file in files if isinstance(file, str))
        for folder in place.folders
    )

"""``setpoint update``: merges what ``setpoint init`` would make today into a project that people have changed."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from setpoint.deploy.file_tree import File, TreeError, replace_file
from setpoint.scaffold import generate
from setpoint.scaffold.project import Project, ProjectError

ORIGINALS: Final = ".setpoint.base.json"
"""The file with the text of each file as it was generated, and the version of setpoint that generated it."""
_MARKER: Final = b"<<<<<<< "
_ALIKE: Final = 0.5
"""The share of equal lines from which on a new file counts as a renamed one, as in git."""


class _Originals(msgspec.Struct):
    setpoint: str = ""
    files: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass
class Updated:
    """The result of `update`: the versions, and paths relative to the project's folder."""

    before: str
    after: str
    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    """The files in which both the team and setpoint have changed something, at different places."""
    untouched: list[str] = field(default_factory=list)
    """The files that stay as they are: made by the team at a path that setpoint uses now, or changed and no longer
    generated.
    """
    deleted: list[str] = field(default_factory=list)
    """The files that the team has deleted, and that setpoint has changed."""
    conflicts: list[str] = field(default_factory=list)
    """The files that contain git's conflict markers now."""

    def lines(self) -> list[str]:
        """One line for each file that has changed, was kept or has a conflict; or one that there is nothing to do."""
        words = {
            "created": self.created,
            "updated": self.updated,
            "removed": self.removed,
            "merged": self.merged,
            "kept as it is": self.untouched,
            "stays deleted": self.deleted,
            "conflict": self.conflicts,
        }
        lines = [f"{word}: {path}" for word, paths in words.items() for path in sorted(paths)]
        return lines or [f"nothing to do: apart from your changes, the project is as setpoint {self.after} creates it"]


def remember(folder: Path, files: Mapping[str, File], paths: list[str]) -> None:
    """Stores the texts of generated files, for `update`: those at the ``paths`` just written, and others that are on
    the disk as they were generated and have no stored text yet.

    Raises:
        ProjectError: the stored texts are damaged.
        TreeError: a file can't be read or written.
    """
    originals = _stored(folder)
    for path, file in files.items():
        if path in paths or (path not in originals.files and _read(folder / path) == file.text.encode()):
            originals.files[path] = file.text
    originals.setpoint = originals.setpoint or version("setpoint")
    _store(folder, originals)


def update(folder: Path) -> Updated:
    """Merges into each file of the project what the templates changed since the file was generated.

    A file that the team has not changed is replaced; a file that setpoint has not changed stays; a file that both have
    changed is merged line by line, as git merges branches. A file that the team renamed is found by its lines, as git
    finds it; one that the team deleted is not made again. Modes and line ends stay. Files that were ported from kopf,
    ``deploy/`` and classes of other projects' kinds are not touched.

    Nothing is written before all files are merged. Each file is replaced as a whole, and the stored texts last, so that
    after a crash the same command completes the work.

    Raises:
        ProjectError: there is no project in the folder, or no stored texts; git is missing; the folder is in no git
            repository or has changes that are not committed, or conflicts that are not resolved.
        TreeError: a file can't be read or written.
    """
    project = Project.here(folder)
    originals = _stored(folder)
    if not originals.files:
        raise ProjectError(
            f"{folder / ORIGINALS} is missing: it has the files as setpoint init created them. Take it from the "
            "history of the project, or create the project again in another folder and compare"
        )
    _check_is_committed(folder)
    result = Updated(originals.setpoint, version("setpoint"))
    files = generate.template_files(project)
    contents: dict[str, bytes] = {}
    for path in sorted(originals.files.keys() | files.keys()):
        file = files.get(path)
        base, new = originals.files.get(path), None if file is None else file.text
        if base == new:
            continue
        place = path
        if base is not None and new is not None and not (folder / path).exists():
            place = _renamed(folder, path, base, originals.files.keys() | files.keys()) or path
        if (content := _combined(folder, place, base, new, result)) is not None:
            contents[place] = content
    try:
        for path, content in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            mode = (folder / path).stat().st_mode if (folder / path).exists() else 0
            replace_file(folder / path, content, is_executable=bool(mode & 0o100))
        for path in result.removed:
            (folder / path).unlink()
    except OSError as problem:
        raise TreeError(f"{problem.filename or folder}: {problem.strerror}") from None
    _store(folder, _Originals(result.after, {path: file.text for path, file in files.items()}))
    return result


def _combined(folder: Path, path: str, base: str | None, new: str | None, result: Updated) -> bytes | None:
    """The new content of a file that the templates changed; None if it stays or is removed."""
    mine = _read(folder / path)
    if mine is not None and _MARKER in mine:
        raise ProjectError(
            f"{folder / path} has conflict markers: resolve the conflict, commit, and repeat the command"
        )
    end = b"\r\n" if mine is not None and b"\r\n" in mine else b"\n"
    wanted, before = (None if text is None else text.encode().replace(b"\n", end) for text in (new, base))
    if mine == wanted:
        return None
    if before is None or wanted is None or mine is None:
        if mine is None and before is None and wanted is not None:
            result.created.append(path)
            return wanted
        if wanted is None and mine == before:
            result.removed.append(path)
            return None
        (result.deleted if mine is None else result.untouched).append(path)
        return None
    if mine == before:
        result.updated.append(path)
        return wanted
    merged, conflicts = _merge(mine, before, wanted, result)
    if merged == mine:
        return None
    (result.conflicts if conflicts else result.merged).append(path)
    return merged


def _renamed(folder: Path, path: str, base: str, excluded: Set[str]) -> str:
    """The path of the file, none of the ``excluded`` ones, that is most like the text of the missing file at ``path``;
    empty if there is none.
    """
    listed = _git(["ls-files", "-z", "--", f"*{Path(path).suffix}"], folder).stdout.decode().split("\0")
    lines, best = base.splitlines(), (_ALIKE, "")
    for other in sorted({*listed} - excluded - {""}):
        content = _read(folder / other)
        if content is not None:
            text = content.decode(errors="replace").splitlines()
            best = max(best, (SequenceMatcher(None, lines, text).ratio(), other), key=lambda pair: pair[0])
    return best[1]


def _merge(mine: bytes, base: bytes, new: bytes, result: Updated) -> tuple[bytes, bool]:
    """The three texts merged, and whether there are conflicts."""
    labels = ("yours", f"setpoint {result.before}", f"setpoint {result.after}")
    texts = {"mine": mine, "base": base, "new": new}
    with tempfile.TemporaryDirectory() as place:
        for name, content in texts.items():
            (Path(place) / name).write_bytes(content)
        words = [word for label in labels for word in ("-L", label)]
        done = _git(["merge-file", "-p", *words, *texts], Path(place))
    if done.returncode < 0 or done.returncode > 127:  # the number of conflicts, at most 127, is not an error
        raise ProjectError(f"git merge-file failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout, done.returncode > 0


def _check_is_committed(folder: Path) -> None:
    done = _git(["status", "--porcelain", "--", "."], folder)
    if done.returncode:
        raise ProjectError(
            f"{folder.resolve()} is not in a git repository: run git init and commit the project, so that the update "
            "can be read and undone"
        )
    if changed := [line[3:] for line in done.stdout.decode(errors="replace").splitlines()]:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise ProjectError(
            f"there are changes that are not committed ({', '.join(changed[:3])}{more}): commit or stash them, and "
            "repeat the command"
        )


def _git(words: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)  # noqa: S603, S607 - the user's own git
    except FileNotFoundError:
        raise ProjectError("git is not on PATH: setpoint update merges with git, so install it") from None


def _stored(folder: Path) -> _Originals:
    content = _read(folder / ORIGINALS)
    try:
        return _Originals() if content is None else msgspec.json.decode(content, type=_Originals)
    except msgspec.DecodeError as problem:
        raise ProjectError(f"{folder / ORIGINALS}: {problem}; take it from the history of the project") from None


def _store(folder: Path, originals: _Originals) -> None:
    text = msgspec.json.format(msgspec.json.encode(originals, order="sorted"), indent=1) + b"\n"
    if _read(folder / ORIGINALS) != text:
        try:
            replace_file(folder / ORIGINALS, text)
        except OSError as problem:
            raise TreeError(f"{problem.filename or folder}: {problem.strerror}") from None


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise TreeError(f"{place}: {problem.strerror}") from None

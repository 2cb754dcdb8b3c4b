"""``setpoint update``: what the templates changed comes in, and nothing of a person's is lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.cli.main import app
from setpoint.deploy import file_tree
from setpoint.deploy.file_tree import File
from setpoint.scaffold import generate, update

BASE = ".setpoint.base.json"
Change = Callable[[dict[str, File]], dict[str, File]]


def setpoint(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(list(words))
    return int(ended.value.code or 0)


def git(*words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *words], check=True, capture_output=True)


def commit() -> None:
    git("add", "--all")
    git("commit", "--message", "change")


@pytest.fixture(autouse=True)
def _in_a_committed_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert setpoint("init", "shop") == 0
    monkeypatch.chdir(tmp_path / "shop")
    git("init", "--quiet")
    commit()


@pytest.fixture
def templates(monkeypatch: pytest.MonkeyPatch) -> Callable[[Change], None]:
    """Changes the templates, as a newer version of setpoint would."""

    def changed(change: Change) -> None:
        before = generate.template
        monkeypatch.setattr(generate, "template", lambda name, words: change(dict(before(name, words))))
        monkeypatch.setattr(update, "version", lambda _: "9.9.9")

    return changed


def replaced(path: str, old: str, new: str) -> Change:
    def change(files: dict[str, File]) -> dict[str, File]:
        if path in files:
            assert old in files[path].text
            files[path] = File(files[path].text.replace(old, new), once=True)
        return files

    return change


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))
    commit()


def contents() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file() and file.parts[0] != ".git"}


def test_without_a_newer_template_there_is_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    edit("Makefile", "test:", "tests:")
    before = contents()
    assert setpoint("update") == 0
    assert contents() == before
    assert "nothing to do" in capsys.readouterr().out


def test_a_file_without_changes_of_a_person_becomes_the_new_one(
    templates: Callable[[Change], None], capsys: pytest.CaptureFixture[str]
) -> None:
    templates(replaced(".editorconfig", "root = true", "root = true\n# newer"))
    assert setpoint("update") == 0
    assert "# newer" in Path(".editorconfig").read_text()
    assert "updated: .editorconfig" in capsys.readouterr().out
    stored = json.loads(Path(BASE).read_text())
    assert stored["setpoint"] == "9.9.9"
    assert "# newer" in stored["files"][".editorconfig"]
    commit()
    assert setpoint("update") == 0
    assert "nothing to do" in capsys.readouterr().out


def test_changes_of_both_at_different_places_are_merged(
    templates: Callable[[Change], None], capsys: pytest.CaptureFixture[str]
) -> None:
    edit("README.md", "# shop\n", "# The shop of ours\n")
    templates(replaced("README.md", "add to it.", "add to it, and so on."))
    assert setpoint("update") == 0
    text = Path("README.md").read_text()
    assert text.startswith("# The shop of ours\n")
    assert "add to it, and so on." in text
    assert "merged: README.md" in capsys.readouterr().out


def test_changes_of_both_at_one_place_are_a_conflict_as_git_shows_it_and_no_update_follows_before_it_is_resolved(
    templates: Callable[[Change], None], capsys: pytest.CaptureFixture[str]
) -> None:
    edit("README.md", "# shop\n", "# Ours\n")
    templates(replaced("README.md", "# shop\n", "# Theirs\n"))
    assert setpoint("update") == 1
    assert "conflict: README.md" in capsys.readouterr().out
    assert (
        Path("README.md").read_text().startswith("<<<<<<< yours\n# Ours\n=======\n# Theirs\n>>>>>>> setpoint 9.9.9\n")
    )
    commit()
    templates(replaced("README.md", "# Theirs\n", "# Still theirs\n"))
    assert setpoint("update") == 1
    assert "README.md has conflict markers: resolve the conflict" in capsys.readouterr().err


def test_files_come_go_and_stay_deleted(
    templates: Callable[[Change], None], capsys: pytest.CaptureFixture[str]
) -> None:
    git("rm", "--quiet", "LICENSE")
    Path("NEWS.md").write_text("ours\n")
    commit()

    def change(files: dict[str, File]) -> dict[str, File]:
        if "Makefile" in files:
            files["LICENSE"] = File("another\n", once=True)
            files["NEWS.md"] = File("theirs\n", once=True)
            files["docs/new.md"] = File("new\n", once=True)
            del files[".editorconfig"]
        return files

    templates(change)
    assert setpoint("update") == 0
    assert not Path("LICENSE").exists()
    assert Path("NEWS.md").read_text() == "ours\n"
    assert Path("docs/new.md").read_text() == "new\n"
    assert not Path(".editorconfig").exists()
    out = capsys.readouterr().out
    for line in ("stays deleted: LICENSE", "kept as it is: NEWS.md", "created: docs/new.md", "removed: .editorconfig"):
        assert line in out


@pytest.mark.parametrize("release", ["9.9.9", version("setpoint")])  # one that is not released keeps its version
def test_a_file_that_was_renamed_and_edited_is_merged_where_it_is(
    templates: Callable[[Change], None],
    monkeypatch: pytest.MonkeyPatch,
    release: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    templates(replaced("Makefile", "test:", "test: newer"))
    monkeypatch.setattr(update, "version", lambda _: release)
    Path("Makefile").rename("rules.make")
    text = Path("rules.make").read_bytes() + b"mine:\n"
    Path("rules.make").write_bytes(text.replace(b"\n", b"\r\n"))
    Path("rules.make").chmod(0o755)
    commit()
    assert setpoint("update") == 0
    assert "merged: rules.make" in capsys.readouterr().out
    content = Path("rules.make").read_bytes()
    assert b"test: newer" in content
    assert content.endswith(b"mine:\r\n")
    assert content.count(b"\n") == content.count(b"\r\n")
    assert Path("rules.make").stat().st_mode & 0o100
    assert not Path("Makefile").exists()


def test_kinds_webhooks_and_versions_that_were_added_are_updated_too(templates: Callable[[Change], None]) -> None:
    for words in (("api", "Order"), ("webhook", "Order"), ("version", "Order", "v1beta1")):
        assert setpoint("create", *words) == 0
    commit()
    paths = [f"src/shop/order/{name}.py" for name in ("controller", "webhook", "v1beta1")]

    def change(files: dict[str, File]) -> dict[str, File]:
        return {
            path: File(f"{file.text}# newer\n", once=True) if path in paths else file for path, file in files.items()
        }

    templates(change)
    assert setpoint("update") == 0
    for path in paths:
        assert Path(path).read_text().endswith("# newer\n"), path


def test_kinds_that_were_ported_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("handlers.py").write_text(
        "import kopf\n@kopf.on.create('a.example.com', 'v1', 'ponds')\ndef make(spec, **_):\n    spec.get('size')\n"
    )
    assert setpoint("init", "lake", "--from", "kopf", "handlers.py") == 0
    monkeypatch.chdir(tmp_path / "lake")
    git("init", "--quiet")
    commit()
    before = contents()
    assert setpoint("update") == 0
    assert contents() == before


@pytest.mark.parametrize(("spoil", "words"), [
    (lambda: Path("Makefile").write_text("mine"), "changes that are not committed (Makefile): commit or stash them"),
    (lambda: git("rm", "--quiet", BASE), "is missing: it has the files as setpoint init created them"),
    (lambda: Path(BASE).write_text("{"), "take it from the history of the project"),
    (lambda: Path(".git").rename("../git"), "is not in a git repository: run git init"),
    (lambda: Path(".setpoint.json").unlink(), "is not a project of setpoint init"),
])  # fmt: skip
def test_what_makes_an_update_impossible_is_one_line_and_changes_nothing(
    spoil: Callable[[], Any],
    words: str,
    templates: Callable[[Change], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    templates(replaced(".editorconfig", "root = true", "root = true\n# newer"))
    spoil()
    before = contents()
    assert setpoint("update") == 1
    assert contents() == before
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_without_git_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert setpoint("update") == 1
    assert "git is not on PATH" in capsys.readouterr().err


def test_an_update_that_was_interrupted_is_completed_by_the_same_command(
    templates: Callable[[Change], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(files: dict[str, File]) -> dict[str, File]:
        return {
            path: File(f"{file.text}\n# newer\n", once=True) if path in ("Makefile", ".editorconfig") else file
            for path, file in files.items()
        }

    edit("Makefile", "test:", "tests:")
    templates(change)
    real = file_tree.replace_file

    def failing(place: Path, content: bytes, **more: Any) -> None:
        if place.name == BASE:
            raise KeyboardInterrupt
        real(place, content, **more)

    monkeypatch.setattr(update, "replace_file", failing)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        app(["update"])
    commit()
    monkeypatch.setattr(update, "replace_file", real)
    assert setpoint("update") == 0
    makefile = Path("Makefile").read_text()
    assert makefile.count("# newer") == 1
    assert "tests:" in makefile
    assert Path(".editorconfig").read_text().count("# newer") == 1


def test_the_workflow_of_updates_is_valid_and_may_write_only_in_its_own_job() -> None:
    workflow = yaml.safe_load(Path(".github/workflows/update.yaml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "write", "pull-requests": "write"}
    script = job["steps"][-1]["run"]
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).returncode == 0

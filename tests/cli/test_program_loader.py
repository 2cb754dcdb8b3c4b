"""Naming a program on the command line: every way that Python or a shell would, and what is said of a wrong one."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from setpoint.cli.crd_sources import from_classes
from setpoint.cli.program_declarations import served_by
from setpoint.cli.program_loader import SourceError, loaded
from setpoint.crd import Versions
from setpoint.webhook import Admission

OLD = """
import setpoint as sp

class OldSpec(sp.Model):
    numpods: int = 1

class OldMykind(sp.CustomResource, group="loading.example.com", version="v1alpha1", kind="Mykind", storage=False):
    spec: OldSpec = OldSpec()
"""
NEW = """
import setpoint as sp
from {old} import OldMykind

class NewSpec(sp.Model):
    replicas: int = 1

conversion = sp.Conversion(OldMykind).rename("spec.numpods", "spec.replicas")

class Mykind(sp.CustomResource, group="loading.example.com", version="v1", conversions=[conversion]):
    spec: NewSpec = NewSpec()
"""
ADMITS = """
import setpoint as sp
from {package} import {module}

def check(mykind, review): ...

admission = sp.Admission({module}.{kind}).validates(check)
"""
NAME = "mykinds.loading.example.com"


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a package with relative imports, and the same as files beside each other."""
    package = {
        "mypkg/__init__.py": "",
        "mypkg/api/__init__.py": "",
        "mypkg/api/old.py": OLD,
        "mypkg/api/new.py": NEW.format(old="mypkg.api.old"),
        "mypkg/hooks.py": ADMITS.format(package=".api", module="new", kind="Mykind"),
        "mypkg/old_hooks.py": ADMITS.format(package=".api", module="old", kind="OldMykind") + "from .api import new\n",
    }
    beside = {
        "old_api.py": OLD,
        "new_api.py": NEW.format(old="old_api"),
        "my-operator.py": "import setpoint as sp, new_api\nadmission = sp.Admission(new_api.Mykind).defaults(len)\n",
    }
    write(tmp_path, {**package, **beside, "operator.py": beside["my-operator.py"], "sub/x.py": "x = 1", "empty.py": ""})
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "source",
    [
        "mypkg/hooks.py",
        "./mypkg/hooks.py",
        "../{here}/mypkg/hooks.py",
        "{absolute}/mypkg/hooks.py",
        "mypkg.hooks",
        "mypkg.hooks:admission",
        "mypkg/hooks.py:admission",
        "mypkg:hooks",
        "mypkg:hooks.admission",
        "mypkg/old_hooks.py",
        "my-operator.py",
        "my-operator.py:admission",
        "operator.py",
    ],
)
def test_conversions_are_served_however_the_program_is_named(source: str, here: Path) -> None:
    before = list(sys.path), set(sys.modules)
    with loaded(source.format(here=here.name, absolute=here)) as program:
        admission, versions = served_by(program)
        assert isinstance(admission, Admission)
        assert isinstance(versions, Versions)
        assert versions.versions == ("v1", "v1alpha1")
    assert sys.path == before[0]
    assert {name for name in sys.modules if name.startswith(("mypkg", "old_api", "new_api"))} <= before[1]


@pytest.mark.parametrize(
    "source",
    [
        "mypkg/api/new.py",
        "mypkg.api.new",
        "mypkg.api.new:Mykind",
        "mypkg/api:new",
        "mypkg.hooks:admission",
        "new_api.py",
    ],
)
def test_definitions_have_all_versions_however_their_module_is_named(source: str, here: Path) -> None:
    (definition,) = from_classes(source)
    assert definition["metadata"]["name"] == NAME
    assert [version["name"] for version in definition["spec"]["versions"]] == ["v1", "v1alpha1"]


@pytest.mark.parametrize(
    ("folder", "source"), [("mypkg", "hooks.py"), ("mypkg/api", "../hooks.py"), ("sub", "link.py")]
)
def test_relative_imports_work_from_within_the_package_and_through_a_link(
    folder: str, source: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "sub" / "link.py").symlink_to(here / "my-operator.py")
    (here / "sub" / "new_api.py").symlink_to(here / "new_api.py")
    (here / "sub" / "old_api.py").symlink_to(here / "old_api.py")
    monkeypatch.chdir(here / folder)
    with loaded(source) as program:
        assert len(served_by(program)) == 2


def test_the_working_directory_is_a_package_if_it_is_one(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "mypkg" / "__init__.py").write_text("from .hooks import admission\n")
    monkeypatch.chdir(here / "mypkg")
    for source in (".", "./", "__init__.py", "../mypkg", ".:admission"):
        with loaded(source) as program:
            assert len(served_by(program)) == 2


def test_two_programs_with_modules_of_the_same_names_are_not_mixed_up(tmp_path: Path) -> None:
    for folder, field in (("before", "numpods"), ("after", "replicas")):
        api = OLD.replace("storage=False", "storage=True").replace("numpods", field)
        write(
            tmp_path / folder, {"pkg/__init__.py": "", "pkg/api.py": api, "pkg/app.py": "from .api import OldMykind\n"}
        )
    for folder, field in (("before", "numpods"), ("after", "replicas")):
        (definition,) = from_classes(str(tmp_path / folder / "pkg" / "app.py"))
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert list(schema["properties"]["spec"]["properties"]) == [field]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "'': no such file; give a file (app.py), a package's folder, a module (package.module)"),
        ("missing.py", "missing.py: no such file"),
        ("my_operator.py", "my_operator.py: no such file (is my-operator.py meant?)"),
        ("new_ap.py", "new_ap.py: no such file (is new_api.py meant?)"),
        ("./new_api", "./new_api: no such file (is ./new_api.py meant?)"),
        ("mypkg\\hooks.py", "mypkg\\hooks.py: no such file (is mypkg/hooks.py meant?)"),
        ("C:\\app.py", "C:\\app.py: no such file"),
        ("C:\\app.py:admission", "C:\\app.py: no such file"),
        ("sub", "sub: this folder is not a package, as it has no __init__.py; name a file in it"),
        ("./sub", "./sub: this folder is not a package, as it has no __init__.py; name a file in it: sub/x.py"),
        (".", ".: this folder is not a package, as it has no __init__.py; name a file in it: empty.py, my-operator.py"),
        ("crd.yaml", "crd.yaml: not a Python file, as its name does not end in .py"),
        ("no.such.module", "no.such.module: no file, and no module that can be imported: No module named 'no'"),
        ("mypkg.missing", "no module that can be imported: No module named 'mypkg.missing'"),
        ("no such.module", "no such.module: no such file"),
        (".hooks", ".hooks: no such file"),
        ("mypkg.hooks:admision", "mypkg.hooks:admision: there is no admision in mypkg.hooks (is admission meant?)"),
        ("mypkg/hooks.py:a b", "mypkg/hooks.py:a b: a name must follow the colon, such as mypkg/hooks.py:controller"),
        ("new_api.py:", "new_api.py:: a name must follow the colon"),
        ("empty.py", "empty.py defines nothing to serve: it needs an Admission"),
    ],
)
def test_a_wrong_source_is_named_with_what_to_do(source: str, says: str, here: Path) -> None:
    (here / "crd.yaml").write_text("kind: CustomResourceDefinition")
    with pytest.raises(SourceError) as raised, loaded(source) as program:
        served_by(program)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n", 'app.py can\'t be imported:\n  File "{here}/app.py", line 1\n    def broken(:\n'),
        ("\n1 / 0\n", 'Traceback (most recent call last):\n  File "{here}/app.py", line 2, in <module>\n    1 / 0\n'),
        ("import nothing_like_it\n", "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("open('/no/where')\n", "FileNotFoundError: [Errno 2] No such file or directory: '/no/where'"),
        ("from .api import Mykind\n", "ImportError: attempted relative import with no known parent package"),
    ],
)
def test_what_fails_in_the_users_module_has_the_users_traceback_and_no_other(text: str, says: str, here: Path) -> None:
    (here / "app.py").write_text(text)
    with pytest.raises(SourceError) as raised, loaded("app.py"):
        pass
    assert says.format(here=here) in str(raised.value)
    assert f"setpoint{os.sep}cli" not in str(raised.value)
    assert "importlib" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "import setpoint as sp\n\nsp.main()\n",
            "app.py:3: sp.main() is called while app.py is imported; put it under if",
        ),
        ("import sys\nsys.exit(3)\n", "app.py:2: it ends the program during the import; put that under if"),
        (
            "import setpoint as sp\n\n\nclass A(sp.CustomResource, group='a.b'):\n    pass\n",
            "app.py:4: class A: version= is missing",
        ),
    ],
)
def test_a_mistake_of_the_framework_s_user_is_told_with_file_and_line(text: str, says: str, here: Path) -> None:
    (here / "app.py").write_text(text)
    with pytest.raises(SourceError) as raised, loaded("app.py"):
        pass
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_a_program_prints_while_it_is_imported_is_not_in_the_manifests(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "app.py").write_text("print('hello')\n")
    with loaded("app.py"):
        pass
    out, err = capsys.readouterr()
    assert (out, err) == ("", "hello\n")


def test_a_package_whose_name_is_taken_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"json/__init__.py": ""})
    with (
        pytest.raises(SourceError, match=r"json: another module is named json \(.*\); rename the package"),
        loaded(str(tmp_path / "json")),
    ):
        pass

"""Projects of ``setpoint init``: what is generated passes its own tests and lint, and nothing of a person's is lost."""

from __future__ import annotations

import ast
import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
import yaml

from setpoint import scaffold
from setpoint.cli.main import app
from setpoint.cli.program_loader import loaded
from setpoint.deploy.file_tree import RECORD
from setpoint.scaffold.kopf_constants import Constants
from setpoint.scaffold.names import KindName, NameProblem

ROOT = Path(__file__).parents[2]
LONG = "ValidatingAdmissionPolicyBinding"
A_LIST = "the kind 'List': clients treat a kind that ends in List as a list of objects"
SLOW = ("test_no_fault", "test_conversions_lose")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def setpoint(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(list(words))
    return int(ended.value.code or 0)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def ruff(folder: Path) -> None:
    for words in (["check", "--no-cache", "."], ["format", "--no-cache", "--check", "."]):
        done = subprocess.run(
            [Path(sys.executable).with_name("ruff"), *words], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def importable(source: Path) -> Iterator[None]:
    """``loaded`` forgets afterwards only what was found in the folders that it added itself."""
    before = set(sys.modules)
    sys.path.insert(0, str(source))
    try:
        yield
    finally:
        sys.path.remove(str(source))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(source.parent)):
                del sys.modules[name]


def run_tests(folder: Path) -> list[str]:
    """Runs the generated tests, but for those that take seconds."""
    ran = []
    with importable(folder / "src"):
        for file in sorted((folder / "tests").glob("test_*.py")):
            with loaded(str(file)) as program:
                for name, test in vars(program.module).items():
                    if name.startswith("test_") and not name.startswith(SLOW):
                        test()
                        ran.append(name)
    return ran


def test_a_project_with_everything_passes_its_own_tests_and_lint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert setpoint("init", "my-shop", "--kind", "Shop") == 0
    project = tmp_path / "my-shop"
    monkeypatch.chdir(project)
    assert setpoint("create", "api", LONG, "--version", "v1") == 0
    assert setpoint("create", "webhook", LONG) == 0
    assert setpoint("create", "webhook", "Shop") == 0
    assert setpoint("create", "version", "Shop", "v1beta1") == 0
    ruff(project)
    assert len(run_tests(project)) == 4 + 4 + 2 + 2 + 1
    kinds = [item["kind"] for item in yaml.safe_load_all((project / "deploy/base/webhooks.yaml").read_text())]
    assert kinds == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    definitions = {
        item["spec"]["names"]["kind"]: [version["name"] for version in item["spec"]["versions"]]
        for item in yaml.safe_load_all((project / "deploy/base/definitions.yaml").read_text())
    }
    assert definitions == {"Shop": ["v1beta1", "v1alpha1"], LONG: ["v1"]}


def test_with_a_lifespan_and_defaults_that_are_lists_a_project_keeps_its_lint_its_demo_and_its_tests(
    tmp_path: Path,
) -> None:
    assert setpoint("init", "shop") == 0
    package = tmp_path / "shop" / "src" / "shop"
    types, lifespan, controller = package / "shop" / "types.py", package / "lifespan.py", package / "shop/controller.py"
    types.write_text(
        types.read_text().replace("    ready: int = 0\n", "    ready: int = 0\n    names: list[str] = []\n")
    )
    text = lifespan.read_text().replace("AsyncIterator[None]", "AsyncIterator[list[str]]")
    lifespan.write_text(text.replace("    yield\n", '    yield ["shared"]\n'))
    use = "    shop.status.names = ctx.state(list)\n    (deployment,)"
    controller.write_text(controller.read_text().replace("    (deployment,)", use))
    ruff(tmp_path / "shop")
    environ = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run([sys.executable, "shop/demo.py"], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "demo: converged" in done.stdout
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "shop"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    with importable(package.parent), loaded(str(package / "__main__.py")) as program:
        assert program.module.operator.lifespan.__module__ == "shop.lifespan"


def test_a_kind_of_the_scope_cluster_passes_its_own_tests_and_lint(tmp_path: Path) -> None:
    assert setpoint("init", "shop", "--scope", "Cluster") == 0
    folder = tmp_path / "shop"
    with chdir(folder):
        assert setpoint("create", "webhook", "Shop") == 0
        assert setpoint("create", "version", "Shop", "v1beta1") == 0
        assert setpoint("create", "api", "Shop") == 1, "the scope of a kind stays"
        assert setpoint("create", "api", "Desk", "--scope", "Cluster") == 0
    ruff(folder)
    definitions = list(yaml.safe_load_all((folder / "deploy/base/definitions.yaml").read_text()))
    assert {definition["spec"]["scope"] for definition in definitions} == {"Cluster"}
    assert "Apache License" in (folder / "LICENSE").read_text()
    environ = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not test_no_fault", "."]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([sys.executable, "demo.py"], cwd=folder, env=environ, capture_output=True, text=True)
    assert "demo: converged" in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
def test_a_name_that_yaml_does_not_read_as_text_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert setpoint("init", name) == 1
    assert f"the name {name!r}: YAML reads it as a boolean or as null; try {name}-operator" in capsys.readouterr().err
    assert setpoint("init", "shop", "--kind", name.capitalize()) == 1
    assert re.search(r"kind .*: (YAML reads it as a boolean or as null; try My|a singular)", capsys.readouterr().err)
    assert setpoint("init", "shop", "--group", "1.5") == 1
    assert "--group '1.5'" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


def test_the_help_of_init_names_no_option_that_makes_no_sense(capsys: pytest.CaptureFixture[str]) -> None:
    assert setpoint("init", "--help") == 0
    printed = capsys.readouterr().out
    assert "--from" in printed
    assert "--empty" not in printed


def test_the_role_of_a_new_project_with_webhooks_is_enough_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setpoint("init", "shop") == 0
    os.chdir("shop")
    assert setpoint("create", "webhook", "Shop") == 0
    capsys.readouterr()
    assert setpoint("rbac", "src/shop/parts.py", "--role", "deploy/base") == 0, capsys.readouterr().out


def test_kubectl_shows_and_scales_a_kind_with_a_new_version_as_before(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text("""
import kopf

@kopf.on.create("acid.example.com", "v1alpha1", "postgresclusters-of-ours")
def make(spec, **_): ...
""")
    assert setpoint("init", "shop") == 0
    assert setpoint("init", "acid", "--from", "kopf", "operator.py") == 0
    for project, kind in (("shop", "Shop"), ("acid", "PostgresclustersOfOur")):
        os.chdir(tmp_path / project)
        assert setpoint("create", "version", kind, "v1beta1") == 0
        definition = yaml.safe_load((tmp_path / project / "deploy/base/definitions.yaml").read_text())
        new, old = definition["spec"]["versions"]
        assert (new["name"], old["name"]) == ("v1beta1", "v1alpha1")
        for field in ("additionalPrinterColumns", "subresources"):
            assert new.get(field) == old.get(field)
    assert definition["spec"]["names"]["plural"] == "postgresclusters-of-ours"


def test_running_a_command_again_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert setpoint("init", "shop") == 0
    before = contents(tmp_path)
    assert setpoint("init", "shop") == 0
    assert contents(tmp_path) == before
    os.chdir("shop")
    for words in (["api", "Till"], ["webhook", "Till"], ["version", "Till", "v1"]):
        assert setpoint("create", *words) == 0
    before = contents(tmp_path)
    capsys.readouterr()
    for words in (["api", "Till"], ["webhook", "Till"], ["version", "Till", "v1"]):
        assert setpoint("create", *words) == 0
    assert capsys.readouterr().out == ""
    assert contents(tmp_path) == before


def test_no_file_of_a_person_is_overwritten_without_force_and_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setpoint("init", "shop") == 0
    types = tmp_path / "shop/src/shop/shop/types.py"
    mine = types.read_text() + "\n# mine\n"
    types.write_text(mine)
    (tmp_path / "shop/Makefile").unlink()
    capsys.readouterr()
    assert setpoint("init", "shop") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "created: shop/Makefile",
        "kept (it has changes of yours; --force replaces it): shop/src/shop/shop/types.py",
    ]
    assert types.read_text() == mine
    assert setpoint("init", "shop", "--force") == 0
    assert "replaced (it had changes of yours): shop/src/shop/shop/types.py" in capsys.readouterr().out


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device", "shop")])
def test_a_command_that_was_interrupted_is_completed_by_the_same_command(
    problem: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = 7

    def replace(source: Path, target: Path) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise problem
        really(source, target)

    really = os.replace
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        assert setpoint("init", "shop") == (130 if isinstance(problem, KeyboardInterrupt) else 1)
    assert "Traceback" not in capsys.readouterr().err
    assert len(contents(tmp_path / "shop")) == 7, "no half of a file is left"
    assert setpoint("init", "shop") == 0
    output = capsys.readouterr().out
    assert "kept" not in output
    after = contents(tmp_path / "shop")
    assert setpoint("init", "shop") == 0
    assert capsys.readouterr().out == "next: cd shop && make test && make demo\n"
    assert contents(tmp_path / "shop") == after


def test_a_git_repository_gets_a_project_and_keeps_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "README.md").write_text("# My shop\n")
    assert setpoint("init", "shop") == 0
    assert "kept (it has changes of yours; --force replaces it): shop/README.md" in capsys.readouterr().out
    assert (tmp_path / "shop" / "README.md").read_text() == "# My shop\n"
    assert (tmp_path / "shop" / "pyproject.toml").exists()


def test_no_name_of_a_kind_hides_another_name_of_its_code() -> None:
    results: set[str] = set()
    for place in (Path(scaffold.__file__).parent / "templates").rglob("*.py.txt"):
        for node in ast.walk(ast.parse(place.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                results |= {name.asname or name.name for name in node.names}
            elif isinstance(node, ast.Name):
                results.add(node.id)
            elif isinstance(node, ast.arg):
                results.add(node.arg)
    results = {name for name in results if "izmo" not in name and not name.startswith("_")}
    assert {"Deployment", "cluster"} <= results
    for name in results:
        kind = "".join(word.capitalize() for word in name.split("_")) if name.islower() else name
        if name.isupper():
            continue
        try:
            module = KindName(kind, "v1", "example.com").module
        except NameProblem:
            continue
        assert module not in results, f"{kind}: its code would take {name} for something else"
        assert kind not in results


def test_the_longest_names_make_a_project_that_is_formatted(tmp_path: Path) -> None:
    name, kind, other = "a234567890-a234567890-a234567890-a234567", "Abcdefghijabcdefghijabcdefghijab", "B" + "cd" * 15
    group = "operators.a-rather-long-department.of-a-company.example.com"
    assert setpoint("init", name, "--kind", kind, "--group", group) == 0
    os.chdir(name)
    for words in (["api", other], ["webhook", kind], ["version", other, "v1beta1"]):
        assert setpoint("create", *words) == 0
    ruff(tmp_path / name)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["init", "Shop"], "setpoint init: the name 'Shop': must be at most 40 lower-case letters"),
        (["init", "../shop"], "setpoint init: the name '../shop'"),
        (["init", "json"], "setpoint init: the name 'json': Python has a module"),
        (["init", "class"], "setpoint init: the name 'class': Python has a module or keyword"),
        (
            ["init", "operator"],
            "setpoint init: the name 'operator': Python has a module or keyword of that name; try my-",
        ),
        (["init", "yaml"], "setpoint init: the name 'yaml': a package of that name is installed"),
        (["init", "pyyaml"], "setpoint init: the name 'pyyaml': a package of that name is installed"),
        (["init", "ruff"], "setpoint init: the name 'ruff': a package of that name is installed, and Python"),
        (["init", "list"], f"setpoint init: {A_LIST}; try Listing, with --kind"),
        (["init", "full"], "setpoint init: full exists already"),
        (["init", "file"], "setpoint init: file is a file; choose another name"),
        (["init", "shop", "--group", "shop"], "setpoint init: --group 'shop': must be a domain name"),
        (["init", "shop", "--kind", "shop"], "setpoint init: the kind 'shop': a singular in CamelCase"),
        (["init", "shop", "--kind", "Class"], "setpoint init: the kind 'Class': class is a keyword of Python"),
        (["init", "shop", "--kind", "List"], "setpoint init: the kind 'List': clients treat a kind that ends in List"),
        (["init", "shop", "--kind", "PlayList"], "setpoint init: the kind 'PlayList': clients treat a kind that ends"),
        (["init", "shop", "--kind", "Pod"], "setpoint init: the kind 'Pod': the project's code has another class"),
        (["init", "shop", "--version", "1"], "setpoint init: the version '1': v1alpha1"),
        (["init", "shop", "--from", "kopf", "none.py"], "setpoint init: none.py: No such file"),
        (["init", "shop", "--from", "kopf", "file"], "setpoint init: file: not a Python file"),
        (["init", "shop", "--from", "kopf", "full/app.py"], "setpoint init: full/app.py: no handlers of a custom"),
        (["create", "api", "Till"], "setpoint create api: "),
        (["create", "webhook", "Till"], "setpoint create webhook: "),
        (["create", "version", "Till", "v1"], "setpoint create version: "),
    ],
)
def test_a_wrong_word_is_one_clear_line_and_leaves_no_file(
    words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "app.py").write_text("x = 1\n")
    (tmp_path / "file").write_text("(")
    before = contents(tmp_path)
    assert setpoint(*words) == 1
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith(line)
    assert contents(tmp_path) == before


def test_a_program_that_cannot_be_loaded_keeps_its_deploy_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setpoint("init", "shop") == 0
    monkeypatch.chdir(tmp_path / "shop")
    Path("src/shop/shop/controller.py").write_text("import nowhere\n")
    before = contents(Path("deploy"))
    assert setpoint("create", "webhook", "Shop") == 1
    assert "deploy is not written: the program can't be loaded" in capsys.readouterr().err
    assert contents(Path("deploy")) == before


def test_a_record_of_another_tool_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / RECORD).write_text('{"project": {"name": 1}}')
    assert setpoint("create", "api", "Till") == 1
    assert "Expected `str`, got `int`" in capsys.readouterr().err


KOPF = """
import kopf


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.level = 10


@kopf.on.create("acid.example.com", "v1", "databases")
@kopf.on.update("acid.example.com", "v1", "databases")
async def make(spec, name, **_):
    size = spec.get("size", 1)
    engine = spec["engineName"]


@kopf.on.delete("acid.example.com", "v1", "databases")
def unmake(body, **_):
    print(body["spec"]["region"])


@kopf.timer("policies.v1beta1.acid.example.com", interval=60)
def tick(**_): pass


@kopf.on.event("", "v1", "pods")
def pod_event(**_): pass
"""


def test_a_kopf_operator_is_ported_with_its_handlers_where_they_belong(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text(KOPF)
    assert setpoint("init", "acid", "--from", "kopf", "operator.py") == 0
    project = tmp_path / "acid"
    ruff(project)
    assert len(run_tests(project)) == 2
    types = (project / "src/acid/database/types.py").read_text()
    for line in ("engine_name: Any = None", "region: Any = None", "size: int = 1", 'plural="databases"'):
        assert line in types
    controller = (project / "src/acid/database/controller.py").read_text()
    reconcile, _, rest = controller.partition("async def clean_up")
    clean_up, _, declared = rest.partition("controller = ")
    assert reconcile.count("# async def make(") == 1
    assert "(kopf, line 12: create, update) was called" in reconcile
    assert "# def unmake(" in clean_up
    assert "# def configure(" in declared
    assert "# def pod_event(" in declared
    assert "clean_up" not in (project / "src/acid/policy/controller.py").read_text()


PUBLISHED = """
import kopf as k
from kopf import on, timer

GROUP = "zalando.example.org"
API: str = f"{GROUP}/v1beta2"

class Names:
    PLURAL = "ephemeral" + "volumeclaims"

@k.on.create(API, Names.PLURAL, id="many")
async def make(spec, **_):
    size = spec.get("size")
    @k.subhandler(id="inner")
    async def inner(patch, **_):
        patch.status["inner"] = 1

@on.update("ephemeralvolumeclaims")
@on.resume("ephemeralvolumeclaims")
def change(spec, **_):
    retries = spec.get("retries", 3)

@timer("ephemeralvolumeclaims", interval=30)
async def ping(spec, **_):
    spec["target"]["url"]

@k.daemon(kind="EphemeralVolumeClaim")
async def follow(stopped, **_):
    await stopped.wait(60)

@on.delete("ephemeralvolumeclaims", optional=True)
@on.resume("ephemeralvolumeclaims")
async def both(**_):
    pass

@k.on.event("apps", "v1", "deployments")
@k.on.event("v1", "pods")
def others(**_):
    pass

@k.on.create(k.EVERYTHING)
def everything(**_):
    pass
"""


def test_handlers_that_name_their_resource_as_published_operators_do_are_those_of_its_kind(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text(PUBLISHED)
    assert setpoint("init", "evc", "--from", "kopf", "operator.py") == 0
    folder = tmp_path / "evc/src/evc/ephemeral_volume_claim"
    types = (folder / "types.py").read_text()
    for line in (
        'group="zalando.example.org",\n    version="v1beta2"',
        "size: Any",
        'plural="ephemeralvolumeclaims"',
        "retries: int = 3",
        "target: Any",
    ):
        assert line in types
    reconcile, _, rest = (folder / "controller.py").read_text().partition("async def clean_up")
    clean_up, _, declared = rest.partition("controller = ")
    for name, what in (
        ("make", "create"), ("change", "update, resume"), ("ping", "timer"), ("follow", "daemon"), ("both", "resume")
    ):  # fmt: skip
        assert re.search(rf"# {name} \(kopf, line \d+: {what}\) (was|ran)", reconcile), name
    assert re.search(r"# both \(kopf, line \d+: delete\) was called when an object was to be deleted", clean_up)
    assert re.search(r"# others \(kopf, line \d+: event, event\)", declared)
    assert "watched a resource that is known only when the program runs" in declared
    ruff(tmp_path / "evc")


BESIDE = {
    "acme/__init__.py": "",
    "acme/names.py": 'import os\nDOMAIN = os.environ.get("DOMAIN", "acme.example.com")\n',
    "acme/kinds.py": """
from acme import names
class Kinds:
    group = names.DOMAIN
    version = "v1beta1"
    tills = (names.DOMAIN, version, "tills")
TILLS = (names.DOMAIN, Kinds.version, "tills")
""",
    "acme/handlers/__init__.py": "",
    "acme/handlers/main.py": """
import kopf
from .. import kinds
from ..kinds import TILLS, Kinds
from nowhere import SOMETHING

@kopf.on.create(Kinds.group, Kinds.version, "shops")
def make(spec, **_): ...

@kopf.on.resume(kinds.Kinds.group, kinds.Kinds.version, "shops")
def again(spec, **_): ...

@kopf.on.update(*TILLS)
def change(spec, **_): ...

@kopf.on.create(*SOMETHING)
def other(spec, **_): ...
""",
}


def test_names_of_resources_are_found_in_the_modules_beside_the_handlers(tmp_path: Path) -> None:
    for name, text in BESIDE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert setpoint("init", "many", "--from", "kopf", "acme/handlers/main.py") == 0
    for module in ("shop", "till"):
        types = (tmp_path / "many/src/many" / module / "types.py").read_text()
        assert f'group="acme.example.com",\n    version="v1beta1",\n    plural="{module}s"' in types
    assert "# def again(" in (tmp_path / "many/src/many/shop/controller.py").read_text()


def test_a_resource_that_is_named_by_its_plural_alone_gets_the_group_of_the_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "operator.py").write_text("""\ufeff
import kopf
@kopf.on.create("kopfexamples")
def make(spec, **_): ...
@kopf.on.event("pods")
@kopf.on.create(kind="Deployment")
@kopf.on.update("svc")
def others(**_): ...
""")
    assert setpoint("init", "one", "--from", "kopf", "operator.py") == 0
    assert [item.parent.name for item in (tmp_path / "one/src").rglob("types.py")] == ["kopfexample"]
    types = (tmp_path / "one/src/one/kopfexample/types.py").read_text()
    assert 'group="one.example.com",\n    version="v1",\n    plural="kopfexamples"' in types
    (tmp_path / "operator.py").write_text("import kopf\n@kopf.on.create(*names())\ndef make(spec, **_): ...\n")
    assert setpoint("init", "two", "--from", "kopf", "operator.py") == 1
    text = "operator.py:3: @kopf.on.create(*names()): the resource's name is in neither this file nor one beside it"
    assert text in capsys.readouterr().err


def test_of_handlers_of_two_groups_those_of_the_given_one_are_ported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "operator.py").write_text("""
import kopf
@kopf.on.create("a.example.com", "v1", "shops")
def make(spec, **_): ...
@kopf.on.create("b.example.com", "v1", "tills")
def till(spec, **_): ...
""")
    assert setpoint("init", "both", "--from", "kopf", "operator.py") == 1
    assert "of the groups a.example.com, b.example.com; port one group at a time: --group a" in capsys.readouterr().err
    assert setpoint("init", "both", "--group", "b.example.com", "--from", "kopf", "operator.py") == 0
    controller = (tmp_path / "both/src/both/till/controller.py").read_text()
    assert "# def make(" in controller.partition("controller = ")[2], "a note about a kind that is watched"
    assert "# def till(" in controller.partition("controller = ")[0]


def test_fields_of_any_name_are_fields_of_that_name_on_the_wire(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text('''
import kopf

def install():
    @kopf.on.create("zed.example.com", "v1", "zeds")
    def make(spec, **_):
        spec["class"], spec["from"], spec["pod_name"], spec["podCIDR"], spec["Upper"], spec["in-dash"], spec["2nd"]
        spec.get("str", 'a"b'), spec.get("int", 3), spec.get("size", 1), spec.get("pod-name", "it's"), spec.get("size")
        print("""
of no indentation
  """)
''')
    assert setpoint("init", "zed-operator", "--from", "kopf", "operator.py") == 0
    ruff(tmp_path / "zed-operator")
    definition = yaml.safe_load((tmp_path / "zed-operator/deploy/base/definitions.yaml").read_text())
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    names = ["class", "from", "pod_name", "podCIDR", "Upper", "in-dash", "str", "int", "size", "pod-name"]
    assert sorted(fields) == sorted(names)
    assert fields["size"] == {"type": "integer", "default": 1, "format": "int64"}


@pytest.mark.generated
def test_a_new_project_passes_everything_in_an_environment_of_its_own(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT]
    subprocess.run(pip, check=True)
    assert setpoint("init", "shop") == 0
    os.chdir("shop")
    assert setpoint("create", "webhook", "Shop") == 0
    assert setpoint("create", "version", "Shop", "v1beta1") == 0
    environment = {**os.environ, "PIP_FIND_LINKS": str(wheels), "PYTHON": sys.executable}
    for name in ("MAKEFLAGS", "PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    done = subprocess.run(
        ["make", f"PYTHON={sys.executable}", "lint", "types", "rbac", "demo", "manifests"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "demo: converged" in done.stdout
    assert "created" not in done.stdout, "init has written all of deploy/"


def test_an_import_from_above_the_highest_folder_is_of_nothing() -> None:
    tree = ast.parse("from .. import settings\nfrom ... import more\nNAME = settings.NAME")
    constants = Constants(tree, Path("/op.py"))
    nested = Constants(tree, Path("/no-such-folder/op.py"))
    for item in (constants, nested):
        assert item.text(ast.parse("settings.NAME", mode="eval").body) is None
        assert item.text(ast.parse("more.NAME", mode="eval").body) is None

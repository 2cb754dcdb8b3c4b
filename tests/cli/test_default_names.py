"""Names of a program's objects: two programs never share one unless the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.default_names import manager_name, program_name, shard_group, webhook_name
from setpoint.cli.program import main, program
from setpoint.meta.names import dns1123_subdomain, label_value
from setpoint.models.core_v1 import ConfigMap, Pod


class BackupSpec(sp.Model):
    day: str = "monday"


class Backup(sp.CustomResource, group="named.example.com", version="v1"):
    spec: BackupSpec = BackupSpec()


class Other(sp.CustomResource, group="other.example.com", version="v1", kind="Backup"):
    spec: BackupSpec = BackupSpec()


async def reconcile(obj: sp.Object, ctx: sp.Context) -> None:
    """Nothing to do."""


def check(obj: sp.Object) -> None:
    """Nothing to say."""


def names(controller: sp.Controller[Backup] | sp.Controller[Other]) -> list[str]:
    webhooks = [sp.Admission(controller.kind).defaults(check)]
    return [program_name([controller]), manager_name([controller]), controller.reporter, webhook_name(webhooks)]


def test_two_operators_of_the_same_kind_in_two_groups_share_no_name() -> None:
    one, other = names(sp.Controller(Backup, reconcile)), names(sp.Controller(Other, reconcile))
    assert not {*one} & {*other}
    assert one == ["backup.named.example.com"] * 2 + ["named.example.com/backup", "named.example.com"]


def test_what_belongs_to_nobody_is_not_made_up() -> None:
    with pytest.raises(
        UsageError, match=r"other programs may also have a controller of configmaps: give the program a name with --n"
    ):
        program_name([sp.Controller(ConfigMap, reconcile)])
    with pytest.raises(UsageError, match="named after the API group, and all of these kinds are built in"):
        webhook_name([sp.Admission(Pod).defaults(check)])
    both = [sp.Admission(Backup).defaults(check), sp.Admission(Other).defaults(check)]
    with pytest.raises(UsageError, match=r"these are named\.example\.com, other\.example\.com"):
        webhook_name(both)
    assert webhook_name(both, "mine.example.com") == "mine.example.com"
    assert program_name([sp.Controller(ConfigMap, reconcile, name="copier")]) == "copier"
    assert program_name([sp.Controller(ConfigMap, reconcile)], "mine.example.com") == "mine.example.com"


@pytest.mark.parametrize("name", ["my_operator", "My", "", "a b", "x" * 254, "-a", "main.py/"])
def test_a_name_that_objects_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"the name .*RFC 1123|no more than 253"):
        program_name([sp.Controller(Backup, reconcile)], name)
    with pytest.raises(UsageError, match="the name "):
        webhook_name([], name)


def test_long_names_stay_valid_and_different() -> None:
    first, second = (f"{'very-' * 20}long-{end}.example.com" for end in ("a", "b"))
    groups = {shard_group(name) for name in (first, second)}
    assert len(groups) == 2
    assert not any(label_value(group) + dns1123_subdomain(group) for group in groups)
    assert shard_group("short") == "short"
    controller = sp.Controller(Backup, reconcile, name="x" * 200)
    assert len(controller.field_manager) == 128
    assert len(controller.reporter.rpartition("/")[2]) == 63


@pytest.mark.parametrize("file", ["my_operator.py", "main.py", "Operator.py", "mein programm.py"])
def test_manifests_are_the_same_whatever_the_file_is_called(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    controllers, admissions = [sp.Controller(Backup, reconcile)], [sp.Admission(Backup).defaults(check)]
    for words, names in (
        ([], ["named.example.com", "backup.named.example.com"]),
        (["--name", "mine.example.com"], ["mine.example.com"] * 2),
    ):
        with pytest.raises(SystemExit) as ended:
            program(file, sp.Operator(controllers, admissions))(["manifests", "--service", "hooks", *words])
        assert ended.value.code == 0
        _, hooks, role = yaml.safe_load_all(capsys.readouterr().out)
        assert [item["metadata"]["name"] for item in (hooks, role)] == names


def test_the_program_s_own_name_is_its_objects_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [str(Path("folder") / "operator" / "__main__.py")])
    with pytest.raises(SystemExit):
        main(sp.Controller(ConfigMap, reconcile), name="mine.example.com", argv=["manifests"])
    (role,) = yaml.safe_load_all(capsys.readouterr().out)
    assert role["metadata"]["name"] == "mine.example.com"
    with pytest.raises(SystemExit):
        main(sp.Controller(ConfigMap, reconcile), argv=["manifests"])
    assert capsys.readouterr().err.startswith(
        "operator: other programs may also have a controller of configmaps: give the program"
    )


@pytest.mark.parametrize("elects", ["--leader-elect", "--shards"])
def test_a_lease_that_others_could_have_is_not_taken(elects: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(sp.Controller(ConfigMap, reconcile), argv=["run", elects])
    assert ended.value.code == 1
    assert "other programs may also have a controller of configmaps" in capsys.readouterr().err


def test_what_is_no_part_of_a_program_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(Backup, argv=["run"])  # type: ignore[arg-type]
    assert "sp.main() takes an Operator, or controllers, admissions, policies and runnables" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(argv=["run"])
    assert "there is neither a controller to run nor an admission to serve" in capsys.readouterr().err

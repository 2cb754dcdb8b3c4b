"""The command line of a controller: flags that exclude each other, and the permissions that flags need."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from tests.programs import program as program_of

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.program import program
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.deploy.roles import role_of_declarations
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import ConfigMap
from setpoint.permissions import access_reviews, declared, leases


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    """Nothing to do."""


def test_shards_and_an_election_exclude_each_other() -> None:
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(UsageError, match="--shards and --leader-elect exclude each other"):
        app(["run", "--shards", "--leader-elect"])


@pytest.mark.parametrize("flags", [[], ["--processes", "2", "--shards"]])
def test_caches_divide_by_keys_among_processes_whose_keys_stay(flags: list[str]) -> None:
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(UsageError, match="--divide-caches needs --processes, and can't be combined with --shards"):
        app(["run", "--divide-caches", *flags])


@pytest.mark.parametrize("name", ["default/setpoint-paused", "Paused", ""])
def test_a_pause_switch_that_can_not_exist_is_refused(name: str) -> None:
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(UsageError, match=f"--pause-switch: '{name}' is not the name of a ConfigMap: "):
        app(["run", "--pause-switch", name])


def test_the_role_allows_what_elections_and_shards_do_to_leases() -> None:
    controllers = [sp.Controller(ConfigMap, reconcile)]
    role = role_of_declarations(declared(controllers) | leases() | access_reviews(), "x")
    (rule,) = (rule for rule in role["rules"] if "leases" in rule["resources"])
    assert rule["verbs"] == ["create", "delete", "get", "list", "patch", "update"]


def test_the_role_allows_to_ask_who_may_read_metrics_and_debug_pages() -> None:
    controllers = [sp.Controller(ConfigMap, reconcile)]
    role = role_of_declarations(declared(controllers) | leases() | access_reviews(), "x")
    allowed = {
        (group, name): rule["verbs"]
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
    }
    assert allowed["authentication.k8s.io", "tokenreviews"] == ["create"]
    assert allowed["authorization.k8s.io", "subjectaccessreviews"] == ["create"]
    assert allowed["events.k8s.io", "events"] == ["create", "patch"]


def test_clusters_of_a_folder_and_an_embedded_one_exclude_each_other() -> None:
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(UsageError, match="--clusters and --embedded exclude each other"):
        app(["run", "--clusters", "folder", "--embedded"])


@pytest.mark.parametrize("name", ["missing", "file"])
def test_clusters_without_a_folder_are_refused_by_the_flags_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(
        UsageError, match=f"--clusters: .*{name} is not a folder; name one that has a kubeconfig of each"
    ):
        app(["run", "--clusters", str(tmp_path / name)])


@pytest.mark.parametrize("flag", ["--kubeconfig", "--context"])
def test_a_cluster_that_is_named_and_an_embedded_one_exclude_each_other(flag: str) -> None:
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(UsageError, match=f"{flag} and --embedded exclude each other"):
        app(["run", flag, "mine", "--embedded"])


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--ui"], "--ui needs --metrics-bind-address"),
        (["--profiling"], "--profiling needs --metrics-bind-address"),
        (["--metrics-secure", "--metrics-cert-dir", "tls"], "--metrics-secure needs --metrics-bind-address"),
        (["--metrics-bind-address", "8080"], "--metrics-bind-address: bind address '8080' is not of the form"),
        (["--health-probe-bind-address", "x:y"], "--health-probe-bind-address: bind address 'x:y' is not of the form"),
    ],
)
def test_flags_of_pages_are_checked_before_a_cluster_is_looked_for(
    flags: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    app = program("mykind.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(UsageError, match=re.escape(problem)):
        app(["run", *flags])


async def test_a_program_runs_in_every_cluster_of_a_folder_while_its_kubeconfig_is_there(tmp_path: Path) -> None:
    (tmp_path / "mykind.py").write_text(PROGRAM)
    folder = tmp_path / "clusters"
    folder.mkdir()
    async with EmbeddedCluster(control_plane=False) as home, EmbeddedCluster(control_plane=False) as east:
        home.write_kubeconfig(tmp_path / "home")
        east.write_kubeconfig(folder / "east")
        for cluster in (home, east):
            await cluster.client.create(ConfigMap.named("a", "default"))
        words = (
            tmp_path / "mykind.py",
            "run",
            "--kubeconfig",
            tmp_path / "home",
            "--clusters",
            folder,
            "--leader-elect",
        )
        async with program_of(*words, home=tmp_path) as running:
            await running.until(lambda p: any("reconciled default/a in east" in line for line in p.out), "a reconcile")
            assert not any("in home" in line for line in running.out)
            assert await home.client.get(Lease, "copier.example.com", namespace="default")
            assert await running.signalled(signal.SIGTERM) == 0, running.printed()


PROGRAM = """
import setpoint as sp
from setpoint.models.core_v1 import ConfigMap

async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    print("reconciled", ctx.key, "in", ctx.cluster or "home", flush=True)

if __name__ == "__main__":
    sp.main(sp.Controller(ConfigMap, reconcile, namespace="default"), name="copier.example.com")
"""

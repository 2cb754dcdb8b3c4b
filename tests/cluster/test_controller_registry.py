"""The controllers of the control plane that run: by their names, and when they have objects to work on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cluster.workloads import selector, stateful_set, template

from setpoint.apps.error_reports import UsageError
from setpoint.cli.server import serve
from setpoint.cli.server_flags import PlaneFlags
from setpoint.cluster.controller_registry import ENTRIES, UnknownControllerError, chosen
from setpoint.cluster.workloads.deployments import Deployments
from setpoint.cluster.workloads.replicasets import ReplicaSets
from setpoint.models.apps_v1 import Deployment, DeploymentSpec, ReplicaSet, StatefulSet
from setpoint.models.core_v1 import ConfigMap, Pod, ServiceAccount
from setpoint.testing import cluster, virtual_time


def deployment(replicas: int = 2) -> Deployment:
    spec = DeploymentSpec(replicas=replicas, selector=selector(), template=template())
    return Deployment.named("web", "default", spec=spec)


def names(*given: str) -> list[str]:
    return [entry.name for entry in chosen(given)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("deployment",), ["deployment-controller"]),
        (("deployment-controller", "replicaset"), ["deployment-controller", "replicaset-controller"]),
        (("garbagecollector",), ["garbage-collector-controller"]),
        (("root-ca-cert-publisher",), ["root-ca-certificate-publisher-controller"]),
        (("endpoint",), ["endpointslice-controller"]),
        ((), []),
        (("-job",), []),
    ],
)
def test_controllers_are_chosen_by_the_names_of_kube_controller_manager(
    given: tuple[str, ...], expected: list[str]
) -> None:
    assert names(*given) == expected


def test_all_but_some_are_chosen_in_any_order() -> None:
    everything = [entry.name for entry in ENTRIES if entry.is_default]
    assert names("*") == everything
    without = [name for name in everything if name not in ("job-controller", "cronjob-controller")]
    assert names("*", "-job", "-cronjob") == names("-cronjob-controller", "*", "-job") == without


@pytest.mark.parametrize("given", ["deploymnt", "-deploymnt"])
def test_an_unknown_name_is_answered_with_the_one_probably_meant(given: str) -> None:
    with pytest.raises(
        UnknownControllerError, match=r"no controller is named 'deploymnt'; did you mean 'deployment'\?"
    ):
        chosen(["*", given])


def test_the_command_refuses_an_unknown_controller_in_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"^--controllers: no controller is named 'nodes'"):
        serve(host="127.0.0.1", port=0, kubeconfig=None, data_dir=None, plane=PlaneFlags(controllers="*,nodes"))


def test_the_documentation_names_every_controller() -> None:
    page = (Path(__file__).parents[2] / "docs" / "control-plane.md").read_text()
    named = re.findall(r"^\| `([a-z-]+)`", page, re.MULTILINE)
    assert named == [entry.name.removesuffix("-controller") for entry in ENTRIES]


@virtual_time
async def test_a_cluster_runs_the_controllers_that_were_asked_for_and_no_others() -> None:
    async with cluster(control_plane=["deployment", "replicaset"]) as world:
        await world.create(deployment())
        await world.create(stateful_set(1))
        await world.settle()
        assert len(await world.list(Pod)) == 2
        assert (await world.get(Deployment, "web")).status.ready_replicas == 2
        assert (await world.get(StatefulSet, "web")).status.current_replicas is None
        assert await world.list(ConfigMap) == []
        assert await world.list(ServiceAccount) == []


@virtual_time
async def test_controllers_of_the_control_plane_run_in_a_test_as_any_other() -> None:
    async with cluster(Deployments().controller, ReplicaSets().controller, control_plane=False) as world:
        await world.create(deployment())
        await world.settle()
        (result,) = await world.list(ReplicaSet)
        assert result.status.replicas == 2
        assert [pod.status.phase for pod in await world.list(Pod)] == ["Pending", "Pending"]


@virtual_time
async def test_only_controllers_that_have_something_to_watch_run() -> None:
    async with cluster() as world:
        await world.settle()
        assert world.control_plane is not None
        running = world.control_plane.manager.controllers
        before = set(running)
        assert "deployment-controller" not in before
        await world.create(deployment(1))
        await world.settle()
        begun = set(running) - before
        assert {"deployment-controller", "replicaset-controller"} <= begun
        assert not {"statefulset-controller", "job-controller", "endpoints", "persistent-volumes"} & begun

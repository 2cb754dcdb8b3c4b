"""``manifests --for``: what an older cluster lacks."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.cli.cluster_version import missing_in
from setpoint.cli.program import main
from setpoint.models.core_v1 import ConfigMap, PodTemplateSpec, ServiceSpec
from setpoint.models.networking_v1 import ServiceCIDR


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...


def run(*words: str, kinds: Any = ()) -> int:
    controller = sp.Controller(ConfigMap, reconcile)
    for kind in kinds:
        controller = controller.reads(kind)
    try:
        main(controller, name="web", argv=["manifests", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_kind_that_the_controllers_watch_is_named_and_the_manifests_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--for", "1.31", kinds=[ServiceCIDR]) == 1
    printed = capsys.readouterr()
    assert "kind: ClusterRole" in printed.out
    assert "ServiceCIDR of networking.k8s.io/v1 is not in 1.31 (since 1.33)" in printed.err


@pytest.mark.parametrize("words", [(), ("--image", "registry.example.com/web:1")])
def test_a_program_that_an_older_cluster_can_run_has_nothing_named(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--for", "1.31", *words) == 0
    assert capsys.readouterr().err == ""


def test_fields_of_printed_objects_are_named_with_the_object() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: a}\nspec: {hostUsers: false, resources: {}}\n"
    assert missing_in("1.32", pod, []) == [
        "Pod a/web: spec.hostUsers is beta, and off by default, in 1.32 (on by default since 1.33)",
        "Pod a/web: spec.resources is alpha, and off by default, in 1.32 (on by default since 1.34)",
    ]
    assert missing_in("1.34", pod, []) == []


class RunnerSpec(sp.Model):
    template: PodTemplateSpec
    others: list[dict[str, ServiceSpec]] = []


class Runner(sp.CustomResource, group="grp.example.com", version="v1"):
    spec: RunnerSpec


def test_fields_that_users_can_set_in_a_custom_kind_are_named_and_nothing_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--for", "1.33", kinds=[Runner]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert "Runner of grp.example.com/v1 takes fields that 1.33 lacks in its own kinds: " in line
    assert "Container.restartPolicyRules, " in line
    assert run("--for", "1.37", kinds=[Runner]) == 0
    assert capsys.readouterr().err == ""


def test_a_version_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--for", "1.12") != 0
    assert "--for: '1.12' is not a version of Kubernetes from 1.31" in capsys.readouterr().err

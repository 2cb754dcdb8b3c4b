"""Values that the server makes up - uids, names, addresses, ports, versions - don't count as differences of runs."""

from __future__ import annotations

from typing import Any

from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Service, ServicePort, ServiceSpec
from setpoint.simulation import Setup
from setpoint.simulation.comparison.differences import find_differences
from setpoint.simulation.comparison.placeholders import Placeholders
from setpoint.simulation.comparison.snapshot import make_snapshot
from setpoint.simulation.execution.in_process import run_in_process
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.trace.result import Options, Result

ONE, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def stand_ins(**documents: Any) -> Placeholders:
    result = {(collection, "x"): document for collection, document in documents.items()}
    called = {ONE: "pods default/a", OTHER: "pods default/a", "1767225600007": "newest version of pods a"}
    return Placeholders(result, called)


def test_a_uid_becomes_a_name_wherever_it_stands() -> None:
    words = stand_ins(pods={"metadata": {"uid": ONE, "name": "a"}})
    assert words.text(f"data-{ONE}") == "data-<uid of pods default/a>"
    assert words.text(f"data-{ONE[:8]}-0") == "data-<uid of pods default/a>-0"
    assert words.text("data-33333333-0") == "data-33333333-0"


def test_the_uid_of_a_predecessor_is_another_one() -> None:
    words = stand_ins(pods={"metadata": {"uid": ONE, "name": "a"}})
    assert words.text(OTHER) == "<uid of an earlier pods default/a>"


def test_generated_names_and_versions_become_words_within_a_text() -> None:
    words = stand_ins(pods={"metadata": {"uid": ONE, "name": "load-x8f2k", "generateName": "load-"}})
    assert words.text("load-x8f2k.default.svc at 1767225600007") == "load-*.default.svc at <newest version of pods a>"


def test_an_address_that_the_server_gave_out_becomes_its_owner() -> None:
    service = {"metadata": {"name": "web"}, "spec": {"clusterIP": "10.96.0.10", "ports": [{"nodePort": 30000}]}}
    words = stand_ins(services=service)
    assert words.text("http://10.96.0.10:80") == "http://<address of services web>:80"
    assert words.text("10.96.0.11") == "10.96.0.11"
    assert words.port(30000) == "<port of services web>"
    headless = stand_ins(services={"metadata": {"name": "web"}, "spec": {"clusterIP": "None"}})
    assert headless.text("None") == "None"


def test_the_id_of_a_container_is_that_of_any_other() -> None:
    words = stand_ins(pods={"metadata": {"uid": ONE, "name": "a"}})
    assert words.text("containerd://" + "0a" * 32) == words.text("hollow://" + "9f" * 32) == "<id of a container>"
    assert words.text("registry.example/web@sha256:" + "0a" * 32) != "<id of a container>"


def services(first: str, second: str) -> Any:
    def one(name: str, address: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name, "namespace": "default", "resourceVersion": "9"},
            "spec": {"clusterIP": address},
        }

    return {("services", "default/a"): one("a", first), ("services", "default/b"): one("b", second)}


def test_services_that_were_made_in_another_order_are_the_same() -> None:
    ours, theirs = services("10.96.0.10", "10.96.0.11"), services("10.96.0.11", "10.96.0.10")
    assert find_differences(make_snapshot(ours, {}, since=1), make_snapshot(theirs, {}, since=1)) == []


# -- in a run ----------------------------------------------------------------------------------------------------------


async def two_lives(cluster: sp.testing.Cluster) -> None:
    for _ in range(2):
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()
        await cluster.delete(await cluster.get(App, "one"))
        await cluster.settle()
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


async def by_the_uid(app: App, ctx: sp.Context) -> None:
    """Names that no other run could know, if uids hung on how many requests came before."""
    await ctx.keep(ConfigMap, [ConfigMap.named(f"{app.name}-{hash_of(app.uid)}", data={"port": "80"})])
    ports = ServiceSpec(ports=[ServicePort(port=80)])
    await ctx.keep(Service, [Service.named(f"{app.name}-{letter}", spec=ports) for letter in "ab"])


def hash_of(text: str) -> int:
    return sum(map(ord, text))


def run(*faults: Any) -> Result:
    setup = Setup(scenario=two_lives, factory=lambda: [sp.Controller(App, by_the_uid).owns(ConfigMap).owns(Service)])
    return run_in_process(setup, Plan(faults), Options(quiet=False))


def test_a_fault_does_not_change_the_uids_of_what_comes_later() -> None:
    calm, hasty = run(), run(fault("early", "step 1", writes=0))
    assert hasty.injected == [0]
    assert hasty.writes < calm.writes
    assert calm.end == hasty.end

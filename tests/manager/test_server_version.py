"""A manager compares the version of the API server with the models when it starts."""

from __future__ import annotations

import logging

import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.manager.server_version import ServerVersion, difference
from setpoint.models.apps_v1 import Deployment
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.networking_v1 import ServiceCIDR


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...


async def messages(version: str, controller: sp.Controller[ConfigMap], caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.set_level(logging.INFO, "setpoint.manager")
    async with ApiServer(kubernetes=version) as server, Client(InProcessTransport(server.handle)) as client:
        await ServerVersion(client, [controller]).run()
    return [record.getMessage() for record in caplog.records if record.name == "setpoint.manager"]


async def test_a_kind_that_the_server_lacks_is_named(caplog: pytest.LogCaptureFixture) -> None:
    controller = sp.Controller(ConfigMap, reconcile).reads(ServiceCIDR)
    assert await messages("1.31", controller, caplog) == [
        "the API server is Kubernetes 1.31: it has no networking.k8s.io/v1 ServiceCIDR"
    ]


async def test_fields_of_owned_kinds_that_the_server_drops_are_named_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    controller = sp.Controller(ConfigMap, reconcile).owns(Deployment)
    (line,) = await messages("1.33", controller, caplog)
    assert line.startswith("the API server is Kubernetes 1.33: it drops these fields of kinds that are owned here: ")
    assert "Container.restartPolicyRules" in line


@pytest.mark.parametrize("version", ["1.33", "1.37"])
async def test_nothing_is_said_about_what_the_server_has(version: str, caplog: pytest.LogCaptureFixture) -> None:
    assert await messages(version, sp.Controller(ConfigMap, reconcile).owns(ConfigMap), caplog) == []


def test_a_version_before_the_oldest_that_is_known_is_said_to_be_too_old() -> None:
    assert difference(30, [], []) == (logging.WARNING, "versions before 1.31 are not supported")


async def test_a_server_that_does_not_answer_is_left_to_the_requests_that_need_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = ApiServer()  # it is not running, so it answers 503
    async with Client(InProcessTransport(server.handle)) as client:
        await ServerVersion(client, [sp.Controller(ConfigMap, reconcile)]).run()
    assert [record.levelno for record in caplog.records if record.name == "setpoint.manager"] in ([], [logging.DEBUG])

"""The modules that ``import setpoint`` may load. Its time follows from them, and is not asserted on a clock."""

from __future__ import annotations

import subprocess
import sys

import pytest

import setpoint

ONLY_THE_DOOR = """
import sys
import typing
import setpoint
loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "setpoint")
assert loaded == ["setpoint"], loaded
others = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"setpoint", "__main__"}
assert not [name for name in others if "site-packages" in (getattr(sys.modules[name], "__file__", None) or "")], others
"""


def test_import_loads_nothing_until_it_is_used() -> None:
    # Isolated and without site: an environment's own .pth files import what they like.
    code = f"import sys; sys.path[:0] = {sys.path!r}\n{ONLY_THE_DOOR}"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_every_public_name_is_found() -> None:
    assert setpoint.__all__ == sorted(setpoint.__all__)
    for name in setpoint.__all__:
        assert getattr(setpoint, name) is not None
    assert set(setpoint.__all__) == {*setpoint._HOMES, "simulation", "testing"}


@pytest.mark.parametrize(
    "heavy", ["aiohttp", "cryptography", "cyclopts", "rich", "prometheus_client", "setpoint.models.core_v1"]
)
def test_import_leaves_alone_what_only_some_need(heavy: str) -> None:
    subprocess.run([sys.executable, "-c", f"import sys, setpoint; assert {heavy!r} not in sys.modules"], check=True)


def test_only_classes_with_rules_wait_for_cel() -> None:
    declared = """
import sys
from setpoint.crd import CustomResource, Field
from setpoint.webhook import Admission
class Ferry(CustomResource, group="ferries.example.com", version="v1"): ...
Admission(Ferry)
assert not any(name.startswith("setpoint.cel") for name in sys.modules)
class Boat(CustomResource, group="ferries.example.com", version="v1", rules=["has(self.kind)"]): ...
assert "setpoint.cel" in sys.modules
"""
    subprocess.run([sys.executable, "-c", declared], check=True)


def test_client_controllers_and_manager_work_where_aiohttp_cyclopts_and_rich_are_not_installed() -> None:
    used = """
import asyncio
import sys


class LeftOut:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("aiohttp", "cyclopts", "rich"):
            raise ImportError(f"{name} is not installed")


sys.meta_path.insert(0, LeftOut())
import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.blocking import Client as BlockingClient
from setpoint.client import InProcessTransport
from setpoint.models.core_v1 import ConfigMap
from setpoint.webhook import Webhooks


class Ferry(sp.CustomResource, group="ferries.example.com", version="v1"): ...


def judge(ferry: Ferry, review: sp.Review[Ferry]) -> None: ...


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    done.set()


async def main() -> None:
    Webhooks(sp.Admission(Ferry).validates(judge))
    async with ApiServer() as server, sp.Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a", "default"))
        async with sp.Manager(client, controllers=[sp.Controller(ConfigMap, reconcile)]):
            await done.wait()


done = asyncio.Event()
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", used], check=True)

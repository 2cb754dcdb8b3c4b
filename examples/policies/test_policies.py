"""The tests of policies.py and policies.yaml."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from policies import REGISTRIES, TEAM, admission

import setpoint as sp
from setpoint.client import ApiError, Invalid
from setpoint.meta import from_wire
from setpoint.models.admissionregistration_v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from setpoint.models.core_v1 import Container, Namespace, Pod, PodSpec

POLICY, BINDING = yaml.safe_load_all(Path(__file__).with_name("policies.yaml").read_text(encoding="utf-8"))
STRICT = Namespace.named("strict", "", {TEAM: "red"}, {REGISTRIES: "registry.example.com, localhost:5000"})


def pod(image: str, namespace: str = "default") -> Pod:
    return Pod.named("web", namespace, spec=PodSpec(containers=[Container(name="main", image=image)]))


@asynccontextmanager
async def running() -> AsyncGenerator[sp.testing.Cluster]:
    objects = [
        STRICT,
        from_wire(ValidatingAdmissionPolicy, POLICY),
        from_wire(ValidatingAdmissionPolicyBinding, BINDING),
    ]
    async with sp.testing.cluster(webhooks=[admission], objects=objects) as cluster:
        await cluster.settle()
        yield cluster


async def refusal(cluster: sp.testing.Cluster, wanted: Pod, error: type[ApiError]) -> str:
    with pytest.raises(error) as refused:
        await cluster.create(wanted)
    return refused.value.message


@pytest.mark.parametrize("image", ["nginx", "nginx:latest", "localhost:5000/nginx"])
@sp.testing.virtual_time
async def test_an_image_without_a_version_is_refused(image: str) -> None:
    async with running() as cluster:
        message = await refusal(cluster, pod(image), Invalid)
        assert message.endswith(f"denied request: images need a digest, or a tag other than latest: {image}")


@pytest.mark.parametrize("image", ["nginx:1.27", "localhost:5000/nginx:1", f"nginx@sha256:{'0' * 64}"])
@sp.testing.virtual_time
async def test_an_image_with_a_version_is_allowed(image: str) -> None:
    async with running() as cluster:
        assert (await cluster.create(pod(image))).labels == {}


@sp.testing.virtual_time
async def test_a_namespace_says_which_registries_its_images_come_from() -> None:
    async with running() as cluster:
        message = await refusal(cluster, pod("nginx:1.27", "strict"), Invalid)
        assert (
            'spec.containers[0].image: Unsupported value: "nginx:1.27": '
            'supported values: "localhost:5000", "registry.example.com"'
        ) in message
        await cluster.create(pod("registry.example.com/web:1", "strict"))


@sp.testing.virtual_time
async def test_pods_get_the_team_of_their_namespace() -> None:
    async with running() as cluster:
        pod_ = await cluster.create(pod("localhost:5000/web:1", "strict"))
        assert pod_.labels == {TEAM: "red"}


@sp.testing.virtual_time
async def test_the_system_may_run_what_it_likes() -> None:
    async with running() as cluster:
        await cluster.create(pod("nginx:latest", "kube-system"))

"""Nodes: kubelets register them together with their status."""

from __future__ import annotations

from typing import Any

from tests.apiserver.harness import serving

NODES = "/api/v1/nodes"
STATUS = {
    "capacity": {"cpu": "4"},
    "allocatable": {"cpu": "3500m"},
    "conditions": [{"type": "Ready", "status": "True"}],
}


def node(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "status": {**STATUS, **status}}


async def test_a_node_is_created_with_its_status_and_later_written_without() -> None:
    async with serving() as api:
        new_node = (await api.post(NODES, node())).ok()
        assert new_node["status"]["allocatable"] == STATUS["allocatable"]
        assert new_node["status"]["conditions"][0]["status"] == "True"
        changed = {**new_node, "status": {"capacity": {"cpu": "8"}}}
        after = (await api.send("PUT", f"{NODES}/a", changed)).ok()
        assert after["status"] == new_node["status"]


async def test_a_node_with_amounts_that_are_not_valid_is_not_created() -> None:
    async with serving() as api:
        refused = await api.post(NODES, node(allocatable={"cpu": "-1"}))
        status = refused.failed(422, "Invalid")
        assert [cause["field"] for cause in status["details"]["causes"]] == ["status.allocatable.cpu"]

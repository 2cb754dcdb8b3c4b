"""Functions of an admission decide on a stored object that no longer fits its class, as the API server lets it be."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import setpoint as sp
from setpoint.client import ApiError
from setpoint.crd import crd_for
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.testing import virtual_time


class Before(sp.CustomResource, group="tiers.example.com", version="v1", kind="Tier"):
    spec: dict[str, Any] = {}


class TierSpec(sp.Model):
    size: Annotated[int, sp.Field(le=5)] = 1
    note: str = ""


class Tier(sp.CustomResource, group="tiers.example.com", version="v1"):
    spec: TierSpec = TierSpec()


@virtual_time
async def test_an_object_beyond_a_tightened_bound_is_defaulted_checked_changed_and_deleted() -> None:
    seen: list[tuple[str, Any]] = []

    def fill_in(tier: Tier) -> None:
        seen.append(("defaults", tier.spec.size))
        tier.spec.note = tier.spec.note or "filled in"

    def judge(tier: Tier, review: sp.Review[Tier]) -> None:
        seen.append((review.operation, tier.spec.size))
        if tier.labels.get("bad"):
            review.deny("no bad labels")

    admission = sp.Admission(Tier).defaults(fill_in).validates(judge, on=("create", "update", "delete"))
    async with sp.testing.cluster(crds=[Before], control_plane=False) as cluster:
        old = Before.named("a", "default", spec={"size": 9})
        old.metadata.finalizers.append("tiers.example.com/care")
        await cluster.create(old)
        tightened = {"spec": {"versions": crd_for(Tier)["spec"]["versions"]}}
        await cluster.client.patch(CustomResourceDefinition, "tiers.tiers.example.com", tightened)
        await cluster.serve(admission)

        label = {"metadata": {"labels": {"a": "b"}}}
        await cluster.client.patch(Before, "a", label, namespace="default")
        stored = await cluster.get(Before, "a")
        assert (stored.labels, stored.spec) == ({"a": "b"}, {"size": 9, "note": "filled in"})
        assert seen == [("defaults", 9), ("update", 9)]

        with pytest.raises(ApiError, match="no bad labels"):
            await cluster.client.patch(Before, "a", {"metadata": {"labels": {"bad": "1"}}}, namespace="default")
        with pytest.raises(ApiError, match="less than or equal to 5"):
            await cluster.client.patch(Before, "a", {"spec": {"size": 8}}, namespace="default")

        await cluster.delete(stored)
        assert seen[-1] == ("delete", 9)
        await cluster.client.patch(Before, "a", {"metadata": {"finalizers": []}}, namespace="default")
        assert await cluster.find(Before, "a") is None

"""The repository's own example survives what it promises to survive."""

from __future__ import annotations

import mykind
import pytest

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, check
from setpoint.simulation.scenario.generator import generate_scenario


async def scale_and_delete(cluster: sp.testing.Cluster) -> None:
    for number in (3, 1):
        sample = mykind.Mykind.named("sample", "default", spec=mykind.MykindSpec(numpods=number))
        await cluster.apply(sample)
        await cluster.settle()
    await cluster.delete(await cluster.get(mykind.Mykind, "sample"))
    await cluster.settle()


def test_mykind_survives() -> None:
    report = check(scale_and_delete, lambda: [mykind.controller], budget=Budget(runs=150))
    assert report.points["writes"] >= 7
    assert len(report.faults) > 12, "every family of faults has its turn"


def test_a_scenario_is_made_from_a_schema() -> None:
    scenario = generate_scenario([mykind.controller], most=1)
    report = check(scenario, lambda: [mykind.controller], budget=Budget(runs=20))
    assert report.points["steps"] >= 7


class SealedSpec(sp.Model):
    seal: str = "a"
    size: int = 1


class Sealed(sp.CustomResource, group="sealed.example.com", version="v1"):
    """A kind with a field that never changes, as a webhook says."""

    spec: SealedSpec = SealedSpec()


@sp.testing.virtual_time
async def test_a_generated_scenario_leaves_out_changes_that_a_webhook_refuses() -> None:
    sizes: set[int] = set()

    async def reconcile(sealed: Sealed, ctx: sp.Context) -> None:
        sizes.add(sealed.spec.size)

    def judge(sealed: Sealed, review: sp.Review[Sealed]) -> None:
        if review.old is not None and sealed.spec.seal != review.old.spec.seal:
            review.forbidden("spec.seal", "it never changes")

    controller = sp.Controller(Sealed, reconcile)
    async with sp.testing.cluster(controller, webhooks=[sp.Admission(Sealed).validates(judge)]) as cluster:
        await generate_scenario([controller])(cluster)
        assert len(sizes) > 1, "the other field has been changed"
        (left,) = await cluster.list(Sealed)
        assert left.spec.size > SealedSpec().size, "the end states of runs are compared, so there has to be something"


class Backup(sp.Model):
    schedule: str
    keep: int = 3


class RichSpec(sp.Model):
    a: int = 1
    b: int = 1
    c: int = 1
    d: int = 1
    e: int = 1
    f: int = 1
    g: int = 1
    h: int = 1
    backup: Backup | None = None
    tags: list[str] | None = None


class Rich(sp.CustomResource, group="test.example.com", version="v1"):
    spec: RichSpec = RichSpec()


@sp.testing.virtual_time
async def test_a_generated_scenario_removes_optional_parts_of_a_kind_with_many_properties() -> None:
    seen: list[RichSpec] = []

    async def reconcile(rich: Rich, ctx: sp.Context) -> None:
        seen.append(rich.spec)

    controller = sp.Controller(Rich, reconcile)
    async with sp.testing.cluster(controller) as cluster:
        await generate_scenario([controller])(cluster)
    full = next(item for item in seen if item.backup is not None and item.tags)
    for name in ("backup", "tags"):
        others = [item for item in seen if not getattr(item, name) and item != seen[0]]
        assert any(item.a == full.a and (item.backup or item.tags) for item in others), name
    assert len({item.a for item in seen}) > 1, "properties have been changed, too"


class ShopSpec(sp.Model):
    banner: str | None = None
    links: list[str] = []


class Shop(sp.CustomResource, group="shops.example.com", version="v1"):
    """A shop whose spec has a default with an empty list, which a server only fills in for an absent spec."""

    spec: ShopSpec = ShopSpec()


class Stall(sp.CustomResource, group="shops.example.com", version="v1"):
    """A shop whose spec may be absent, and has no default."""

    spec: ShopSpec | None = None


def banners(shop: Shop | Stall) -> list[ConfigMap]:
    text = shop.spec and shop.spec.banner
    return [ConfigMap.named(f"{shop.name}-banner", data={"text": text})] if text else []


async def leaves_banners(shop: Shop | Stall, ctx: sp.Context) -> None:
    for banner in banners(shop):
        await ctx.apply(banner)


async def keeps_banners(shop: Shop | Stall, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, banners(shop))


@pytest.mark.parametrize("kind", [Shop, Stall])
def test_what_an_optional_part_leaves_behind_is_found_without_a_scenario(kind: type[Shop | Stall]) -> None:
    leaving = [sp.Controller(kind, leaves_banners).owns(ConfigMap)]
    scenario = generate_scenario(leaving)
    with pytest.raises(Counterexample, match="sample-banner") as caught:
        check(scenario, lambda: leaving, budget=Budget(runs=5), workers=0)
    assert [finding.oracle for finding in caught.value.findings] == ["paths"]
    check(scenario, lambda: [sp.Controller(kind, keeps_banners).owns(ConfigMap)], budget=Budget(runs=12), workers=0)

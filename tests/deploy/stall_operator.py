"""An operator with everything that can block its removal: a finalizer, two versions with a conversion, a webhook."""

from __future__ import annotations

from dataclasses import dataclass

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap


class OldSpec(sp.Model):
    size: int = 1


class StallV1(sp.CustomResource, group="stalls.example.com", version="v1", kind="Stall", storage=False):
    """A stall, as it was."""

    spec: OldSpec


class StallSpec(sp.Model):
    metres: int = 1


class Stall(
    sp.CustomResource,
    group="stalls.example.com",
    version="v2",
    conversions=(sp.Conversion(StallV1).rename("spec.size", "spec.metres"),),
):
    """A stall of a market."""

    spec: StallSpec


@dataclass
class Options:
    market: str = "main"


async def reconcile(stall: Stall, ctx: sp.Context) -> None:
    """Nothing to do."""


async def clean_up(stall: Stall, ctx: sp.Context) -> None:
    """Leaves a proof that it ran; a stall of 13 metres can't be cleaned up."""
    if stall.spec.metres == 13:
        raise OSError("the lorry does not come")
    await ctx.apply(ConfigMap.named(f"cleaned-{stall.name}", stall.namespace), controlled=False)


def judge(stall: Stall, review: sp.Review[Stall]) -> None:
    if stall.spec.metres > 100:
        review.invalid("spec.metres", stall.spec.metres, "must be no more than 100")


controller = sp.Controller(Stall, reconcile).finalize(clean_up).needs(ConfigMap, "create", "patch")
operator = sp.Operator([controller], [sp.Admission(Stall).validates(judge)], options=Options)

if __name__ == "__main__":
    sp.main(operator)

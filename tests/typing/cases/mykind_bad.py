"""Mistakes in a controller of one's own kind that a type checker must find."""

from __future__ import annotations

from mykind import Mykind, MykindSpec, MykindStatus

import setpoint as sp
from setpoint.models.core_v1 import Container, Pod, PodSpec


async def reconcile(mykind: Mykind, ctx: sp.Context) -> sp.Outcome:
    _ = mykind.spec.numpod  # E:
    mykind.spec.numpods = "3"  # E:
    mykind.status.redy = 1  # E:
    pods = ctx.owned(Pod)
    _ = pods[0].is_redy  # E:
    await ctx.apply(Pod(spec=PodSpec(container=[Container(name="main")])))  # E:
    await ctx.delete("sample-0")  # E:
    return "done"  # E:


async def takes_a_pod(pod: Pod, ctx: sp.Context) -> sp.Outcome:
    return sp.after("soon")  # E:


class Misspelt(sp.CustomResource, group="grp.example.com", verison="v1"):  # E: basedpyright
    spec: MykindSpec


class NoVersion(sp.CustomResource, group="grp.example.com", version=1):  # E: basedpyright
    spec: MykindSpec


class NoRules(sp.Model, rulez=()):  # E: basedpyright
    size: int = 1


Mykind(spec=MykindSpec(numpod=1))  # E:
Mykind(status=MykindStatus())  # E:
sp.Controller(Mykind, takes_a_pod)  # E:
sp.Controller(Mykind, reconcile).own(Pod)  # E:

sp.Contxt  # E:
sp.testing.clsuter  # E:

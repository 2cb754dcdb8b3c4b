"""The program of processes.py: each reconcile changes the Site's ConfigMap and status, and so causes the next one."""

from __future__ import annotations

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap

_PAGE = "<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n<p>This page was written {turn} times.</p>\n"


class SiteSpec(sp.Model):
    title: str = ""


class SiteStatus(sp.Model):
    turn: int = 0


class Site(sp.CustomResource, group="bench.example.com", version="v1"):
    spec: SiteSpec = SiteSpec()
    status: SiteStatus = SiteStatus()


async def reconcile(site: Site, ctx: sp.Context) -> None:
    turn = site.status.turn + 1
    page = _PAGE.format(title=site.spec.title, turn=turn)
    await ctx.apply(ConfigMap.named(site.name, site.namespace, data={"index.html": page, "turn": str(turn)}))
    site.status.turn = turn


# It writes without end on purpose, which a controller of users must not.
controller = sp.Controller(Site, reconcile, workers=8, hot_loop=None).owns(ConfigMap)

if __name__ == "__main__":
    sp.main(controller)

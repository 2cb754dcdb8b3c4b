"""ClusterRole aggregation: roles that combine the rules of other roles."""

from __future__ import annotations

from collections.abc import Iterable

from setpoint.cache import Head
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.controller.cache_reader import CacheReader
from setpoint.meta import Selector, to_wire
from setpoint.models.rbac_v1 import ClusterRole, PolicyRule


class AggregatedRoles:
    """Gives a ClusterRole with an ``aggregationRule`` the rules of all roles that its selectors match, each rule once,
    ordered by selector and then by the name of the role.
    """

    def __init__(self) -> None:
        self.controller = (
            Controller(ClusterRole, self._reconcile, name="clusterrole-aggregation", leader_only=False)
            .watches(ClusterRole, _aggregates)
            .index("aggregates", lambda role: "yes" if role.aggregation_rule is not None else None)
        )

    async def _reconcile(self, role: ClusterRole, ctx: Context) -> Outcome:
        if role.aggregation_rule is None:
            return done()
        rules: list[PolicyRule] = []
        for selector in role.aggregation_rule.cluster_role_selectors:
            roles = await ctx.list(ClusterRole, selector=Selector.of(selector))
            for other in sorted(roles, key=lambda aggregated: aggregated.name):
                if other.name != role.name:
                    rules += [rule for rule in other.rules if rule not in rules]
        if rules != role.rules:
            await ctx.patch(role, {"rules": to_wire(rules)})
        return done()


def _aggregates(_: Head, caches: CacheReader) -> Iterable[str]:
    return caches.lister(ClusterRole).keys(index=("aggregates", "yes"))

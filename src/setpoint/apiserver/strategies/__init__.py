"""The behaviour of the built-in resources. A resource without a strategy here has the default behaviour."""

from __future__ import annotations

from setpoint.apiserver.resources.strategy import Strategy
from setpoint.meta import GroupResource

__all__ = ["Strategy", "strategy_for"]


def strategy_for(resource: GroupResource) -> Strategy:
    """The behaviour of a built-in resource; the default behaviour if it has no strategy of its own."""
    from setpoint.apiserver.strategies.strategy_table import STRATEGIES, VERSIONED

    strategy = STRATEGIES.get(str(resource)) or Strategy()
    strategy.unconditional_update = str(resource) not in VERSIONED
    return strategy

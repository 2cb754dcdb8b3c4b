"""One process: runnables in order, leader election, health, metrics, signals, logging."""

from setpoint.manager.group import Runnable, RunnableEnded
from setpoint.manager.health import HealthChecks
from setpoint.manager.leader_election import (
    FencedTransport,
    LeaderElection,
    LeaderElector,
    LeadershipLost,
    WriteRefused,
)
from setpoint.manager.manager import Manager
from setpoint.manager.metrics import ProcessMetrics
from setpoint.manager.shard_member import ShardMember
from setpoint.manager.shard_transport import ShardTransport
from setpoint.manager.sharding import Sharding
from setpoint.manager.signals import stopping_on_signals

__all__ = [
    "FencedTransport",
    "HealthChecks",
    "LeaderElection",
    "LeaderElector",
    "LeadershipLost",
    "Manager",
    "ProcessMetrics",
    "Runnable",
    "RunnableEnded",
    "ShardMember",
    "ShardTransport",
    "Sharding",
    "WriteRefused",
    "stopping_on_signals",
]

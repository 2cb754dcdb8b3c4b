"""Everything around the controllers of one process: runnables in order, leader election, health, metrics, signals,
logging.
"""

from setpoint.manager.cluster import FleetCluster
from setpoint.manager.fence import FencedTransport, WriteRefused
from setpoint.manager.fleet import Fleet, Provider
from setpoint.manager.group import Runnable, RunnableEnded
from setpoint.manager.health import HealthChecks
from setpoint.manager.kubeconfigs import KubeconfigFolder, KubeconfigSecrets
from setpoint.manager.leader_election import LeaderElection
from setpoint.manager.leader_elector import LeaderElector
from setpoint.manager.leader_shard import LeaderShard
from setpoint.manager.leadership import Leadership, LeadershipLost
from setpoint.manager.manager import Lifespan, Manager
from setpoint.manager.metrics import ProcessMetrics
from setpoint.manager.parts import Runtime, Serving
from setpoint.manager.shard_member import ShardMember
from setpoint.manager.sharding import Sharding
from setpoint.manager.signals import stopping_on_signals

__all__ = [
    "FencedTransport",
    "Fleet",
    "FleetCluster",
    "HealthChecks",
    "KubeconfigFolder",
    "KubeconfigSecrets",
    "LeaderElection",
    "LeaderElector",
    "LeaderShard",
    "Leadership",
    "LeadershipLost",
    "Lifespan",
    "Manager",
    "ProcessMetrics",
    "Provider",
    "Runnable",
    "RunnableEnded",
    "Runtime",
    "Serving",
    "ShardMember",
    "Sharding",
    "WriteRefused",
    "stopping_on_signals",
]

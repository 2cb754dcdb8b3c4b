"""Everything around the controllers of one process: runnables in order, leader election, health, metrics, signals,
logging.
"""

from setpoint.manager.fleet.cluster_profiles import ClusterProfiles
from setpoint.manager.fleet.fleet import Fleet, Provider
from setpoint.manager.fleet.fleet_cluster import FleetCluster
from setpoint.manager.fleet.kubeconfig_providers import ClusterApiSecrets, KubeconfigFolder, KubeconfigSecrets
from setpoint.manager.health_checks import HealthChecks
from setpoint.manager.leader_election.config import LeaderElection
from setpoint.manager.leader_election.leader_elector import LeaderElector
from setpoint.manager.leader_election.leadership import Leadership, LeadershipLost
from setpoint.manager.manager import Lifespan, Manager
from setpoint.manager.metrics import ProcessMetrics
from setpoint.manager.options import ManagerOptions, Serving
from setpoint.manager.runnable_group import Runnable, RunnableEnded
from setpoint.manager.sharding.config import Sharding
from setpoint.manager.sharding.shard_member import ShardMember
from setpoint.manager.signals import stopping_on_signals
from setpoint.manager.write_fence import FencedTransport, WriteRefused

__all__ = [
    "ClusterApiSecrets",
    "ClusterProfiles",
    "FencedTransport",
    "Fleet",
    "FleetCluster",
    "HealthChecks",
    "KubeconfigFolder",
    "KubeconfigSecrets",
    "LeaderElection",
    "LeaderElector",
    "Leadership",
    "LeadershipLost",
    "Lifespan",
    "Manager",
    "ManagerOptions",
    "ProcessMetrics",
    "Provider",
    "Runnable",
    "RunnableEnded",
    "Serving",
    "ShardMember",
    "Sharding",
    "WriteRefused",
    "stopping_on_signals",
]

"""Several processes for one program: a supervisor, and child processes that share the keys of its controllers."""

from setpoint.manager.key_partition import Partition
from setpoint.manager.processes.child_handle import Launcher
from setpoint.manager.processes.parent_link import Parent, ParentLease, SupervisorLost
from setpoint.manager.processes.supervisor import ChildFailed, Supervisor

__all__ = ["ChildFailed", "Launcher", "Parent", "ParentLease", "Partition", "Supervisor", "SupervisorLost"]

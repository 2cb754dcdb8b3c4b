"""Several processes for one program: a supervisor, and child processes that share the keys of its controllers."""

from setpoint.manager.partition import Partition
from setpoint.manager.processes.child import Launcher
from setpoint.manager.processes.parent import Parent, ParentLease, SupervisorLost
from setpoint.manager.processes.supervisor import ChildFailed, Supervisor

__all__ = ["ChildFailed", "Launcher", "Parent", "ParentLease", "Partition", "Supervisor", "SupervisorLost"]

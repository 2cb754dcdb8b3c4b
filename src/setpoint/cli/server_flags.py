"""The flags of ``setpoint server`` for its objects and its control plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ObjectFlags:
    """The objects of the server.

    Parameters
    ----------
    data_dir
        Store the objects in this directory (SQLite). Without it they are kept in memory until the process ends.
    backup
        Don't serve: copy the database of --data-dir to this file, replacing it if it exists, and end. A server may use
        the directory meanwhile.
    manifests
        Apply the objects in the YAML and JSON files of this directory, and of the directories in it, before the server
        says that it is ready: Namespaces and CustomResourceDefinitions first, then the others in the order of paths.
    """

    data_dir: Path | None = None
    backup: Path | None = None
    manifests: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlaneFlags:
    """The control plane of the server, and its version.

    Parameters
    ----------
    control_plane
        Also run a control plane: Kubernetes' built-in controllers, a scheduler and hollow nodes.
    controllers
        The controllers to run, separated by commas, as in kube-controller-manager: * means all of them, NAME one of
        them, and -NAME all but that one (--controllers='*,-cronjob').
    nodes
        The number of hollow nodes, on which pods become Running although no container is executed. With 0, pods wait
        for a Node that another program creates, such as kwok, and are left to that program. "local" is one
        node that runs pods as processes of this machine if their image is process.setpoint.dev/PROGRAM, or if they
        have an annotation process.setpoint.dev/command: anyone who can reach the server can run programs as you.
    kubernetes
        The version of Kubernetes whose kinds and fields the server has, from 1.31 on: newer kinds are not served, newer
        fields are unknown.
    service_cluster_ip_range
        The network of the addresses of Services (10.96.0.0/12 by default). Two networks, one of each IP family, make
        the server dual-stack: --service-cluster-ip-range 10.96.0.0/12,fd00:10:96::/112.
    """

    control_plane: Annotated[bool, Parameter(negative="--no-control-plane")] = True
    controllers: str = "*"
    nodes: int | Literal["local"] = 1
    kubernetes: str = "1.37"
    service_cluster_ip_range: str = ""

    @property
    def names(self) -> list[str] | None:
        """The controllers to run; None if there is no control plane."""
        return [name.strip() for name in self.controllers.split(",")] if self.control_plane else None

"""The command line of a controller: flags that exclude each other, and the permissions that flags need."""

from __future__ import annotations

import pytest

import setpoint as sp
from setpoint.cli.manifests import cluster_role
from setpoint.cli.program import program
from setpoint.models.core_v1 import ConfigMap


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    """Nothing to do."""


def test_shards_and_an_election_exclude_each_other() -> None:
    app = program("mykind.py", [sp.Controller(ConfigMap, reconcile)])
    with pytest.raises(SystemExit, match="--shards and --leader-elect exclude each other"):
        app(["run", "--shards", "--leader-elect"])


def test_the_role_allows_what_elections_and_shards_do_to_leases() -> None:
    role = cluster_role([sp.Controller(ConfigMap, reconcile)], "x")
    (rule,) = (rule for rule in role["rules"] if "leases" in rule["resources"])
    assert rule["verbs"] == ["create", "delete", "get", "list", "patch", "update"]

"""Writes the objects that a new cluster has, as a kube-apiserver made them, to the file that the embedded server reads.

    python tools/bootstrap_objects.py KUBECONFIG

The server should have just started, with a kube-controller-manager of which at least the controller
``clusterrole-aggregation-controller`` runs. Objects that name the server's address are made by the embedded server
itself, and identities, times and versions are left out here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from setpoint.client import Client

TARGET = Path(__file__).parents[1] / "src/setpoint/apiserver/bootstrap/objects.jsonl"
COLLECTIONS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "PriorityLevelConfiguration": "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "APIService": "/apis/apiregistration.k8s.io/v1/apiservices",
}
OWN = ("uid", "resourceVersion", "creationTimestamp", "selfLink")


def main() -> None:
    lines = asyncio.run(objects(Path(sys.argv[1])))
    TARGET.write_text("".join(f"{json.dumps(line, separators=(',', ':'), ensure_ascii=False)}\n" for line in lines))
    print(f"{len(lines)} lines in {TARGET}")


async def objects(kubeconfig: Path) -> list[Any]:
    """The sets of managed fields, each once, and the objects, each with the number of its set."""
    managed: list[Any] = []
    entries: list[Any] = []
    async with Client.from_kubeconfig(kubeconfig) as client:
        for kind, path in COLLECTIONS.items():
            listed = json.loads(await client.request("GET", path))
            for obj in listed["items"]:
                metadata = {name: value for name, value in obj["metadata"].items() if name not in OWN}
                fields = without_times(metadata.pop("managedFields", []))
                if fields not in managed:
                    managed.append(fields)
                rest = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion", "metadata")}
                entry = {"apiVersion": listed["apiVersion"], "kind": kind, "metadata": metadata, **without_times(rest)}
                entries.append([managed.index(fields), entry])
    return [managed, *entries]


def without_times(value: Any) -> Any:
    """The value; each of its moments is an empty text, which becomes that of the server's start."""
    if isinstance(value, list):
        return [without_times(item) for item in value]
    if isinstance(value, dict):
        return {
            name: "" if name in ("time", "lastTransitionTime") else without_times(item) for name, item in value.items()
        }
    return value


if __name__ == "__main__":
    main()

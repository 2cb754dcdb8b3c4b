"""The objects that an informer follows in the benchmark, by workload: JSON in the order in which Go writes each kind.

* ``pods``: pods of 5.4 KB that differ in names, owners and addresses, as replicas do.
* ``unlike``: pods of 9 KB in the mean, with one to four containers, whose environments and annotations are random.
* ``nodes``: 9 KB, most of which is the list of images. An event is a heartbeat.
* ``secrets``: 4 KB of random data, which no dictionary compresses.
* ``events``: 1 KB, without a spec and without owners.
* ``custom``: 1 KB, with sorted keys: apiVersion first, and more of the metadata behind managedFields.
* ``cluster``: nodes and pods at once, twelve pods to a node; 696,050 objects are the 53,513 nodes and 642,537 pods of a
  cluster in NVSentinel's issue 1757.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
from pods import pod

Json = dict[str, Any]
_TIME = "2026-01-01T00:00:00Z"
CLUSTER = "cluster"
_CLUSTER_NODES, _CLUSTER_PODS = 53_513, 642_537


class Workload(NamedTuple):
    """The path segment and the kind of the objects, and the function that makes one of a number and a version."""

    api_version: str
    plural: str
    kind: str
    make: Callable[[int, int, random.Random], Json]


def objects(workload: Workload, count: int, *, round: int = 0) -> Iterator[bytes]:
    """The JSON of ``count`` objects; of a later ``round``, the same objects with other versions and states."""
    draw, first = random.Random(1), 1000 + round * count
    result = (workload.make(number, first + number, draw) for number in range(count))
    return map(msgspec.json.encode, result)


def parts(name: str, count: int) -> dict[str, int]:
    """The numbers of objects of the workloads in a workload, which is one of `WORKLOADS` or `CLUSTER`."""
    if name != CLUSTER:
        return {name: count}
    nodes = round(count * _CLUSTER_NODES / (_CLUSTER_NODES + _CLUSTER_PODS))
    return {"nodes": nodes, "pods": count - nodes}


def _metadata(name: str, namespace: str, version: int, draw: random.Random, fields: Json, **more: Any) -> Json:
    """Metadata in the order of Go, with managedFields at the end."""
    entry = {"manager": "controller", "operation": "Update", "apiVersion": "v1", "time": _TIME}
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": str(uuid.UUID(int=draw.getrandbits(128))),
        "resourceVersion": str(version),
        "creationTimestamp": _TIME,
        **more,
        "managedFields": [{**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}],
    }


def _words(draw: random.Random, count: int) -> str:
    return " ".join(f"{draw.getrandbits(28):x}" for _ in range(count))


def _unlike_pod(number: int, version: int, draw: random.Random) -> Json:
    obj = pod(number, version, draw)
    model, state = obj["spec"]["containers"][0], obj["status"]["containerStatuses"][0]
    annotations = {
        f"{_words(draw, 1)}.example.com/{_words(draw, 1)}": _words(draw, draw.randint(1, 40)) for _ in range(5)
    }
    obj["metadata"]["annotations"] |= annotations
    containers, states, owned = [], [], {}
    for index in range(draw.randint(1, 4)):
        name, image = f"c{index}-{_words(draw, 1)}", f"registry.example.com/{_words(draw, 1)}:{_words(draw, 1)}"
        variables = [f"VAR_{_words(draw, 1).upper()}" for _ in range(draw.randint(2, 13))]
        environment = [{"name": variable, "value": _words(draw, draw.randint(1, 6))} for variable in variables]
        containers.append({**model, "name": name, "image": image, "env": environment})
        states.append({**state, "name": name, "image": image, "containerID": f"containerd://{draw.getrandbits(256):x}"})
        keys = {f'k:{{"name":"{variable}"}}': {".": {}, "f:name": {}, "f:value": {}} for variable in variables}
        owned[f'k:{{"name":"{name}"}}'] = {".": {}, "f:env": {".": {}, **keys}, "f:image": {}, "f:name": {}}
    obj["spec"]["containers"], obj["status"]["containerStatuses"] = containers, states
    obj["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"] = owned
    return obj


def _node(number: int, version: int, draw: random.Random) -> Json:
    name = f"node-{number:05d}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "kubernetes.io/os": "linux",
    }
    fields = {
        "f:status": {"f:conditions": {f'k:{{"type":"{kind}"}}': {"f:lastHeartbeatTime": {}} for kind in _CONDITIONS}}
    }
    images = random.Random(number % 20)  # nodes of one pool have the same
    heartbeat = f"2026-01-01T{version // 3600 % 24:02d}:{version // 60 % 60:02d}:{version % 60:02d}Z"
    times = {"lastHeartbeatTime": heartbeat, "lastTransitionTime": _TIME}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": _metadata(name, "", version, draw, fields, labels=labels),
        "spec": {
            "podCIDR": f"10.{number // 256}.{number % 256}.0/24",
            "providerID": f"cloud://{draw.getrandbits(64):x}",
        },
        "status": {
            "capacity": {"cpu": "8", "memory": "32863320Ki", "pods": "110"},
            "allocatable": {"cpu": "7910m", "memory": "30310232Ki", "pods": "110"},
            "conditions": [{"type": kind, "status": "False", **times, "reason": f"No{kind}"} for kind in _CONDITIONS],
            "addresses": [{"type": "InternalIP", "address": f"10.0.{number // 256}.{number % 256}"}],
            "nodeInfo": {"machineID": f"{draw.getrandbits(128):x}", "kubeletVersion": "v1.36.0"},
            "images": [
                {
                    "names": [f"registry.example.com/{images.getrandbits(40):x}@sha256:{images.getrandbits(256):064x}"],
                    "sizeBytes": images.getrandbits(28),
                }
                for _ in range(50)
            ],
        },
    }


_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Ready")


def _secret(number: int, version: int, draw: random.Random) -> Json:
    fields = {"f:data": {".": {}, "f:ca.crt": {}, "f:tls.crt": {}, "f:tls.key": {}}, "f:type": {}}
    data = {key: base64.b64encode(draw.randbytes(1000)).decode() for key in ("ca.crt", "tls.crt", "tls.key")}
    labels = {"app": f"svc-{number % 500}"}
    return {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": _metadata(f"tls-{number}", f"team-{number % 50:02d}", version, draw, fields, labels=labels),
        "data": data,
        "type": "kubernetes.io/tls",
    }


def _event(number: int, version: int, draw: random.Random) -> Json:
    namespace, about = f"team-{number % 50:02d}", f"svc-{number % 500:03d}-{draw.getrandbits(40):x}"
    fields = {
        f"f:{name}": {} for name in ("count", "firstTimestamp", "involvedObject", "lastTimestamp", "message", "reason")
    }
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": _metadata(f"{about}.{draw.getrandbits(60):x}", namespace, version, draw, fields),
        "involvedObject": {
            "kind": "Pod",
            "namespace": namespace,
            "name": about,
            "uid": str(uuid.UUID(int=draw.getrandbits(128))),
            "apiVersion": "v1",
        },
        "reason": "BackOff",
        "message": f"Back-off restarting failed container main in pod {about}_{namespace}({_words(draw, 4)})",
        "source": {"component": "kubelet", "host": f"node-{number % 300:04d}"},
        "firstTimestamp": _TIME,
        "lastTimestamp": _TIME,
        "count": version,
        "type": "Warning",
        "eventTime": None,
        "reportingComponent": "kubelet",
        "reportingInstance": f"node-{number % 300:04d}",
    }


def _custom(number: int, version: int, draw: random.Random) -> Json:
    fields = {"f:spec": {".": {}, "f:replicas": {}, "f:settings": {".": {}}}, "f:status": {"f:ready": {}}}
    settings = {f"setting-{index}": _words(draw, 3) for index in range(10)}
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    obj = {
        "apiVersion": "bench.example.com/v1",
        "kind": "Mykind",
        "metadata": _metadata(f"my-{number}", f"team-{number % 50:02d}", version, draw, fields, generation=1),
        "spec": {"replicas": number % 7, "settings": settings, "checksum": digest},
        "status": {"ready": version % 7, "observedGeneration": 1, "phase": "Running"},
    }
    ordered: Json = json.loads(json.dumps(obj, sort_keys=True))
    return ordered


WORKLOADS = {
    "pods": Workload("v1", "pods", "Pod", pod),
    "unlike": Workload("v1", "pods", "Pod", _unlike_pod),
    "nodes": Workload("v1", "nodes", "Node", _node),
    "secrets": Workload("v1", "secrets", "Secret", _secret),
    "events": Workload("v1", "events", "Event", _event),
    "custom": Workload("bench.example.com/v1", "mykinds", "Mykind", _custom),
}

"""Catalog: what may go wrong on a real cluster, and why each fault is possible there. Each has a switch."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from setpoint.simulation.faults.plan import Fault


class FaultKind(NamedTuple):
    """A switch for the kinds of faults in ``faults``. ``description`` says what these faults do, ``why`` explains why
    they occur on a real cluster, and ``source`` names documentation or observations that confirm it.
    """

    faults: tuple[str, ...]
    description: str
    why: str
    source: str


SWITCHES: Final[dict[str, FaultKind]] = {
    "crash": FaultKind(
        ("crash-before", "crash-after"),
        "the process is killed before or after a write or an external call, and starts again at once, or only after "
        "the user's next step or next deletion",
        "nodes fail, the kernel kills for lack of memory, rollouts replace pods: SIGKILL comes between any two "
        "instructions",
        "Sieve, intermediate state (OSDI'22); Pod lifecycle, kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle",
    ),
    "restart": FaultKind(
        ("restart",),
        "the process is replaced while it has nothing to do",
        "every rollout of a new version does it",
        "Deployment strategy Recreate, kubernetes.io/docs/concepts/workloads/controllers/deployment",
    ),
    "down": FaultKind(
        ("down",),
        "no process runs while the user does the next step",
        "a pod that can't be scheduled, an image that can't be pulled, a crash loop's back-off of five minutes",
        "kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle#restart-policy",
    ),
    "time-travel": FaultKind(
        ("time-travel",),
        "a process starts on lists that are older than what its predecessor saw, from a server that can't stream lists",
        "a list at resourceVersion=0 is answered from the watch cache of whichever API server is asked, however old",
        "kubernetes/kubernetes#59848; Sieve, stale state (OSDI'22); KEP-3157 makes streamed lists consistent",
    ),
    "lag": FaultKind(
        ("lag",),
        "changes of one kind are seen later than those of other kinds: seconds, minutes, or over the user's next step "
        "(an hour at most)",
        "each resource has a watch, and a watch cache, of its own; nothing orders one against another",
        "kubernetes.io/docs/reference/using-api/api-concepts#efficient-detection-of-changes; Kamera (SOSP'26)",
    ),
    "squash": FaultKind(
        ("squash",),
        "intermediate states are never seen: the watch ends with 410, and the informer lists again",
        "the API promises only the latest state; a watch whose version was compacted begins again with a list",
        "kubernetes.io/docs/reference/using-api/api-concepts#410-gone-responses; Sieve, unobserved state",
    ),
    "watch": FaultKind(
        ("hang-up", "expire"),
        "a watch's connection breaks, or the watch ends with 410 although no change was missed",
        "servers end every watch after some minutes, load balancers sooner; etcd is compacted every five minutes",
        "kube-apiserver --min-request-timeout, --etcd-compaction-interval",
    ),
    "conflict": FaultKind(
        ("conflict",),
        "another program writes the object just before, and reverts it: a write that names a version gets 409",
        "labels, annotations and managed fields are written by many",
        "kubernetes.io/docs/reference/using-api/api-concepts#resource-versions",
    ),
    "throttle": FaultKind(
        ("error-429",),
        "429 with Retry-After",
        "API Priority and Fairness queues and rejects",
        "kubernetes.io/docs/concepts/cluster-administration/flow-control",
    ),
    "error": FaultKind(
        ("error-500",),
        "500, and nothing was written",
        "etcd changes its leader",
        "etcd errors are passed on as InternalError: apiserver/pkg/storage/etcd3",
    ),
    "lost": FaultKind(
        ("lost-request", "lost-answer"),
        "the connection breaks before the request got through, or after it was carried out",
        "a network may lose either way; the client can't know which it was",
        "RFC 9110, 9.2.2: idempotent methods",
    ),
    "late": FaultKind(
        ("late-write",),
        "a write that timed out is carried out after the next attempt, by the same process or by the next one (not of "
        "a lease, which ends by itself)",
        "requests wait in queues of proxies and servers after their sender has given up",
        "kubernetes.io/docs/concepts/cluster-administration/flow-control#queuing",
    ),
    "slow": FaultKind(
        ("slow-request", "slow-answer"),
        "one request takes long, before or after it is carried out",
        "requests queue, networks retransmit, servers collect garbage",
        "kubernetes.io/docs/concepts/cluster-administration/flow-control",
    ),
    "user": FaultKind(
        ("early",),
        "the user goes on before the controllers are done",
        "users and pipelines don't wait",
        "Sieve, unobserved state; Acto (SOSP'23)",
    ),
    "garbage-collector": FaultKind(
        ("pause-gc",),
        "the garbage collector is late by a step or two",
        "it works through a queue of all objects of a cluster, and through restarts of its process",
        "kubernetes.io/docs/concepts/architecture/garbage-collection",
    ),
    "control-plane": FaultKind(
        ("pause-plane",),
        "the other controllers (workloads, namespaces, kubelets) are late by a step or two",
        "each is a process of its own, with queues of its own",
        "kubernetes.io/docs/concepts/architecture/controller",
    ),
    "pause": FaultKind(
        ("pause-controller", "freeze"),
        "the controllers' process is stopped for a while and then continues with an outdated view; its requeues are "
        "late",
        "SIGSTOP, CPU throttling, a virtual machine that is moved",
        "kubernetes.io/docs/concepts/configuration/manage-resources-containers; client-go leaderelection, package doc",
    ),
    "cluster": FaultKind(
        ("cut-off",),
        "one of a fleet's clusters can't be reached from the start, over the user's next step, or for minutes",
        "clusters are in other networks, and behind gateways; their servers are upgraded, one after the other",
        "kubernetes.io/docs/tasks/administer-cluster/cluster-upgrade; sigs.k8s.io/multicluster-runtime, providers",
    ),
    "clock": FaultKind(
        ("clock",),
        "the process's clock is wrong, or jumps",
        "clocks are set, and no mechanism keeps the clocks of two machines equal",
        "client-go leaderelection, package doc; NTP, RFC 5905",
    ),
    "order": FaultKind(
        ("reverse-lists", "shuffle"),
        "lists and first events come in another order, for the whole run or at every second start of a process, and "
        "its controllers start in another order; so do the keys of work queues, and requests take so long that "
        "concurrent reconciles overlap in another way",
        "the API promises no order for lists from a watch cache, nor for the initial events of a watch; work queues "
        "put keys together and have several workers; no request takes the same time twice",
        "kubernetes.io/docs/reference/using-api/api-concepts#semantics-for-watch; client-go util/workqueue",
    ),
    "hash-seed": FaultKind(
        ("hash-seed",),
        "the process has another hash seed: sets come in another order (only where the code makes sets)",
        "Python chooses a new one for every process",
        "docs.python.org/3/using/cmdline.html#envvar-PYTHONHASHSEED",
    ),
    "resync": FaultKind(
        ("resync", "expire-all"),
        "every object is reconciled, or every kind is listed, once more",
        "informers resync, watches of all kinds end when a server does",
        "client-go tools/cache, SharedInformer",
    ),
    "external": FaultKind(
        ("external-fails", "external-lost", "external-empty", "external-late"),
        "an external system can't be reached, its answer is lost, it answers as if it had no data, or it carries out "
        "a call after its caller has given up and after the user's next step",
        "it is another system, behind another network, and has queues of its own",
        "cass-operator #973; crossplane external-create-pending",
    ),
}
_SWITCH: Final = {name: switch for switch, kind in SWITCHES.items() for name in kind.faults}


def is_off(fault: Fault, off: Collection[str]) -> bool:
    """Whether the fault is switched off. ``lag`` switches off every fault that holds a watch back, also one that drops
    what it has held back (``squash``).
    """
    switch = switch_of(fault.kind, dict(fault.how))
    return switch in off or (switch == "squash" and "lag" in off)


def switch_of(kind: str, how: dict[str, object]) -> str:
    """The name of the switch for a fault of that kind with the details ``how``."""
    if kind == "restart" and "behind" in how:
        return "time-travel"
    if kind == "lag" and how.get("relist"):
        return "squash"
    if kind == "pause":
        return {"garbage collector": "garbage-collector", "control plane": "control-plane"}.get(
            str(how.get("who")), "pause"
        )
    return _SWITCH[kind]

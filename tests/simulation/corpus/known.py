"""Known: the faults that show each bug, as the search has shrunk them; and what it does not find yet."""

from __future__ import annotations

from setpoint.simulation import Fault

MISSED: dict[str, str] = {}
"""Pairs whose bug is not found yet, or whose twin is accused, and why."""

KNOWN: dict[str, tuple[Fault, ...]] = {
    "two-secrets-one-guard": (Fault("crash-after", "create secrets default/one-ca #1"),),
    "act-on-the-way-into-a-state": (Fault("crash-after", "patch pods default/one-0 #1"),),
    "restart-by-a-note-in-the-status": (Fault("crash-after", "apply configmaps default/one #3"),),
    "finalizing-in-memory": (Fault("crash-after", "delete pods default/one-1 #1"),),
    "generated-name-kept-in-the-status": (Fault("crash-after", "create jobs.batch default/one-load-* #1"),),
    "volumes-by-the-name-of-the-cluster": (
        Fault("crash-after", "delete persistentvolumeclaims default/data-zk-0 #1", (("until", "step"),)),
    ),
    "the-set-of-the-name": (Fault("crash-after", "delete statefulsets.apps default/zk #1", (("until", "step"),)),),
    "owner-in-another-namespace": (),
    "the-record-of-the-name": (Fault("crash-after", "call zone.remove('zk.example.com') #1", (("until", "step"),)),),
    "an-arbiter-that-was-not-wanted-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "a-port-that-was-zero-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "secrets-that-were-not-wanted-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "a-ring-that-says-nothing": (),
    "resize-between-delete-and-create": (Fault("crash-after", "delete statefulsets.apps default/one #1"),),
    "volume-goes-when-the-pod-is-seen-to-go": (),
    "volumes-by-the-difference-to-the-last-size": (
        Fault("crash-after", "delete persistentvolumeclaims default/data-ring-3 #1"),
    ),
    "the-proxy-by-events": (Fault("crash-after", "apply configmaps default/proxy #2", (("until", "step"),)),),
    "a-guard-against-shrinking-that-remembers": (),
    "decommissioned-and-wanted-again": (),
    "a-member-that-moves": (),
    "an-appointment-made-once": (),
    "settings-that-come-late": (),
}
"""None: without any fault."""

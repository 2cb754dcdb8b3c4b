"""Known: the faults that show each bug, as the search has shrunk them; and what it does not find yet."""

from __future__ import annotations

from setpoint.simulation import Fault

MISSED: dict[str, str] = {}
"""Pairs whose bug is not found yet, or whose twin is accused, and why."""

KNOWN: dict[str, tuple[Fault, ...]] = {
    "rollout-for-each-resource-version": (),
    "attempts-counted-in-memory": (Fault("restart", "step 1"),),
    "entry-of-another-controller-removed": (),
    "backup-name-from-timestamp": (Fault("lost-answer", "create configmaps default/main-nginx #1"),),
    "expiring-credential-recorded-first": (
        Fault("crash-after", "patch stores.strange.example.com/status default/main #3"),
    ),
    "file-name-from-hash-of-time": (Fault("lost-answer", "create configmaps default/main-in #1"),),
    "reminder-depends-on-elapsed-time": (),
    "limit-counted-before-own-writes": (),
    "lifespan-cache-not-watched": (Fault("lag", "ADDED configmaps default/defaults #1", (("until", "step"),)),),
    "late-call-overwrites-newer-record": (
        Fault("external-late", "call records.put('main', 'store:1', 1) #1", (("until", "step"),)),
    ),
    "disruption-limit-per-reconcile": (Fault("pause", "step 1", (("who", "control plane"),)),),
    "random-password-after-user-created": (Fault("crash-after", "call users.create('main', '*') #1"),),
    "network-created-per-attempt": (
        Fault("crash-after", "call networks.create('<uid of stores.strange.example.com default/main>') #1"),
    ),
    "random-name-per-attempt": (
        Fault("late-write", "create configmaps default/main-5c573780 #1", (("seconds", 5.0),)),
    ),
    "lowest-free-address-from-cache": (),
    "members-in-list-order": (Fault("lost-request", "apply pods default/main-0 #1"),),
    "second-secret-skipped-after-crash": (Fault("crash-after", "create secrets default/one-ca #1"),),
    "action-only-on-phase-transition": (Fault("crash-after", "patch pods default/one-0 #1"),),
    "restart-flag-in-status-after-change": (Fault("crash-after", "apply configmaps default/one #3"),),
    "finalization-phase-in-memory": (Fault("crash-after", "delete pods default/one-1 #1"),),
    "generated-name-only-in-status": (Fault("crash-after", "create jobs.batch default/one-load-* #1"),),
    "owner-reference-across-namespaces": (),
    "arbiter-deleted-by-stale-spec": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "service-deleted-by-stale-port": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "volumes-selected-by-reused-cluster-name": (
        Fault("restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"),)),
    ),
    "volumes-orphaned-by-stale-status": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #2"),)),
    ),
    "disruption-budget-recreated-by-stale-spec": (
        Fault("restart", "step 4", (("behind", "MODIFIED mongos.corpus.example.com default/db #3"),)),
    ),
    "unordered-set-in-spec": (Fault("hash-seed", "run", (("seed", 1),)),),
    "migration-recorded-before-job": (Fault("crash-after", "patch sites.corpus.example.com/status default/shop #3"),),
    "password-rotated-in-secret-only": (Fault("crash-after", "apply secrets default/shop-db #2"),),
    "old-dns-name-in-memory": (Fault("crash-before", "call dns.forget('a.example.com') #1"),),
    "tenant-limits-skipped-after-crash": (Fault("lost-answer", "create namespaces shop-a #1"),),
    "phase-set-before-work": (Fault("lost-answer", "patch sites.corpus.example.com/status default/shop #1"),),
    "mapping-to-first-object-only": (),
    "blue-not-deleted-after-switch": (Fault("crash-after", "patch sites.corpus.example.com/status default/shop #3"),),
    "claims-by-current-statefulset-size": (Fault("crash-after", "apply statefulsets.apps default/shop #3"),),
    "phase-set-before-helper-pod": (Fault("lost-answer", "patch sites.corpus.example.com/status default/shop #1"),),
    "create-and-update-handlers-in-memory": (Fault("crash-after", "apply configmaps default/shop-2 #1"),),
    "dns-record-keyed-by-reused-name": (
        Fault("restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"),)),
    ),
    "pod-volume-deleted-by-stale-cluster-uid": (
        Fault(
            "restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"), ("kinds", "all"))
        ),
    ),
    "paused-leader-pays-twice": (Fault("freeze", "call bank.pay('pool') #1", (("seconds", 1000.0),)),),
    "statefulset-of-earlier-object-with-same-name": (
        Fault("restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"),)),
    ),
    "secrets-deleted-by-stale-spec": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "size-read-from-deleted-statefulset": (Fault("crash-after", "delete statefulsets.apps default/one #1"),),
    "volume-deleted-on-unseen-pod-deletion": (),
    "volumes-by-difference-to-remembered-size": (
        Fault("crash-after", "delete persistentvolumeclaims default/data-ring-3 #1"),
    ),
    "proxy-updated-by-missed-event": (Fault("crash-after", "apply configmaps default/proxy #2", (("until", "step"),)),),
    "shrink-guard-in-memory": (),
    "decommission-not-reverted": (),
    "former-owner-in-memory": (),
    "late-dependency-not-watched": (),
    "cache-wait-with-timeout": (
        Fault("late-write", "create pods default/load-* #2", (("seconds", 5.0), ("dies", True))),
    ),
    "lookup-cached-forever": (),
    "checked-then-used": (),
    "latest-revision-by-list-order": (Fault("reverse-lists", "run"),),
    "counter-in-stale-status": (Fault("crash-after", "create pods default/load-* #1"),),
    "two-controllers-count-against-one-limit": (),
    "replace-drops-fields-of-others": (),
    "existing-object-taken-as-own": (),
    "compares-only-list-length": (),
    "error-status-never-cleared": (),
    "removed-annotations-stay": (),
    "observed-generation-before-work": (),
    "external-id-lost-before-status-write": (
        Fault("crash-after", "call cloud.create('<uid of machines.corpus.example.com default/vm>') #1"),
    ),
    "pending-annotation-never-resolved": (Fault("crash-after", "patch machines.corpus.example.com default/vm #2"),),
    "finalizer-removed-before-children": (Fault("crash-after", "patch machines.corpus.example.com default/vm #2"),),
    "machine-created-before-finalizer": (
        Fault(
            "crash-after",
            "call cloud.create_once('<uid of machines.corpus.example.com default/vm>') #1",
            (("until", "step"),),
        ),
    ),
    "continues-after-finalizer-removed": (),
    "credentials-deleted-before-finalization": (
        Fault(
            "crash-after",
            "call cloud.delete('i-<uid of machines.corpus.example.com default/vm>') #1",
            (("until", "step"),),
        ),
    ),
    "statefulset-of-earlier-object-shrunk": (Fault("pause", "step 2", (("who", "garbage collector"), ("more", 1))),),
    "timestamp-in-status": (),
    "compares-with-defaulted-fields": (),
    "immutable-field-retried": (),
    "conflicting-scaling-policies": (),
    "two-controllers-write-one-phase": (),
    "bucket-created-before-finalizer": (),
    "failed-removal-ignored-in-finalizer": (Fault("external-fails", "call buckets.remove('main') #1"),),
    "hash-of-cached-settings": (),
    "restart-only-on-config-write": (Fault("crash-after", "apply configmaps default/main #2"),),
    "active-colour-in-memory": (),
    "copies-in-namespaces-not-deleted": (),
    "run-with-generated-name-per-serial": (Fault("lost-answer", "create jobs.batch default/main-run-* #1"),),
    "adopts-object-of-other-owner": (),
    "claim-deleted-after-pod": (Fault("crash-after", "delete pods default/main-1 #1"),),
    "exception-swallowed": (Fault("lost-request", "apply configmaps default/main #3"),),
    "address-in-status-never-updated": (),
    "old-key-deleted-before-new-is-published": (),
    "counts-own-creations": (Fault("lost-answer", "create configmaps default/main-0 #1"),),
    "batch-buffer-in-memory": (),
    "requeue-dropped-by-own-write": (Fault("lost-answer", "patch rings.corpus.example.com/status default/ring #1"),),
    "empty-membership-answer-trusted": (Fault("external-empty", "call ring.members() #1"),),
    "finalizer-removed-by-index": (
        Fault("late-write", "patch pools.corpus.example.com default/pool #1", (("seconds", 5.0),)),
    ),
    "machine-id-only-in-status": (
        Fault("crash-after", "call vms.create('<uid of stores.strange.example.com default/main>') #1"),
    ),
    "machine-leaked-on-deletion": (
        Fault("crash-after", "call vms.create('<uid of stores.strange.example.com default/main>') #1"),
    ),
    "conditions-list-replaced": (),
    "timer-task-in-memory": (Fault("lag", "ADDED configmaps default/main-cache #1", (("until", "step"),)),),
    "secret-not-watched": (),
    "namespaces-to-delete-from-status": (
        Fault("crash-after", "patch stores.strange.example.com/status default/main #4"),
    ),
    "job-not-watched": (),
    "status-of-vanished-instance": (),
    "limit-checked-once-per-batch": (),
    "recreated-for-stale-smaller-size": (
        Fault("restart", "step 3", (("behind", "MODIFIED stores.strange.example.com default/main #1"),)),
    ),
    "mail-recorded-before-sending": (Fault("lost-answer", "patch stores.strange.example.com/status default/main #1"),),
    "message-by-missed-transition": (
        Fault(
            "crash-before",
            "call topic.publish('<uid of stores.strange.example.com default/main>/2', 'store:1 to store:2') #1",
        ),
    ),
    "startup-progress-in-memory": (Fault("crash-after", "patch stores.strange.example.com/status default/main #1"),),
}
"""None: without any fault."""

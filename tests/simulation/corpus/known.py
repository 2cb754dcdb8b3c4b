"""Known: the faults that show each bug, as the search has shrunk them; and what it does not find yet."""

from __future__ import annotations

from setpoint.simulation import Fault

MISSED: dict[str, str] = {}
"""Pairs whose bug is not found yet, or whose twin is accused, and why."""

KNOWN: dict[str, tuple[Fault, ...]] = {
    "a-backup-named-by-the-time": (Fault("lost-answer", "create configmaps default/main-nginx #1"),),
    "a-ticket-for-a-minute": (Fault("crash-after", "patch stores.strange.example.com/status default/main #4"),),
    "a-trace-by-a-hash-of-the-time": (Fault("lost-answer", "create configmaps default/main-in #1"),),
    "letters-by-the-time-between": (),
    "a-cache-that-nothing-declares": (Fault("lag", "ADDED configmaps default/defaults #1", (("until", "step"),)),),
    "a-record-that-an-old-call-sets-last": (
        Fault("external-late", "call records.put('main', 'store:1', 1) #1", (("until", "step"),)),
    ),
    "a-budget-of-one-reconcile": (Fault("pause", "step 1", (("who", "control plane"),)),),
    "a-password-drawn-again": (Fault("crash-after", "call users.create('main', '*') #1"),),
    "a-network-for-each-attempt": (
        Fault("crash-after", "call networks.create('<uid of stores.strange.example.com default/main>') #1"),
    ),
    "a-name-drawn-again": (Fault("late-write", "create configmaps default/main-5c573780 #1", (("seconds", 5.0),)),),
    "the-lowest-free-address": (),
    "members-in-no-order": (Fault("lost-request", "apply pods default/main-0 #1"),),
    "two-secrets-one-guard": (Fault("crash-after", "create secrets default/one-ca #1"),),
    "act-on-the-way-into-a-state": (Fault("crash-after", "patch pods default/one-0 #1"),),
    "restart-by-a-note-in-the-status": (Fault("crash-after", "apply configmaps default/one #3"),),
    "finalizing-in-memory": (Fault("crash-after", "delete pods default/one-1 #1"),),
    "generated-name-kept-in-the-status": (Fault("crash-after", "create jobs.batch default/one-load-* #1"),),
    "owner-in-another-namespace": (),
    "an-arbiter-that-was-not-wanted-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "a-port-that-was-zero-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "volumes-by-the-name-of-the-cluster": (
        Fault("restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"),)),
    ),
    "orphaned-volumes-by-a-status": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #2"),)),
    ),
    "a-budget-made-anew": (
        Fault("restart", "step 4", (("behind", "MODIFIED mongos.corpus.example.com default/db #3"),)),
    ),
    "a-set-in-no-order": (Fault("hash-seed", "run", (("seed", 1),)),),
    "a-migration-that-is-noted-first": (Fault("crash-after", "patch sites.corpus.example.com/status default/shop #4"),),
    "a-password-in-two-places": (Fault("crash-after", "apply secrets default/shop-db #2"),),
    "the-name-that-was": (Fault("crash-before", "call dns.forget('a.example.com') #1"),),
    "limits-of-a-tenant": (Fault("lost-answer", "create namespaces shop-a #1"),),
    "handed-over-too-early": (Fault("lost-answer", "patch sites.corpus.example.com/status default/shop #1"),),
    "a-mapping-to-one-of-them": (),
    "blue-is-forgotten": (Fault("crash-after", "patch sites.corpus.example.com/status default/shop #4"),),
    "claims-by-the-set": (Fault("crash-after", "apply statefulsets.apps default/shop #3"),),
    "a-helper-that-is-waited-for": (Fault("lost-answer", "patch sites.corpus.example.com/status default/shop #1"),),
    "handlers-of-events": (Fault("crash-after", "apply configmaps default/shop-2 #1"),),
    "the-record-of-the-name": (
        Fault("restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"),)),
    ),
    "volume-of-the-pod-by-the-uid-of-the-cluster": (
        Fault(
            "restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"), ("kinds", "all"))
        ),
    ),
    "a-leader-that-was-one-once": (Fault("freeze", "call bank.pay('pool') #1", (("seconds", 1000.0),)),),
    "the-set-of-the-name": (
        Fault("restart", "step 4", (("behind", "MODIFIED ensembles.corpus.example.com default/zk #3"),)),
    ),
    "secrets-that-were-not-wanted-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED mongos.corpus.example.com default/db #1"),)),
    ),
    "resize-between-delete-and-create": (Fault("crash-after", "delete statefulsets.apps default/one #1"),),
    "volume-goes-when-the-pod-is-seen-to-go": (),
    "volumes-by-the-difference-to-the-last-size": (
        Fault("crash-after", "delete persistentvolumeclaims default/data-ring-3 #1"),
    ),
    "the-proxy-by-events": (Fault("crash-after", "apply configmaps default/proxy #2", (("until", "step"),)),),
    "a-guard-against-shrinking-that-remembers": (),
    "decommissioned-and-wanted-again": (),
    "a-member-that-moves": (),
    "settings-that-come-late": (),
    "waits-for-the-cache-for-a-while": (
        Fault("late-write", "create pods default/load-* #2", (("seconds", 5.0), ("dies", True))),
    ),
    "an-answer-that-is-believed-for-ever": (),
    "looked-at-and-used-later": (),
    "the-last-revision-of-a-list": (Fault("reverse-lists", "run"),),
    "a-counter-in-the-status": (Fault("crash-after", "create pods default/load-* #1"),),
    "two-look-at-one-limit": (),
    "replaced-with-all-that-others-wrote": (),
    "there-already-so-it-must-be-mine": (),
    "only-the-length-of-a-list": (),
    "a-problem-that-is-never-taken-back": (),
    "annotations-that-stay-for-ever": (),
    "nothing-new-so-nothing-to-do": (),
    "the-id-comes-into-the-status-later": (
        Fault("crash-after", "call cloud.create('<uid of machines.corpus.example.com default/vm>') #1"),
    ),
    "pending-for-ever": (Fault("crash-after", "patch machines.corpus.example.com default/vm #2"),),
    "lets-go-before-the-children": (Fault("crash-after", "patch machines.corpus.example.com default/vm #2"),),
    "a-machine-before-the-finalizer": (
        Fault(
            "crash-after",
            "call cloud.create_once('<uid of machines.corpus.example.com default/vm>') #1",
            (("until", "step"),),
        ),
    ),
    "goes-on-when-it-is-over": (),
    "what-it-needs-to-let-go-went-first": (
        Fault(
            "crash-after",
            "call cloud.delete('i-<uid of machines.corpus.example.com default/vm>') #1",
            (("until", "step"),),
        ),
    ),
    "the-set-of-an-earlier-machine": (Fault("pause", "step 2", (("who", "garbage collector"), ("more", 1))),),
    "time-in-the-status": (),
    "replaced-when-not-equal-to-the-defaulted": (),
    "an-immutable-field-again-and-again": (),
    "two-policies-of-one-number": (),
    "two-controllers-one-phase": (),
    "a-bucket-before-its-finalizer": (),
    "a-bucket-that-could-not-be-removed": (Fault("external-fails", "call buckets.remove('main') #1"),),
    "a-hash-of-the-last-settings": (),
    "a-restart-with-the-change": (Fault("crash-after", "apply configmaps default/main #2"),),
    "the-colour-in-memory": (),
    "copies-that-stay": (),
    "a-run-each-serial": (),
    "adopted-from-its-owner": (),
    "a-claim-after-its-pod": (Fault("crash-after", "delete pods default/main-1 #1"),),
    "swallowed": (Fault("lost-request", "apply configmaps default/main #3"),),
    "an-address-for-ever": (),
    "the-old-key-first": (),
    "a-count-of-what-was-made": (Fault("lost-answer", "create configmaps default/main-0 #1"),),
    "batches-in-memory": (),
    "an-appointment-made-once": (Fault("lost-answer", "patch rings.corpus.example.com/status default/ring #1"),),
    "a-ring-that-says-nothing": (Fault("external-empty", "call ring.members() #1"),),
    "a-finalizer-by-its-place": (
        Fault("late-write", "patch pools.corpus.example.com default/pool #1", (("seconds", 5.0),)),
    ),
    "machines-by-their-numbers": (
        Fault("crash-after", "call vms.create('<uid of stores.strange.example.com default/main>') #1"),
    ),
    "machines-that-stay": (
        Fault("crash-after", "call vms.create('<uid of stores.strange.example.com default/main>') #1"),
    ),
    "conditions-of-others": (),
    "a-timer-in-memory": (Fault("lag", "ADDED configmaps default/main-cache #1", (("until", "step"),)),),
    "a-password-that-nobody-watches": (),
    "spaces-by-the-status": (Fault("crash-after", "patch stores.strange.example.com/status default/main #5"),),
    "a-job-that-nobody-watches": (),
    "a-record-of-a-ghost": (),
    "a-limit-of-a-batch": (),
    "a-size-that-was-smaller-once": (
        Fault("restart", "step 3", (("behind", "MODIFIED stores.strange.example.com default/main #1"),)),
    ),
    "a-mail-that-is-noted-first": (Fault("lost-answer", "patch stores.strange.example.com/status default/main #1"),),
    "a-message-about-what-was-seen": (
        Fault(
            "crash-before",
            "call topic.publish('<uid of stores.strange.example.com default/main>/2', 'store:1 to store:2') #1",
        ),
    ),
    "steps-of-a-beginning": (Fault("crash-after", "patch stores.strange.example.com/status default/main #1"),),
}
"""None: without any fault."""

"""Controller: a declared reconcile loop and the ways to run it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any, TypeVar

from setpoint.cache import InformerFactory
from setpoint.client import Client
from setpoint.controller.declaration import Declaration
from setpoint.controller.running import RunningController
from setpoint.controller.tracing import find_tracer, traced
from setpoint.meta import Object

K = TypeVar("K", bound=Object)


class Controller(Declaration[K]):
    """Brings objects of one kind into the state that their specs describe, by calling ``reconcile(object, context)``
    when something changes.

    ```python
    controller = Controller(Mykind, reconcile).owns(Pod).watches(ConfigMap, users_of).reads(Node)
    ```

    A controller is a declaration: it holds no state and may run any number of times (in a manager, in tests, or by
    `run`).

    *Guarantees*

    - Level-driven: the function gets the present object, however many changes led to the call. It is called at least
      once for every object that exists when the controller starts, unless a predicate rejects the object.
    - A key is never reconciled twice at the same time in one process; use leader election for several processes.
    - Read-your-writes: a reconcile sees every write of the previous reconcile of the same key.
    - The function is not called for objects that are gone. It is called for objects that are being deleted only if
      ``reconcile_deleting`` is set; clean-up is the job of `finalize`.

    *Caveats*: a crash may happen between any two writes; the next call then starts from the state that the crash left.

    Args:
        kind: class of the objects.
        reconcile: coroutine function of the object and a `Context`; returns an outcome, or None for `done`. An ordinary
            function runs in a pool of ``workers`` threads.
        name: name in metrics and logs; the lower-case kind by default. With the API group of a custom kind the name is
            also the field manager (``mykind.grp.example.com``) and the reporter of events (``grp.example.com/mykind``).
        workers: number of keys that are reconciled at once.
        timeout: seconds after which a call is cancelled and counts as failed; None for no limit. A thread can't be
            cancelled: the next call for the key waits for the thread, within a timeout of its own.
        rate_limiter: function that makes the limiter of a run; by default back-off from 5 ms to 1000 s for each key.
        predicates: tests that must all accept an event of the object itself.
        namespace, selector, field_selector: the objects of the kind that are watched.
        metadata_only: whether only metadata is watched, for controllers that need no more; the object has no spec then.
        reconcile_deleting: whether the function is called for objects that are being deleted, too.
        owns_status: whether the status belongs to this controller, which then maintains ``observedGeneration`` and
            reports failures there (`failure_condition`). By default true for custom resources with a status and false
            for built-in kinds, which never get additional conditions.
        leader_only: whether only the elected leader may run it.
        sync_timeout: seconds that the caches may take to sync at the start.
        hot_loop: limits beyond which a key in a hot loop is slowed down: by default 30 changes of one object in 30 s,
            or 10 repetitions of the same change in 10 minutes, while the spec stays the same. None for no limits.

    Raises:
        TypeError: ``kind`` has no resource.
        ValueError: a number or a name is not valid.
    """

    async def run(
        self,
        client: Client,
        factory: InformerFactory,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
    ) -> None:
        """Runs without a manager until the call is cancelled, or an external source or a cache fails.

        Raises:
            CacheSyncError: a cache did not sync within ``sync_timeout``.
        """
        await self.bind(client, factory, now=now, random=random).run()

    def bind(
        self,
        client: Client,
        factory: InformerFactory,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
        **options: Any,
    ) -> RunningController[K]:
        """A new run of this declaration, which is not started yet. ``options`` are those of `RunningController`."""
        if (tracer := find_tracer()) is not None:
            client = traced(client, tracer)
        return RunningController(self, client, factory, now=now, random=random or Random(), **options)

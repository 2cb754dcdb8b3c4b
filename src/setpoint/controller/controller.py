"""Controller: a declared reconcile loop and the ways to run it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, Unpack

from setpoint.cache import InformerFactory
from setpoint.client import Client
from setpoint.controller.context import Context
from setpoint.controller.declaration import ControllerOptions, Declaration
from setpoint.controller.environment import Host, Process, Shard
from setpoint.controller.events import EventRecorder
from setpoint.controller.outcome import Outcome
from setpoint.controller.run.running import RunningController
from setpoint.controller.telemetry import find_tracer, traced
from setpoint.meta import Object, Resource
from setpoint.meta.names import qualified_name

if TYPE_CHECKING:
    from setpoint.controller.defaulting_and_validation import CheckFunction

K = TypeVar("K", bound=Object)

Reconcile: TypeAlias = Callable[[K, Context], Awaitable[Outcome | None]]
"""A coroutine function, written by the user, that compares the wanted state of an object with its actual state and
brings the actual state one step closer to the wanted state.
"""

SyncReconcile: TypeAlias = Callable[[K, Any], Outcome | None]
"""A `Reconcile` that is an ordinary function. It runs in a thread, with a `SyncContext`."""


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
    - Read-your-writes: a reconcile sees its own writes and every write of the previous reconcile of the same key.
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
        reconcile_deleting: whether the function is called for objects that are being deleted, too, even for one that
            does not fit its class (see `finalize`).
        owns_status: whether the status belongs to this controller, which then maintains ``observedGeneration`` and
            reports failures there (`failure_condition`). By default true for custom resources with a status and false
            for built-in kinds, which never get additional conditions, and with ``metadata_only``.
        leader_only: whether only the elected leader may run it.
        sync_timeout: seconds that the caches may take to sync at the start.
        hot_loop: limits beyond which a key in a hot loop is slowed down: by default 30 changes of one object in 30 s,
            or 10 repetitions of the same change in 10 minutes, while the spec stays the same. None for no limits.
        pause_annotation: name of the annotation that pauses an object: while the object has it, with a reason or
            ``true`` as its value, there is no reconcile and no clean-up. By default ``GROUP/paused``, and none for
            built-in kinds; ``""`` for none.
        resync: number of seconds, or timedelta, after which every object is reconciled again, with low priority, if
            nothing else happens; each period is up to a tenth longer. An object that waits for a reconcile is left out.
            Predicates see an object that appears: those of changes don't keep it out. By default the manager's
            (``ManagerOptions.resync``), which is off; 0 for none.
        event_filter: tests that must all accept an event of any declared kind, in addition to the predicates of the
            kind.
        request_annotation: name of the annotation that requests a reconcile: each new value makes the object the next
            one, and its failures are forgotten. The value is acknowledged after the reconcile, in the status field
            ``last_handled_reconcile_at`` if the class has it, otherwise in the annotation ``GROUP/reconciled-at``. By
            default ``GROUP/reconcile-at``, and none for built-in kinds; ``""`` for none.

    Raises:
        TypeError: ``kind`` has no resource.
        ValueError: a number or a name is not valid.
    """

    def __init__(
        self,
        kind: type[K],
        reconcile: Reconcile[K] | SyncReconcile[K],
        **options: Unpack[ControllerOptions],
    ) -> None:
        super().__init__(kind, reconcile, **options)

    def finalize(self, function: Reconcile[K] | SyncReconcile[K], *, name: str | None = None) -> Self:
        """Declares the function that cleans up whatever an object leaves behind outside the cluster.

        When the deletion of an object is requested, ``function(object, context)`` is called until it returns `done` (or
        None); only then is the object removed. To guarantee this, a finalizer is added before the first reconcile of
        every object. The function must be safe to run again after it has succeeded, because a crash may come before the
        finalizer is removed. It is also called for an object that does not fit its class, because a bound was tightened
        for example: a field that does not fit then holds the plain JSON value as it was read
        (`setpoint.meta.decode_as_read`).

        ``name`` is the name of the finalizer, by default ``GROUP/CONTROLLER``.

        Raises:
            ValueError: the name is not valid, or the controller already has a clean-up function.
        """
        if self.finalizer_function is not None:
            raise ValueError(f"controller {self.name!r} has a finalizer already; call one function from the other")
        self.finalizer = checked_name(name) if name else finalizer_name(self.resource, self.name)
        self.finalizer_function = function
        return self

    def defaults(self, function: CheckFunction[K]) -> Self:
        """Declares a function that sets defaults in the object before every reconcile and clean-up. Several functions
        are called in the order of their declarations.

        This declaration is for clusters without webhooks and takes the same functions as `setpoint.webhook.Admission`.
        The function changes the copy that the reconcile function gets, never the object on the server. Do not pass that
        copy to `Client.update`, which would write the defaults to the server.

        Raises:
            TypeError: the function takes arguments other than the object, or the object and a `Check`.
        """
        return self._check(self.defaulters, function)

    def validates(self, function: CheckFunction[K]) -> Self:
        """Declares a function that checks the object after all defaults, before every reconcile.

        An object that the function refuses is not reconciled until it changes; a condition (`failure_condition`) and an
        event give the reason. An object that is being deleted is not checked. An exception that the function raises
        does not refuse the object; it is a failure of the reconcile like any other.

        Raises:
            TypeError: the function takes arguments other than the object, or the object and a `Check`.
        """
        return self._check(self.validators, function)

    def _check(self, functions: list[Callable[..., Any]], function: CheckFunction[K]) -> Self:
        from setpoint.controller.defaulting_and_validation import (
            accepted,  # loads the schema package, which few controllers need
        )

        functions.append(accepted(function, f"controller {self.name!r}"))
        return self

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
        process = Process(now=now, random=random or Random())
        await self.bind(client, factory, process=process).run()

    def bind(
        self,
        client: Client,
        factory: InformerFactory,
        *,
        process: Process | None = None,
        recorder: EventRecorder | None = None,
        shard: Shard | None = None,
        cluster: str = "",
    ) -> RunningController[K]:
        """A new run of this declaration, which is not started yet. For the arguments, see
        `setpoint.controller.environment.Host` and its `Process`.
        """
        if (tracer := find_tracer()) is not None:
            client = traced(client, tracer)
        process = process or Process()
        host = Host(client=client, factory=factory, process=process, recorder=recorder, shard=shard, cluster=cluster)
        return RunningController(self, host)


def finalizer_name(resource: Resource, controller: str) -> str:
    """The name of a controller's finalizer on a kind: ``GROUP/CONTROLLER``.

    Raises:
        ValueError: the kind's group is not a domain, as with built-in kinds.
    """
    if "." not in resource.group or resource.group.endswith(".k8s.io"):
        raise ValueError(
            f"finalizers on {resource} need a name with your own domain: "
            f"finalize(function, name='example.com/{controller}')"
        )
    return checked_name(f"{resource.group}/{controller}")


def checked_name(name: str) -> str:
    """``name``, if the server accepts it as the name of a finalizer.

    Raises:
        ValueError: the name is not a qualified name with a domain.
    """
    problems = qualified_name(name)
    if "/" not in name:
        problems.append("must have a domain of yours before a slash, like example.com/cleanup")
    if problems:
        raise ValueError(f"finalizer {name!r}: {'; '.join(problems)}")
    return name

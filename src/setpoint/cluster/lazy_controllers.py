"""Controllers on demand: each starts when the first object that concerns it appears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from setpoint.cache import Head, Informer, InformerFactory
from setpoint.cluster.first_object_watch import FirstObjects
from setpoint.controller import Controller
from setpoint.meta import Object, resource_of

ControllersByKind = Mapping[type[Object], Sequence[Controller[Any]]]
_NAME: Final = "on-demand"


class LazyControllers:
    """Starts controllers when the first object of a kind appears, so that a new cluster runs almost no controllers.

    It asks the server (``first_objects``), or watches the metadata of those kinds through caches that it shares with
    the garbage collector, and releases each cache when its controllers run. A controller that has been started is not
    stopped again.

    Args:
        factory: the factory of the caches.
        controllers: the controllers, by the kind whose first object starts them.
        start: a function that is called once with each controller.
        first_objects: the first objects of the server, if it is in this process.
    """

    leader_only = False

    def __init__(
        self,
        factory: InformerFactory,
        controllers: ControllersByKind,
        start: Callable[[Controller[Any]], None],
        first_objects: FirstObjects | None = None,
    ) -> None:
        self.name = _NAME
        self._factory = factory
        self._controllers = {kind: list(items) for kind, items in controllers.items()}
        self._start = start
        self._first_objects = first_objects
        self._started: set[str] = set()
        self._kinds_to_start: asyncio.Queue[type[Object]] = asyncio.Queue()

    async def run(self) -> None:
        """Waits for the first object of each kind, and starts the controllers for that kind. Runs until it is
        cancelled.
        """
        informers: dict[type[Object], Informer[Any]] = {}
        expected: list[Callable[[], None]] = []
        try:
            for kind in self._controllers:
                if self._first_objects is not None:
                    resource, appeared = resource_of(kind), partial(self._kinds_to_start.put_nowait, kind)
                    if (end := self._first_objects.expect(resource, appeared)) is not None:
                        expected.append(end)
                        continue
                    if self._first_objects.stores(resource):
                        appeared()
                        continue
                # As the garbage collector follows them, so that both have one cache.
                informer = informers[kind] = self._factory.informer(kind, namespace="", metadata_only=True)
                informer.add_event_handler(on_add=self._waking(kind), name=f"{self.name} {resource_of(kind)}")
            while True:
                kind = await self._kinds_to_start.get()
                for controller in self._controllers.pop(kind, ()):
                    if controller.name not in self._started:
                        self._started.add(controller.name)
                        self._start(controller)
                if kind in informers:
                    await informers.pop(kind).close()
        finally:
            for end in expected:
                end()
            for informer in informers.values():
                await informer.close()

    def _waking(self, kind: type[Object]) -> Callable[[Head, bool], None]:
        return lambda _head, _initial: self._kinds_to_start.put_nowait(kind)

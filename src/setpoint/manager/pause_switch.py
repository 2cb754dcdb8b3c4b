"""The pause switch: a ConfigMap whose keys name the controllers that people have paused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from setpoint.cache import Informer, InformerFactory
from setpoint.controller import BoundLogger
from setpoint.controller.cache_reader import synced_by
from setpoint.meta.names import dns1123_subdomain
from setpoint.models.core_v1 import ConfigMap

PAUSE_SWITCH: Final = "setpoint-paused"
"""The name of the ConfigMap for all programs of a namespace, unless another one is chosen."""
SYNC_TIMEOUT: Final = 120.0
"""Seconds that the first read of the ConfigMap may take."""

logger = BoundLogger(logging.getLogger("setpoint.manager"))


class PauseSwitch:
    """Follows the ConfigMap ``name`` in ``namespace``. Each key of its data is the name of a paused controller, with or
    without the API group of its kind (`Controller.full_name`), and the value is the reason. A `Runnable` of a manager:
    no controller starts before the ConfigMap, or its absence, is known.

    *Guarantees*: without the ConfigMap no controller is paused. While the API server can't be reached, the last known
    state applies.

    Raises:
        ValueError: ``name`` is not the name of a ConfigMap.
    """

    group = "caches"

    def __init__(self, factory: InformerFactory, name: str, namespace: str) -> None:
        if problems := dns1123_subdomain(name):
            raise ValueError(f"pause switch: name {name!r}: {problems[0]}")
        self.name = f"pause switch {namespace}/{name}"
        self.ready = asyncio.Event()
        self._informer: Informer[ConfigMap] = factory.informer(
            ConfigMap, namespace=namespace, field_selector={"metadata.name": name}
        )
        self._reasons: dict[str, str] = {}
        self._listeners: dict[Callable[[], None], None] = {}

    def reason(self, controller: str) -> str:
        """The reason why the controller is paused; ``""`` if it is not."""
        return self._reasons.get(controller, "")

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls ``listener`` after every change. The returned function removes the listener."""
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None) and None

    async def run(self) -> None:
        """Follows the ConfigMap until the call is cancelled.

        Raises:
            CacheSyncError: the ConfigMap could not be read in time; the error has the server's last answer.
        """
        registration = self._informer.add_event_handler(
            on_add=lambda head, initial: self._read(),
            on_change=lambda heads: self._read(),
            on_delete=lambda head, unknown: self._read(),
            name=self.name,
        )
        await synced_by(self._informer, asyncio.get_running_loop().time() + SYNC_TIMEOUT, self.name, logger)
        await registration.wait_synced()
        self.ready.set()
        await asyncio.Event().wait()

    def _read(self) -> None:
        maps = self._informer.lister.list()
        before = self._reasons
        data = {name: reason for config_map in maps for name, reason in config_map.data.items()}
        self._reasons = {name: reason.strip() or "no reason is given" for name, reason in data.items()}
        if before == self._reasons:
            return
        for name in before.keys() - self._reasons.keys():
            logger.warning("controller resumed", extra={"controller": name})
        for name, reason in self._reasons.items():
            if before.get(name) != reason:
                logger.warning("controller paused", extra={"controller": name, "reason": reason})
        for listener in list(self._listeners):
            listener()

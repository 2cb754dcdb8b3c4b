"""Webhooks as a program of their own: no controllers, no leader, as many replicas as one likes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Protocol

from setpoint.cache import InformerFactory
from setpoint.crd import CustomResource, Definition, Versions
from setpoint.webhook.admission import Admission
from setpoint.webhook.conversion import Converter
from setpoint.webhook.server import WebhookServer

__all__ = ["ProgramError", "load_served", "serve_webhooks", "served_by"]


class ProgramError(ValueError):
    """A file is no program of webhooks; the message names it and says what is missing."""


class _Runnable(Protocol):
    async def run(self) -> None: ...


async def serve_webhooks(
    server: WebhookServer, *, factory: InformerFactory | None = None, beside: Iterable[_Runnable] = ()
) -> None:
    """Runs ``server`` until its ``stop()`` is called and it has drained; ``beside`` runs as long.

    The server listens before ``factory``, the caches that admissions read, asks for anything: the API server may need
    this server's conversions to answer it.

    Raises what the server or one of ``beside`` fails with; everything has ended then.
    """
    serving = asyncio.ensure_future(server.run())
    tasks = [serving, *(asyncio.ensure_future(_kept(each)) for each in beside)]
    try:
        listening = asyncio.ensure_future(server.ready.wait())
        try:
            await asyncio.wait((*tasks, listening), return_when=asyncio.FIRST_COMPLETED)
        finally:
            listening.cancel()
        if server.ready.is_set():
            if factory is not None:
                tasks.append(asyncio.ensure_future(_entered(factory)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _kept(runnable: _Runnable) -> None:
    await runnable.run()
    await asyncio.Event().wait()  # whoever is done early does not end the server


async def _entered(factory: InformerFactory) -> None:
    async with factory:
        await asyncio.Event().wait()


def served_by(namespace: dict[str, Any]) -> list[Admission[Any] | Converter]:
    """What a module's global names say is to be served, each once, in the order of their definition.

    Admissions, conversions, and classes that list conversions which need a webhook.
    """
    found: list[Admission[Any] | Converter] = []
    for value in namespace.values():
        each: Any = value
        if isinstance(value, type):
            if not issubclass(value, CustomResource) or not getattr(value, "definition", Definition()).conversions:
                continue
            each = Versions.of(value)
            if not each.need_webhook:
                continue
        if isinstance(each, Admission | Versions) and not any(each is other for other in found):
            found.append(each)
    return found


def load_served(path: Path) -> list[Admission[Any] | Converter]:
    """The admissions and converters that the Python file ``path`` defines.

    Raises:
        ProgramError: it is no Python file, or defines none.
        Exception: what the file itself raises.
    """
    spec = spec_from_file_location(path.stem, path)
    if path.suffix != ".py" or not path.is_file() or spec is None or spec.loader is None:
        raise ProgramError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # msgspec looks annotations up there
    sys.path.insert(0, str(path.parent.resolve()))  # as for a program that is run
    spec.loader.exec_module(module)
    found = served_by(vars(module))
    if not found:
        raise ProgramError(
            f"{path} defines nothing to serve: it needs an Admission, or a class with conversions, in a global name, "
            "such as admission = Admission(Mykind).validates(check)"
        )
    return found

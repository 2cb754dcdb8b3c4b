"""The entry points of the console scripts. Ctrl-C ends the program without a traceback, even during its import; garbage
collection slows down neither the program's start nor its service.

This module does not import any module of the program at the top level, so Ctrl-C has this effect from the start.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Final

_GARBAGE: Final = 300_000
"""The number of new objects after which a program's garbage is collected. The start of a server makes two thirds of it,
few of which are garbage, but 280 collections with Python's own threshold, a fifth of its CPU time.
"""
_SERVING: Final = (20_000, 10, 100)
"""The number of new objects after which the youngest are traversed, and the numbers of such collections after which
older ones are traversed, too. By default, 700, 10 and 10.
"""


def setpoint() -> None:
    """Runs the ``setpoint`` command."""
    gc.set_threshold(_GARBAGE)
    _start("setpoint.cli.main")


def chronos() -> None:
    """Runs the ``chronos`` command."""
    _start("setpoint.apps.chronos")


def freeze_heap() -> None:
    """Excludes all objects that exist now from garbage collection, and makes collections rarer. Programs call this
    function when they begin to serve.

    A request of a few megabytes creates enough objects to trigger many collections. Without this function, each of them
    would traverse the whole server or all objects of the request, and no other request would be answered for almost a
    tenth of a second. The garbage of a start is frozen, too: less than 1 MB, which is not worth a full
    collection.
    """
    gc.freeze()
    gc.set_threshold(*_SERVING)


def _start(module: str) -> None:
    try:
        import_module(module).main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # as shells expect of Ctrl-C

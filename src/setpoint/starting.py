"""The entry points of the console scripts. Ctrl-C ends the program without a traceback, even during its import.

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


def setpoint() -> None:
    """Runs the ``setpoint`` command."""
    gc.set_threshold(_GARBAGE)
    _start("setpoint.cli.main")


def chronos() -> None:
    """Runs the ``chronos`` command."""
    _start("setpoint.apps.chronos")


def _start(module: str) -> None:
    try:
        import_module(module).main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # as shells expect of Ctrl-C

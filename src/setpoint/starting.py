"""The entry points of the console scripts. Ctrl-C ends the program without a traceback, even during its import.

This module does not import any module of the program at the top level, so Ctrl-C has this effect from the start.
"""

from __future__ import annotations

from importlib import import_module


def setpoint() -> None:
    """Runs the ``setpoint`` command."""
    _start("setpoint.cli.main")


def chronos() -> None:
    """Runs the ``chronos`` command."""
    _start("setpoint.apps.chronos")


def _start(module: str) -> None:
    try:
        import_module(module).main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # as shells expect of Ctrl-C

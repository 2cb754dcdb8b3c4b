"""The entry points of the console scripts. Ctrl-C during the import of the program ends it without a traceback.

This module does not import any module of the program at the top level, so Ctrl-C has this effect from the start.
"""

from __future__ import annotations

from importlib import import_module


def setpoint() -> None:
    """The ``setpoint`` command."""
    _start("setpoint.cli.main")


def chronos() -> None:
    """The ``chronos`` command."""
    _start("setpoint.apps.chronos")


def _start(module: str) -> None:
    try:
        import_module(module).main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # as shells expect of Ctrl-C

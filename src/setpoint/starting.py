"""Where the console scripts begin: Ctrl-C while the program is still being imported ends it without a traceback.

This imports nothing itself, so that there is hardly a moment before it.
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

"""Who else on this machine may read a secret, or write what decides who we are."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

__all__ = ["warn_if_open"]

logger = logging.getLogger("setpoint.client")


def warn_if_open(path: Path, what: str) -> None:
    """Logs a warning if any user of the machine may read or change ``path``; its group may.

    A warning and no error, as with kubectl and helm: mounted Secrets are 0644 unless they say otherwise. Symbolic
    links are followed; where there are no such permissions (Windows), nothing is said.
    """
    if os.name != "posix":
        return
    try:
        mode = path.stat().st_mode
    except OSError:  # whoever reads it says so, with the reason
        return
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        verb = "change" if mode & stat.S_IWOTH else "read"
        logger.warning("%s %s has mode %04o: every user of this machine can %s it", what, path, mode & 0o7777, verb)

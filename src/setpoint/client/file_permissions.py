"""Warnings about files with secrets or identities that every user of the machine can read or change."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger("setpoint.client")


def warn_if_open(path: Path, label: str) -> None:
    """Logs a warning if every user of the machine can read or change ``path``; access for the file's group is fine.

    As in kubectl and helm, this is not an error, because mounted Secrets are 0644 by default. Symbolic links are
    followed. On systems without such permissions (Windows) nothing is logged.
    """
    if os.name != "posix":
        return
    try:
        mode = path.stat().st_mode
    except OSError:  # the code that reads the file reports that, with the reason
        return
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        verb = "change" if mode & stat.S_IWOTH else "read"
        logger.warning("%s %s has mode %04o: every user of this machine can %s it", label, path, mode & 0o7777, verb)

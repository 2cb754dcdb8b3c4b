"""The files of keys and certificates that an embedded cluster's server reads and keeps."""

from __future__ import annotations

import os
from pathlib import Path

from setpoint.meta.user_error import UserError
from setpoint.webhook.certificate_authority import CertificateError, Pair, matches


class SecurityError(UserError, ValueError):
    """A file or value of `Security` can't be used; the message names the file or value and gives the reason."""


def stored_pair(directory: Path | None, name: str) -> Pair | None:
    """The certificate and key with that name in the directory; None if either is missing.

    Raises:
        SecurityError: a file can't be read, or the two don't belong together.
    """
    if directory is None:
        return None
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    try:
        pair = Pair(certificate.read_bytes(), key.read_bytes())
        if matches(pair):
            return pair
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SecurityError(f"{problem.filename}: {problem.strerror}") from None
    except CertificateError as problem:
        raise SecurityError(f"{certificate}: {problem}") from None
    raise SecurityError(f"{certificate} and {key} don't belong together; remove both, and new ones are created")


def keep_pair(directory: Path | None, name: str, pair: Pair) -> Pair:
    """Writes the pair into the directory, if there is one, and returns it. Raises SecurityError if a write fails."""
    if directory is not None:
        write_file(directory / f"{name}.key", pair.key)
        write_file(directory / f"{name}.crt", pair.certificate)
    return pair


def write_file(path: Path, content: bytes) -> None:
    """Writes a file atomically. Only its owner can read it. Raises SecurityError if the write fails."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new.touch(mode=0o600)
        new.write_bytes(content)
        new.replace(path)
    except OSError as problem:
        new.unlink(missing_ok=True)
        raise SecurityError(f"{path} can't be written: {problem.strerror}") from None


def read_file(path: Path, flag: str) -> bytes:
    """The content of a file. Raises SecurityError, whose message begins with ``flag``, if it can't be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise SecurityError(f"{flag} {path}: {problem.strerror}") from None

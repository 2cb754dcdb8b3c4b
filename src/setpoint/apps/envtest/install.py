"""The directory that ``KUBEBUILDER_ASSETS`` names, with small scripts in place of kube-apiserver, etcd and kubectl."""

from __future__ import annotations

import compileall
import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.util import cache_from_source
from pathlib import Path

_PROGRAM = """#!/bin/sh
exec {python} -P -m setpoint.apps.envtest.{module} {arguments}"$@"
"""
_NO_KUBECTL = """#!/bin/sh
echo 'kubectl: it was not on the PATH when setpoint envtest made this folder; install it, and make the folder again' >&2
exit 127
"""


def assets(controllers: Sequence[str] = ()) -> Path:
    """The user's folder of replacements for this Python and these ``controllers``. It is created if it is missing, and
    updated if it is out of date.

    Raises:
        OSError: the folder can't be written.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    identity = "\0".join((sys.executable, str(Path(__file__)), *controllers))
    folder = cache / "setpoint" / f"envtest-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"
    install(folder, controllers)
    return folder


def install(folder: Path, controllers: Sequence[str] = ()) -> None:
    """Writes the three programs into ``folder``; other files in it are left alone. ``controllers`` are the controllers
    that run beside each server. Compiles setpoint's modules if no bytecode of them is there.

    Raises:
        OSError: the folder can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python = shlex.quote(sys.executable)
    with_them = shlex.quote(f"--controllers={','.join(controllers)}") + " " if controllers else ""
    _write(folder / "etcd", _PROGRAM.format(python=python, module="etcd", arguments=""))
    _write(folder / "kube-apiserver", _PROGRAM.format(python=python, module="kube_apiserver", arguments=with_them))
    kubectl = shutil.which("kubectl", path=_path_without(folder))
    text = _NO_KUBECTL if kubectl is None else f'#!/bin/sh\nexec {shlex.quote(kubectl)} "$@"\n'
    _write(folder / "kubectl", text)
    if not Path(cache_from_source(__file__)).exists():
        # Installers such as uv leave that to the first start, and images may forbid it: then every start compiles
        # everything, which doubles its CPU time. Where nothing can be written, it stays so.
        compileall.compile_dir(Path(__file__).parents[2], quiet=2)


def _path_without(folder: Path) -> str:
    """PATH without ``folder``; otherwise the kubectl in ``folder`` would call itself."""
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(part for part in parts if part and Path(part).resolve() != folder.resolve())


def _write(path: Path, text: str) -> None:
    """Writes the file atomically, because another process may be starting it at the same time."""
    if path.is_file() and os.access(path, os.X_OK) and path.read_text(encoding="utf-8") == text:
        return
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8")
        new.chmod(0o755)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)

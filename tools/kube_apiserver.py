"""``python tools/kube_apiserver.py 1.31.14 [COMMAND ...]``: kube-apiserver and etcd, built from their Go modules.

With a command, runs it while a fresh kube-apiserver serves on loopback; ``{kubeconfig}`` in its words is the file with
which it is reached. The programs are kept in a folder outside of the repository, and are built only once: that takes
about half an hour of two cores. Nothing is downloaded but Go modules.

``k8s.io/kubernetes`` requires its staging modules as ``v0.0.0`` and replaces them by folders that the published module
does not have; the module that this script writes replaces them by the published modules of the same release.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "setpoint" / "kube-apiserver"
ETCD = "v3.6.5"
TOKEN = "administrator"
READY_WITHIN = 300
"""Seconds that a server has on a machine that does something else, too."""
STAGING = re.compile(r"^\s+(k8s\.io/[a-z0-9-]+) v0\.0\.0$", re.MULTILINE)


def kube_apiserver_module(kubernetes_go_mod: str, version: str) -> str:
    """The ``go.mod`` of a module that builds kube-apiserver of ``version`` (``1.31.14``) from published modules."""
    staging_version = "v0" + version.removeprefix("1")
    go = re.search(r"^go (\S+)$", kubernetes_go_mod, re.MULTILINE)
    if go is None:
        raise SystemExit(f"the go.mod of k8s.io/kubernetes v{version} has no `go` line")
    godebug = re.search(r"^godebug (\(.*?^\)|\S+)$", kubernetes_go_mod, re.MULTILINE | re.DOTALL)
    replaced = [f"\t{name} => {name} {staging_version}" for name in STAGING.findall(kubernetes_go_mod)]
    lines = ["module apiserver", "", f"go {go[1]}", "", *([godebug[0], ""] if godebug else [])]
    lines += [f"require k8s.io/kubernetes v{version}", "", "replace (", *replaced, ")", ""]
    return "\n".join(lines)


def build_kube_apiserver(version: str, folder: Path) -> Path:
    """Builds kube-apiserver into ``folder``; it answers ``/version`` with ``version``."""
    described = json.loads(_go(["mod", "download", "-json", f"k8s.io/kubernetes@v{version}"], Path.home()))
    minor = version.split(".")[1]
    package = "k8s.io/component-base/version"
    values = {"gitVersion": f"v{version}", "gitMajor": "1", "gitMinor": minor, "gitTreeState": "clean"}
    flags = " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in values.items())])
    module = kube_apiserver_module(Path(described["GoMod"]).read_text(), version)
    tools = '//go:build tools\n\npackage tools\n\nimport _ "k8s.io/kubernetes/cmd/kube-apiserver"\n'
    return _build(folder, "kube-apiserver", module, tools, ["-ldflags", flags, "k8s.io/kubernetes/cmd/kube-apiserver"])


def build_etcd(folder: Path) -> Path:
    """Builds etcd into ``folder``."""
    module = f"module etcd\n\ngo 1.24\n\nrequire go.etcd.io/etcd/server/v3 {ETCD}\n"
    tools = '//go:build tools\n\npackage tools\n\nimport _ "go.etcd.io/etcd/server/v3"\n'
    return _build(folder, "etcd", module, tools, ["go.etcd.io/etcd/server/v3"])


def _build(folder: Path, name: str, module: str, tools: str, arguments: list[str]) -> Path:
    program = folder / name
    if program.exists():
        return program
    source = folder / f"{name}.module"
    source.mkdir(parents=True, exist_ok=True)
    (source / "go.mod").write_text(module)
    (source / "tools.go").write_text(tools)
    partial = folder / f"{name}.partial"
    _go(["build", "-mod=mod", "-trimpath", "-o", str(partial), *arguments], source)
    partial.replace(program)  # a build that was interrupted leaves no program
    shutil.rmtree(source)
    return program


def _go(arguments: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            ["go", *arguments],
            cwd=folder,
            env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise SystemExit("`go` is not on PATH: install Go to build kube-apiserver") from None
    if done.returncode:
        raise SystemExit(f"go {' '.join(arguments)} failed, see above")
    return done.stdout


class RunningServer(NamedTuple):
    """A kube-apiserver that is ready: an administrator's kubeconfig, the address, and the processes."""

    kubeconfig: Path
    url: str
    processes: tuple[subprocess.Popen[bytes], ...]


@contextmanager
def serving(programs: Path, place: Path, *, fsync: bool = False) -> Iterator[RunningServer]:
    """A kube-apiserver with RBAC and without controllers, whose data are in ``place``. Pods need no ServiceAccount,
    because nothing makes one. ``fsync``: whether etcd waits until the disk has what it acknowledges.
    """
    port, client, peer = free_port(), free_port(), free_port()
    (place / "tokens.csv").write_text(f'{TOKEN},admin,1,"system:masters"\n')
    subprocess.run(["openssl", "genrsa", "-out", "sa.key", "2048"], cwd=place, check=True, capture_output=True)
    etcd = [str(programs / "etcd"), "--data-dir=etcd", "--log-level=error", *(() if fsync else ("--unsafe-no-fsync",))]
    etcd += [f"--{kind}-client-urls=http://127.0.0.1:{client}" for kind in ("listen", "advertise")]
    etcd += [f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}"]
    etcd += [f"--initial-cluster=default=http://127.0.0.1:{peer}"]
    words = [str(programs / "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{client}", f"--secure-port={port}"]
    words += ["--bind-address=127.0.0.1", "--cert-dir=certs", "--service-cluster-ip-range=10.0.0.0/24"]
    words += ["--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.key"]
    words += ["--service-account-signing-key-file=sa.key", "--authorization-mode=RBAC", "--token-auth-file=tokens.csv"]
    words += ["--disable-admission-plugins=ServiceAccount"]
    url = f"https://127.0.0.1:{port}"
    named = {
        "clusters": [{"name": "real", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
    }
    kubeconfig = place / "kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "real", **named}))
    with started(etcd, place) as store, started(words, place) as server:
        _wait_until_ready(url, server, place / "kube-apiserver.log")
        yield RunningServer(kubeconfig, url, (store, server))


def free_port() -> int:
    """A port of the loopback address that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def started(words: list[str], place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs in ``place``, where what it prints is in a ``.log`` with its name."""
    with (place / f"{Path(words[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=place, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def _wait_until_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(f"{url}/readyz", headers={"authorization": f"Bearer {TOKEN}"})
    for _ in range(READY_WITHIN):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(request, context=context, timeout=5):
                return
        except OSError:  # not listening yet, or 500 because a part is not ready
            time.sleep(1)
    raise SystemExit(
        "kube-apiserver does not become ready:\n" + "".join(log.read_text().splitlines(keepends=True)[-20:])
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kube_apiserver", description=__doc__)
    parser.add_argument("version", help="a release with its patch, for instance 1.31.14")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what runs while the server does")
    parser.add_argument("--folder", type=Path, default=CACHE, help="where programs are kept (default: %(default)s)")
    options = parser.parse_args(arguments)
    if re.fullmatch(r"1\.\d+\.\d+", options.version) is None:
        parser.error(f"{options.version!r} is not a release with its patch, for instance 1.31.14")
    programs = (options.folder / options.version).absolute()
    built = build_etcd(programs), build_kube_apiserver(options.version, programs)
    if not options.command:
        print(*built, sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as place, serving(programs, Path(place)) as server:
        words = [word.replace("{kubeconfig}", str(server.kubeconfig)) for word in options.command]
        return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

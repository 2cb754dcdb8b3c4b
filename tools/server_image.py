"""``python tools/server_image.py [--output FILE]``: the image ``setpoint-server``, without a container engine.

Its first layer is Python from the packages of the Debian that runs this, without a shell or a package
manager; the second is setpoint with its dependencies from wheels. Needs apt-get and dpkg-deb, no rights of root.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tools.image_archive import layer_of, write_archive

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "/usr/bin/python3"
PACKAGES = "usr/lib/python3/dist-packages"
ALONE = ("ca-certificates", "tzdata")
"""Packages of files only: what they depend on serves their installation."""
TOOLS = frozenset(("dpkg", "install-info", "tar"))
"""Dependencies of libraries' documentation and installation."""
UNUSED = ("usr/share/info", "usr/share/lintian", "usr/share/locale", "usr/share/man", "usr/share/zoneinfo/right")
MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Folders that are links to those of the same name in ``usr``, as Debian's are since version 12."""
HEALTH = (
    "import http.client, ssl; "
    "c = http.client.HTTPSConnection('127.0.0.1', 6443, timeout=5, context=ssl._create_unverified_context()); "
    "c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"
)
FLAGS = ("--host=0.0.0.0", "--auth", "--write-kubeconfig=-")
SECOND = 1_000_000_000


def run_config(version: str) -> dict[str, Any]:
    """The ``config`` of the image: how an engine starts a container."""
    return {
        "User": "65532:65532",
        "ExposedPorts": {"6443/tcp": {}},
        "Env": ["PATH=/usr/bin", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"],
        "Entrypoint": ["/usr/bin/python3", "-m", "setpoint", "server", *FLAGS],
        "Cmd": [],
        "WorkingDir": "/",
        "StopSignal": "SIGTERM",
        "Healthcheck": {
            "Test": ["CMD", "/usr/bin/python3", "-c", HEALTH],
            "Interval": 5 * SECOND,
            "Timeout": 10 * SECOND,
            "StartPeriod": 30 * SECOND,
            "StartInterval": SECOND,
            "Retries": 3,
        },
        "Labels": {"org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"},
    }


def base(root: Path, downloads: Path) -> None:
    """Unpacks Debian's Python, certificates and time zones into ``root``."""
    python = f"python{_version()}"
    # Against an empty list of installed packages: everything that it needs.
    empty = ("-o", "Dir::State::status=/dev/null", "--no-install-recommends")
    planned = _run("apt-get", *empty, "--simulate", "install", python, cwd=downloads)
    names = [line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")]
    wanted = sorted({*names, *ALONE} - TOOLS)
    _run("apt-get", "download", *wanted, cwd=downloads)
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in sorted(downloads.glob("*.deb")):
        with (
            subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as opened,
            tarfile.open(fileobj=opened.stdout, mode="r|") as archive,
        ):
            for member in archive:
                if _is_wanted(member):
                    archive.extract(member, root, filter=_merged)
        if opened.returncode:
            raise OSError(f"dpkg-deb ended with {opened.returncode} for {package.name}")
    (root / "usr/bin/python3").symlink_to(python)
    # Scripts of the package do this when it is installed.
    certificates = root / "etc/ssl/certs/ca-certificates.crt"
    certificates.parent.mkdir(parents=True, exist_ok=True)
    authorities = sorted((root / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    certificates.write_bytes(b"".join(file.read_bytes() for file in authorities))
    (root / "tmp").mkdir(exist_ok=True)
    (root / "etc/passwd").write_text("root:x:0:0::/:/\nnonroot:x:65532:65532::/tmp:/\n")
    (root / "etc/group").write_text("root:x:0:\nnonroot:x:65532:\n")
    _compile(root, f"usr/lib/{python}")


def program(root: Path, downloads: Path, *requirements: str) -> None:
    """Installs ``requirements`` into ``root``, from wheels; downloads go into ``downloads``."""
    target = root / PACKAGES
    pip = (sys.executable, "-m", "pip", "--python", PYTHON, "--disable-pip-version-check", "--quiet")
    words = ("install", "--only-binary", ":all:", "--no-compile", "--target", str(target))
    _run(*pip, *words, *requirements, cwd=downloads)
    shutil.rmtree(target / "bin", ignore_errors=True)  # scripts that name this machine's Python
    for origin in target.glob("*.dist-info/direct_url.json"):  # where the wheel was on this machine
        origin.unlink()
        record = origin.with_name("RECORD")
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(line for line in lines if "/direct_url.json," not in line))
    _compile(root, PACKAGES)


def wheel(folder: Path) -> Path:
    """Builds setpoint's wheel in ``folder``."""
    words = ("-m", "pip", "wheel", "--disable-pip-version-check", "--quiet", "--no-deps", "--wheel-dir", str(folder))
    _run(sys.executable, *words, str(ROOT), cwd=folder)
    (built,) = folder.glob("setpoint-*.whl")
    return built


def _is_wanted(member: tarfile.TarInfo) -> bool:
    name = member.name.removeprefix("./")
    if member.isdir() or name.startswith(UNUSED):
        return False
    return not name.startswith("usr/share/doc/") or name.endswith("/copyright")


def _merged(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """The member under ``usr``, if its folder is a link there. Its owner is the user that runs this program."""
    name = member.name.removeprefix("./")
    name = f"usr/{name}" if name.partition("/")[0] in MERGED else name
    link = member.linkname
    if member.islnk():
        link = link.removeprefix("./")
        link = f"usr/{link}" if link.partition("/")[0] in MERGED else link
    moved = member.replace(name=name, linkname=link, deep=False)
    return moved if moved.issym() else tarfile.tar_filter(moved, path)  # a link may lead to the image's root


def _compile(root: Path, folder: str) -> None:
    """Bytecode that is never compared with its source: the files don't change, and their time is that of the image."""
    words = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/")
    _run(PYTHON, *words, str(root / folder), cwd=root)


def _version() -> str:
    return _run(PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])", cwd=ROOT).strip()


def _run(*words: str, cwd: Path) -> str:
    environment = {**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": "1700000000"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def main() -> int:
    """Writes the image's archive, and prints its name, its id and the size that a registry would hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "setpoint-server.tar")
    options = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    try:
        with tempfile.TemporaryDirectory(prefix="server-image-") as folder:
            places = [Path(folder) / name for name in ("base", "program", "packages", "wheels")]
            for place in places:
                place.mkdir()
            first, second, packages, wheels = places
            base(first, packages)
            program(second, wheels, f"{wheel(wheels)}[server,exec]")
            layers = [layer_of(first), layer_of(second)]
        architecture = _run("dpkg", "--print-architecture", cwd=ROOT).strip()
        options.output.parent.mkdir(parents=True, exist_ok=True)
        tag = f"setpoint-server:{version}"
        identity = write_archive(options.output, layers, tag, architecture, run_config(version))
    except OSError as problem:
        print(f"server_image: {problem}", file=sys.stderr)
        return 1
    sizes = " + ".join(f"{len(layer.content) / 1e6:.1f}" for layer in layers)
    print(f"server_image: {tag} in {options.output}, {sizes} MB, {identity}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

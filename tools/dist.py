"""``python tools/dist.py``: builds ``dist/`` and tries it: the sdist, the wheel made from it, and a bill of materials.

The wheel and the sdist are each installed into an empty environment, which has to say the version of
``pyproject.toml`` and to run the demo of the sdist. The bill of materials (CycloneDX) lists what the wheel needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"


def main() -> int:
    """Builds and tries; the exit status is 1 if something fails."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    shutil.rmtree(DIST, ignore_errors=True)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", _last_change())}
    try:
        _run(sys.executable, "-m", "build", "--outdir", DIST, ROOT, environment=environment)
        sdist, wheel = DIST / f"setpoint-{version}.tar.gz", DIST / f"setpoint-{version}-py3-none-any.whl"
        with tempfile.TemporaryDirectory(prefix="dist-") as folder:
            with tarfile.open(sdist) as archive:
                archive.extractall(folder, filter="data")
            demo = Path(folder) / f"setpoint-{version}" / "examples" / "demo.py"
            for source in (wheel, sdist):
                _try(source, Path(folder) / source.name.replace(".", "-"), demo, version)
            _try_base(wheel, Path(folder) / "base", demo.parent / "mykind.py")
            materials = DIST / f"setpoint-{version}.cdx.json"
            python = Path(folder) / wheel.name.replace(".", "-") / "bin" / "python"
            words = ("environment", "--output-reproducible", "--output-file", materials, python)
            _run(sys.executable, "-m", "cyclonedx_py", *words)
    except (OSError, subprocess.CalledProcessError) as problem:
        print(f"dist: {problem}", file=sys.stderr)
        return 1
    for file in sorted(DIST.iterdir()):
        print(f"dist: {file.relative_to(ROOT)} ({file.stat().st_size / 1e6:.1f} MB)")
    return 0


def _try(source: Path, place: Path, demo: Path, version: str) -> None:
    print(f"dist: {source.name} in an empty environment", flush=True)
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{source}[server]")
    output = _run(place / "bin" / "setpoint", "--version", quiet=True)
    if not output.startswith(f"setpoint {version} "):
        raise OSError(f"{source.name} says {output!r}, not version {version}")
    # From another folder, and beside the demo there is no setpoint: what was installed is imported.
    _run(python, demo, quiet=True, cwd=place)


def _try_base(wheel: Path, place: Path, program: Path) -> None:
    """Tries an installation without extras: it prints manifests, and says which extra an embedded server needs."""
    print(f"dist: {wheel.name} without extras", flush=True)
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    _run(python, program, "manifests", quiet=True, cwd=place)
    words = [str(python), str(program), "run", "--embedded"]
    refused = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if refused.returncode != 1 or "pip install 'setpoint[server]'" not in refused.stderr:
        raise OSError(f"run --embedded without the extra: status {refused.returncode}, {refused.stderr!r}")


def _run(*words: str | Path, quiet: bool = False, cwd: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    process = subprocess.run(
        [*map(str, words)], cwd=cwd, env=environment, check=True, text=True, stdout=subprocess.PIPE if quiet else None
    )
    return process.stdout or ""


def _last_change() -> str:
    """The time of the last commit: the same source gives the same archives."""
    process = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return process.stdout.strip() or "1700000000"


if __name__ == "__main__":
    sys.exit(main())

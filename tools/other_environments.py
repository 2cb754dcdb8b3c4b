"""The suite's most telling part, in environments that users have and this one is not.

    python tools/other_environments.py lowest    # the oldest dependencies that pyproject.toml allows
    python tools/other_environments.py newest    # the newest Python on this machine

The part is what stands on the dependencies and on what changes between Pythons: commands, the cache's compression,
HTTP, WebSockets, TLS, metrics, YAML, classes, forked processes. Where there is no newer Python the reason is printed,
and nothing is tested.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PART = (
    "tests/test_import_budget.py",
    "tests/regexp",
    "tests/schema",
    "tests/meta",
    "tests/cache/test_core.py",
    "tests/cache/test_store.py",
    "tests/cli/test_explain.py",
    "tests/cli/test_program_loader.py",
    "tests/cli/test_default_names.py",
    "tests/cli/test_program.py",
    "tests/cli/mcp",
    "tests/client/test_http.py",
    "tests/client/test_websocket.py",
    "tests/crd/test_declarations.py",
    "tests/manager/test_secure_metrics.py",
    "tests/simulation/test_fork_server.py",
    "tests/simulation/test_threads.py",
    "tests/test_zstd.py",
    "tests/webhook/test_certificate_authority.py",
    "tests/webhook/test_server.py",
)


def newest_python() -> Path | None:
    """The newest CPython that is newer than this one: on the path, or among pyenv's."""
    versions: dict[tuple[int, ...], Path] = {}
    for path in _pythons():
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        version = re.fullmatch(r"Python (\d+)\.(\d+)\.(\d+)", done.stdout.strip())
        if done.returncode == 0 and version is not None:
            versions[tuple(map(int, version.groups()))] = path
    newest = max(versions, default=(0,))
    return versions[newest] if newest[:2] > sys.version_info[:2] else None


def _pythons() -> Iterator[Path]:
    name = re.compile(r"python3\.\d+")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if Path(folder).is_dir():
            yield from (path for path in Path(folder).iterdir() if name.fullmatch(path.name))
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from home.glob("versions/3.*/bin/python3")


def test(python: Path, folder: Path, resolution: str) -> int:
    """Installs the project and its tests into ``folder`` and runs the part; returns pytest's status."""
    inside = folder / "bin" / "python"
    if not inside.exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "uv>=0.8"], check=True)
    uv = [folder / "bin" / "uv", "pip", "install", "--quiet", "--python", inside, "--resolution", resolution]
    extras = ",".join(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    subprocess.run([*uv, "--editable", f".[{extras}]", "--group", "test"], cwd=ROOT, check=True)
    return subprocess.run([inside, "-m", "pytest", "-n", "auto", "-q", *PART], cwd=ROOT, check=False).returncode


def main() -> int:
    which = sys.argv[1:]
    if which == ["lowest"]:
        return test(Path(sys.executable), ROOT / ".venv-lowest", "lowest-direct")
    if which != ["newest"]:
        print(__doc__)
        return 2
    python = newest_python()
    if python is None:
        print(f"skipped: there is no Python newer than {sys.version.split()[0]} on the path or in pyenv's versions")
        return 0
    print(f"with {python}")
    return test(python, ROOT / ".venv-newest", "highest")


if __name__ == "__main__":
    sys.exit(main())

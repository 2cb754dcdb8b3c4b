"""Resolves setpoint and its extras for every Python and platform, from wheels alone and without installing anything.

    python tools/wheels.py            # prints the table, exits 1 if something would need a compiler
    python tools/wheels.py --write    # and puts it into docs/releases.md

uv resolves as if it ran there, from the registry's metadata. It does not know free-threaded builds, for which pip
looks for wheels of uv's versions.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "releases.md"
START, END = "<!-- wheels -->\n", "<!-- end of wheels -->\n"
EXTRAS = ("server", "exec")
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t", "3.15")
PLATFORMS = {  # the name for people, uv's, and pip's
    "Linux (glibc), x86-64": ("x86_64-manylinux_2_28", "manylinux_2_28_x86_64 manylinux2014_x86_64"),
    "Linux (glibc), aarch64": ("aarch64-manylinux_2_28", "manylinux_2_28_aarch64 manylinux2014_aarch64"),
    "Linux (musl), x86-64": ("x86_64-unknown-linux-musl", "musllinux_1_2_x86_64"),
    "Linux (musl), aarch64": ("aarch64-unknown-linux-musl", "musllinux_1_2_aarch64"),
    "macOS, arm64": ("aarch64-apple-darwin", "macosx_13_0_arm64"),
    "macOS, x86-64": ("x86_64-apple-darwin", "macosx_13_0_x86_64"),
    "Windows, x86-64": ("x86_64-pc-windows-msvc", "win_amd64"),
    "Windows, arm64": ("aarch64-pc-windows-msvc", "win_arm64"),
}
NOT_THERE = {("3.11", "Windows, arm64"): "PyYAML has none"}
"""Combinations without wheels, and the reason."""


def problem(python: str, platform: str, folder: Path) -> str:
    """The reason why not everything can be installed from wheels; empty if everything can."""
    for_uv, for_pip = PLATFORMS[platform]
    pins = folder / f"{python}-{for_uv}.txt"
    words = ["-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    words += ["--only-binary", ":all:", "--python", sys.executable, "--python-version", python.removesuffix("t")]
    words += ["--python-platform", for_uv, "--output-file", str(pins), "pyproject.toml"]
    for extra in EXTRAS:
        words += ["--extra", extra]
    failure = run(words)
    if failure or not python.endswith("t"):
        return failure
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run", "--no-deps"]
    words += ["--only-binary=:all:", "--ignore-installed", "--target", str(folder / "nothing")]
    words += ["--requirement", str(pins), "--implementation", "cp", "--python-version", python.removesuffix("t")]
    for tag in for_pip.split():
        words += ["--platform", tag]
    return run([*words, "--abi", f"cp{python.replace('.', '')}"])


def run(words: list[str]) -> str:
    """Runs Python with these words; returns the errors that it prints if it fails."""
    ended = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if ended.returncode == 0 else ended.stderr.strip() or f"ended with {ended.returncode}"


def table(problems: dict[tuple[str, str], str]) -> str:
    lines = [f"| | {' | '.join(PYTHONS)} |", f"|---|{'---|' * len(PYTHONS)}"]
    for platform in PLATFORMS:
        cells = ("no" if problems[python, platform] else "yes" for python in PYTHONS)
        lines.append(f"| {platform} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    combinations = [(python, platform) for python in PYTHONS for platform in PLATFORMS]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "uv>=0.8"], check=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(6) as threads:
        answers = threads.map(lambda combination: problem(*combination, Path(folder)), combinations)
        problems = dict(zip(combinations, answers, strict=True))
    rows = table(problems)
    print(rows)
    unexpected = {combination: text for combination, text in problems.items() if text and combination not in NOT_THERE}
    for (python, platform), text in unexpected.items():
        print(f"Python {python} on {platform} needs a compiler: {text}\n")
    for python, platform in NOT_THERE.keys() - {combination for combination, text in problems.items() if text}:
        print(f"Python {python} on {platform} has all wheels now: take it out of NOT_THERE\n")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    current, _, after = rest.partition(END)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(f"{before}{START}{rows}{END}{after}", encoding="utf-8")
    elif current != rows:
        print(f"{PAGE.relative_to(ROOT)} shows another table: run tools/wheels.py --write")
        return 1
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())

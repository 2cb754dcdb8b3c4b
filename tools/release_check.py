"""``python tools/release_check.py TAG``: whether the tag, the version and the changelog agree. It needs no packages.

The changelog of a release has its heading, and no change is left in ``changelog.d``.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent


def fragments(root: Path = ROOT) -> list[Path]:
    """The files of the changes that are not released yet, sorted."""
    return sorted((root / "changelog.d").glob("*.*.md"))


def problems(tag: str, version: str, changelog: str, unreleased: Sequence[str] = ()) -> list[str]:
    """The problems that stop a release."""
    problems = []
    if tag != f"v{version}":
        problems.append(f"the tag is {tag}, and pyproject.toml has the version {version}: it would be v{version}")
    headings = [line.removeprefix("## ").split()[0] for line in changelog.splitlines() if line.startswith("## ")]
    if version not in [heading.strip("[]") for heading in headings]:
        problems.append(f"CHANGELOG.md has no heading ## {version}: run `towncrier build --version {version}`")
    if unreleased:
        problems.append(
            f"changelog.d still has {', '.join(unreleased)}: `towncrier build` moves them into CHANGELOG.md"
        )
    return problems


def main() -> int:
    """Prints the problems; the exit status is 1 if there are any."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    tag = sys.argv[1] if len(sys.argv) == 2 else ""
    messages = problems(tag, version, (ROOT / "CHANGELOG.md").read_text(), [path.name for path in fragments()])
    for problem in messages:
        print(f"release: {problem}", file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())

"""``python tools/release_check.py TAG``: whether the tag, the version and the changelog agree. It needs no packages."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def problems(tag: str, version: str, changelog: str) -> list[str]:
    """The problems that stop a release."""
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and pyproject.toml has the version {version}: it would be v{version}")
    headings = [line.removeprefix("## ").split()[0] for line in changelog.splitlines() if line.startswith("## ")]
    if version not in [heading.strip("[]") for heading in headings]:
        found.append(f"CHANGELOG.md has no heading ## {version}; what is under Unreleased goes there")
    return found


def main() -> int:
    """Prints the problems; the exit status is 1 if there are any."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    found = problems(sys.argv[1] if len(sys.argv) == 2 else "", version, (ROOT / "CHANGELOG.md").read_text())
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

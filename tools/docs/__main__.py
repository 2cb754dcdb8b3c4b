"""``python -m tools.docs [FOLDER]``: builds the site into a folder, by default build/site, and checks it.

The exit status is 1 if the generator warns of anything, or if a link, an anchor or a page is faulty.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tools.docs import api, check
from tools.docs.machines import llms
from tools.docs.navigation import ROOT, unlisted
from tools.docs.pages import Pages


def main() -> int:
    """Builds, checks, and prints the findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    site: Path = parser.parse_args().folder.resolve()
    if missing := unlisted():
        print("docs/navigation.toml does not list:", *(page.relative_to(ROOT) for page in missing))
        return 1
    pages = Pages(api.pages())
    staged = ROOT / "build" / "site-source"
    for folder in (staged, site):
        shutil.rmtree(folder, ignore_errors=True)
    _write(staged, pages.for_generator())
    for place, file in pages.files.items():
        (staged / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, staged / place)
    here = Path(__file__).parent
    build = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-c", str(here), "-j", "2"]
    if subprocess.run(
        [*build, "-d", str(ROOT / "build" / "site-cache"), str(staged), str(site)], check=False
    ).returncode:
        return 1
    _write(site, pages.plain)
    (site / "llms.txt").write_text(llms(pages), "utf-8")
    findings = list(check.findings(site, pages))
    print(*findings, sep="\n", end="\n" if findings else "")
    if not findings:
        print(f"{len(pages.plain)} pages: {site / 'index.html'}")
    return bool(findings)


def _write(folder: Path, pages: dict[str, str]) -> None:
    for place, text in pages.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""``python tools/test_strange.py``: the tests on another day, in another zone, for another user.

The clock is moved ahead in all processes (``tests/ahead``), the zone is Asia/Kathmandu (5:45 from UTC), hash seed and
order are random (both are printed and can be given), and where root starts it, the tests are run by the user ``nobody``
on a copy of the tree. Options that are not known here are passed on to pytest. With ``--coverage`` the branches that
were taken in any process are counted; fewer of them than ``fail_under`` in pyproject.toml is a failure.
"""

from __future__ import annotations

import argparse
import os
import pwd
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ZONE = "Asia/Kathmandu"
USER = "nobody"
PROBE = f"""
import subprocess, sys, pytest
assert sys.base_prefix == {sys.base_prefix!r}, "it would be another Python"
subprocess.run([sys.executable, "-c", ""], check=True)
"""
ELSEWHERE = ["--ignore=tests/typing", "--ignore=tests/simulation/corpus"]
"""Type checkers of others, and replays in virtual time, take minutes and depend on no day; the plain run has them."""
LEFT_OUT = shutil.ignore_patterns(".*_cache", ".git", ".hypothesis", ".mutation", ".venv*", ".build", "__pycache__")


def somebody_else(environment: dict[str, str]) -> list[str]:
    """The prefix of a command that runs it as another user; empty, with the reason printed, if that is impossible."""
    if os.geteuid() != 0:
        print(f"not root, so run by {pwd.getpwuid(os.geteuid()).pw_name}")
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        print("run by root: there is no setpriv")
        return []
    user = pwd.getpwnam(USER)
    other = [setpriv, f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    # Python itself may be in a folder that is for root alone. Then the other user may read every file, but not write.
    reads = [f"--{kind}=-all,+dac_read_search" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
    for options, suffix in ((["--bounding-set=-all"], ""), (reads, ", who may read every file")):
        probe = [*other, *options, sys.executable, "-c", PROBE]
        probe_result = subprocess.run(probe, env=environment, capture_output=True, text=True)
        if not probe_result.returncode:
            print(f"run by {USER}{suffix}")
            return [*other, *options]
    print(f"run by root: {USER} can't run {sys.executable}: {probe_result.stderr.strip()}")
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=400, help="how far ahead the clock is")
    parser.add_argument("--hash-seed", type=int, default=random.randrange(1, 2**32))
    parser.add_argument("--coverage", action="store_true")
    args, rest = parser.parse_known_args()
    print(f"{args.days} days ahead, TZ={ZONE}, PYTHONHASHSEED={args.hash_seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="strange-") as temporary:
        home, tree = Path(temporary) / "home", Path(temporary) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT, symlinks=True)
        (tree / ".venv").symlink_to(ROOT / ".venv")
        home.mkdir()
        environment = {
            **os.environ,
            "CLOCK_AHEAD": str(args.days),
            "HOME": str(home),
            "PYTHONHASHSEED": str(args.hash_seed),
            "PYTHONPATH": os.pathsep.join([str(tree / "tests" / "ahead"), str(tree / "src")]),
            "TMPDIR": str(home),
            "TZ": ZONE,
        }
        other = somebody_else({**os.environ, "HOME": str(home)})
        if other:
            user = pwd.getpwnam(USER)
            for path in (Path(temporary), *Path(temporary).rglob("*")):
                os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)

        def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
            sys.stdout.flush()
            return subprocess.run(
                [*other, sys.executable, "-m", *words], cwd=tree, env=environment, text=True, **options
            )

        pytest = ["pytest", "-p", "randomly", "-n", "auto", "--dist", "worksteal", "-q", *ELSEWHERE, *rest]
        if not args.coverage:
            return run(*pytest).returncode
        failed = run("coverage", "run", "-m", *pytest).returncode
        run("coverage", "combine", "--quiet")
        report = run("coverage", "report", stdout=subprocess.PIPE)
        head, _, *modules = report.stdout.splitlines()
        print("\nThe least covered modules, and all:", head, *modules[:12], sep="\n")
        print(*(line for line in modules[12:] if line.startswith(("TOTAL", "Coverage"))), sep="\n")
        return report.returncode or failed


if __name__ == "__main__":
    sys.exit(main())

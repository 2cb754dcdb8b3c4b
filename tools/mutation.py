"""``python tools/mutation.py MODULE``: mutation testing of one module by its own tests, with mutmut.

mutmut changes the module's code in one place at a time and sees whether a test fails. A folder of its own per module,
``.mutation/MODULE``, holds a copy of the tree and what mutmut found, so that ``mutmut show NAME`` and ``mutmut browse``
work there. A second run goes on where the first was stopped, and looks again at what was left. Ends with 1 if fewer
than 90 % of the changes were noticed. ``docs/testing.md`` says what is left and why.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
WANTED = 90.0
"""Per cent of the mutants that have to be killed."""

UNTOUCHED = [r"logger\.\w+\(", r"strict=True"]
"""Lines on which a mutant says nothing: words of the log, and the assertion that two lengths are equal."""


@dataclass(frozen=True)
class Module:
    """``code``: patterns of the files that are changed; ``tests``: what has to notice."""

    code: list[str]
    tests: list[str]


MODULES = {
    "workqueue": Module(["src/setpoint/workqueue/*"], ["tests/workqueue"]),
    "store": Module(["src/setpoint/cache/store.py"], ["tests/cache/test_store.py", "tests/cache/test_core.py"]),
    "children": Module(
        ["src/setpoint/controller/writes/children.py"],
        [
            "tests/controller/test_children.py",
            "tests/controller/test_children_in_detail.py",
            "tests/controller/test_children_and_failing_servers.py",
            "tests/controller/test_children_of_stale_caches.py",
            "tests/controller/test_recreated_objects.py",
        ],
    ),
    "apply": Module(["src/setpoint/patch/apply.py"], ["tests/patch/test_apply.py"]),
    "leader_election": Module(
        ["src/setpoint/manager/leader_election/config.py", "src/setpoint/manager/leader_election/leader_elector.py"],
        ["tests/manager/test_lease_tries.py", "tests/manager/test_leader_election.py"],
    ),
}


def prepare(module: Module, place: Path) -> None:
    """The tree as it is now, with a configuration for this module; mutmut's results of an earlier run stay."""
    place.mkdir(parents=True, exist_ok=True)
    for folder in ("src", "tests", "examples", "docs"):
        shutil.rmtree(place / folder, ignore_errors=True)
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    options = {
        "source_paths": ["src"],
        "only_mutate": module.code,
        "also_copy": ["examples", "docs"],
        "do_not_mutate_patterns": UNTOUCHED,
        "pytest_add_cli_args": ["--hypothesis-profile=mutation", "-p", "no:xdist", "-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": module.tests,
        "timeout_multiplier": 6.0,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    text = (ROOT / "pyproject.toml").read_text()
    (place / "pyproject.toml").write_text("\n".join([text, "[tool.mutmut]", *lines, ""]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", choices=MODULES)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    place = ROOT / ".mutation" / options.module
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def mutmut(*words: str) -> str:
        """Its output, which is shown only where it is not the progress of a run."""
        quiet = None if words[0] == "run" else subprocess.PIPE
        command = [sys.executable, "-m", "mutmut", *words]
        return subprocess.run(command, cwd=place, env=environment, check=True, stdout=quiet, text=True).stdout or ""

    before = mutmut("results") if (place / "mutants").exists() else ""
    unchecked = [line.split(":")[0].strip() for line in before.splitlines() if "not checked" not in line]
    prepare(MODULES[options.module], place)
    processes = ("--max-children", str(options.processes))
    mutmut("run", *processes)
    if unchecked:  # there may be a test for them now
        mutmut("run", *processes, *unchecked)
    mutmut("export-cicd-stats")
    print(mutmut("results"), end="")
    stats = json.loads((place / "mutants" / "mutmut-cicd-stats.json").read_text())
    noticed = stats["killed"] + stats["timeout"]
    share = 100 * noticed / stats["total"]
    print(
        f"{options.module}: {noticed} of {stats['total']} mutants killed, {share:.1f} % (at least {WANTED:g} % wanted)"
    )
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())

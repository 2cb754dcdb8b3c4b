"""Runs the corpus with the full budget and prints the table: ``python -m tests.simulation.corpus [NAME …]``."""

from __future__ import annotations

import argparse
import resource

from tests.simulation.corpus import PAIRS
from tests.simulation.corpus.pair import Pair

from setpoint.simulation import Budget, Counterexample

HEADINGS = """
| pair | root cause | found | by the oracle | runs | seconds | faults | which | twin accused | tried on the twin |
|---|---|---|---|---|---|---|---|---|---|
""".strip()


def spent() -> float:
    """Seconds of processor time until now, with those of all runs."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in both)


def searched(pair: Pair, budget: Budget, *, verbose: bool) -> tuple[list[str], bool]:
    """The result of the search for the bug, as columns, and whether it is found."""
    began = spent()
    try:
        report = pair.check_buggy(budget)
    except Counterexample as problem:
        if verbose:
            print(problem, flush=True)
        faults = [f"({fault.kind!r}, {fault.at!r}, {dict(fault.how)!r})" for fault in problem.plan.faults]
        oracle = problem.findings[0].oracle
        return ["yes", oracle, str(problem.runs), f"{spent() - began:.1f}", str(len(faults)), " + ".join(faults)], True
    return ["NO", "", str(report.runs), f"{spent() - began:.1f}", "", ""], False


def acquitted(pair: Pair, budget: Budget, *, verbose: bool) -> tuple[list[str], bool]:
    """The result of the search for a bug in the twin, as columns, and whether there is none."""
    try:
        report = pair.check_correct(budget)
    except Counterexample as problem:
        if verbose:
            print(problem, flush=True)
        faults = " + ".join(map(str, problem.plan.faults)) or "no fault"
        return [f"YES: {problem.findings[0]} under {faults}", ""], False
    return ["no", f"{report.singles} of {report.all_singles}, {report.combinations}"], True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pairs; all by default")
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of each of the two checks of a pair")
    parser.add_argument("--runs", type=int, help="budget in runs instead: it does not depend on the machine")
    parser.add_argument("--side", choices=("buggy", "correct", "both"), default="both")
    parser.add_argument("--verbose", action="store_true", help="print counter-examples")
    given = parser.parse_args()
    chosen = [pair for pair in PAIRS if not given.names or pair.name in given.names]
    budget = Budget(runs=given.runs) if given.runs else Budget(seconds=given.seconds)
    sides = ("buggy", "correct") if given.side == "both" else (given.side,)
    print(HEADINGS, flush=True)
    fine = True
    for pair in chosen:
        columns = [pair.name, pair.root]
        for side in sides:
            ask = searched if side == "buggy" else acquitted
            answer, good = ask(pair, budget, verbose=given.verbose)
            columns += answer
            fine = fine and good
        print(f"| {' | '.join(columns)} |", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())

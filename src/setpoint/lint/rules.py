"""The rules by name, and the check of a file against all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from setpoint.lint.blocking_calls import blocking_calls
from setpoint.lint.clocks import status_times, unreplayable
from setpoint.lint.module import Mistake, Module
from setpoint.lint.module_state import module_state
from setpoint.lint.ownership import missing_owns
from setpoint.lint.writes import anonymous_creates, caught_conflicts, whole_lists

_ALLOWED: Final = re.compile(r"#\s*setpoint:\s*allow\s+([a-z-]+)")


class Rule(NamedTuple):
    """A rule: its check, a sentence, and the oracle of the simulation whose finding it prevents."""

    check: Callable[[Module], Iterator[Mistake]]
    about: str
    prevents: str


RULES: Final[dict[str, Rule]] = {
    "blocking-call": Rule(blocking_calls, "a coroutine calls a function that blocks the event loop", "hang"),
    "clock-or-random": Rule(unreplayable, "a reconcile reads the machine's clock or random numbers", "determinism"),
    "module-state": Rule(module_state, "a reconcile changes module-level state, which a restart loses", "end state"),
    "create-anonymous": Rule(anonymous_creates, "a reconcile creates an object without a name or owner", "counts"),
    "status-time": Rule(status_times, "each reconcile writes a time into the status", "quiet"),
    "caught-conflict": Rule(caught_conflicts, "a reconcile swallows a conflict", "end state"),
    "whole-list": Rule(whole_lists, "each reconcile requests all objects of a kind", "end state"),
    "missing-owns": Rule(missing_owns, "a controller does not declare the kind of its children", "end state"),
}
"""The rules. A line with the comment ``# setpoint: allow RULE`` and a reason is left out."""


def lint(text: str, file: Path) -> list[tuple[str, Mistake]]:
    """The mistakes in a source file with the names of the rules, by line.

    Raises:
        SyntaxError: the text is not Python.
    """
    module = Module(text, file)
    mistakes = [(name, mistake) for name, rule in RULES.items() for mistake in rule.check(module)]
    return sorted(
        (item for item in mistakes if item[0] not in _ALLOWED.findall(module.lines[item[1].line - 1])),
        key=lambda item: item[1],
    )

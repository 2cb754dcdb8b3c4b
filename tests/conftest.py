"""Fixtures and settings of all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings
from tests.ports import reserved_port

settings.register_profile("setpoint", deadline=None)  # a busy machine is not a failure
# Mutants are judged thousands of times, always alike (tools/mutation.py), and no person reads their counter-examples.
settings.register_profile(
    "mutation",
    deadline=None,
    max_examples=30,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("setpoint")


@pytest.hookimpl(optionalhook=True)  # mutation testing runs without xdist
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors: a third of the time a test waits for a process that it started."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def port() -> Iterator[int]:
    """A port of 127.0.0.1 on which only a program that the test starts can listen."""
    with reserved_port() as reserved:
        yield reserved

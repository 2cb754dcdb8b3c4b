"""Fixtures and settings of all tests."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings, strategies
from tests.ports import hold_unreachable_ports, reserved_port

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


def pytest_configure(config: pytest.Config) -> None:
    """No test gets a port at which its server can't be reached. The workers of a run leave this to the main process."""
    if hasattr(config, "workerinput"):
        return
    for holder in hold_unreachable_ports():
        config.add_cleanup(holder.close)


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """Leaves the root logger as it was: a command sends records to standard error, and other tests count them."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
    root.setLevel(level)


@settings(max_examples=1, database=None)
@given(strategies.none())
def _any_property(_: None) -> None:
    pass


def pytest_collection_finish() -> None:
    """Collections of garbage do not traverse the ten thousand tests: a test that collects would take half a second.

    Hypothesis registers its generator at the first property, and warns if ``gc`` shows no object that refers to it;
    ``gc`` shows no frozen object.
    """
    _any_property()
    gc.collect()
    gc.freeze()


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """No object is excluded from collections of garbage, as in a program of a user."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def port() -> Iterator[int]:
    """A port of 127.0.0.1 on which only a program that the test starts can listen."""
    with reserved_port() as reserved:
        yield reserved

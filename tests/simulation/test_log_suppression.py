"""Logs that simulations suppress are there again afterwards, in whatever order the blocks end."""

from __future__ import annotations

import logging
from itertools import permutations

import pytest

from setpoint.simulation.sandbox.log_suppression import suppress_logs
from setpoint.simulation.sandbox.logged_exceptions import report_logged_exceptions


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_everything_is_logged_again_in_whatever_order_the_blocks_end(order: tuple[int, ...]) -> None:
    logger = logging.getLogger("setpoint")
    before = logging.root.manager.disable, logger.propagate, list(logger.handlers)
    blocks = [suppress_logs(), report_logged_exceptions(lambda *_: None), report_logged_exceptions(lambda *_: None)]
    for block in blocks:
        block.__enter__()
        assert not logger.isEnabledFor(logging.WARNING)
    for place in order:
        assert not logger.isEnabledFor(logging.WARNING)
        blocks[place].__exit__(None, None, None)
    assert (logging.root.manager.disable, logger.propagate, list(logger.handlers)) == before


def test_a_disabling_of_the_programs_own_stays() -> None:
    before = logging.root.manager.disable
    logging.disable(logging.INFO)
    try:
        with suppress_logs():
            assert logging.root.manager.disable == logging.CRITICAL
        assert logging.root.manager.disable == logging.INFO
    finally:
        logging.disable(before)

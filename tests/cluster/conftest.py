"""Fixtures of all tests of the control plane."""

from __future__ import annotations

import pytest
from tests.cluster.rest import Rest


@pytest.fixture(autouse=True)
def rest(monkeypatch: pytest.MonkeyPatch) -> Rest:
    """After each test that has ended, nothing is written any more but what time demands."""
    return Rest(monkeypatch)

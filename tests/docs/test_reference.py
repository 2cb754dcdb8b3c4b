"""The tables of the reference are those that the code gives; `make models-check` says so, too."""

from __future__ import annotations

import pytest
from tools.docs import reference


@pytest.mark.sessions
def test_the_tables_of_the_reference_are_those_of_the_code() -> None:
    for page, text in reference.pages().items():
        assert page.read_text("utf-8") == text, f"{page.name}: run make models"

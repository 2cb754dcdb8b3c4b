"""Answers of API servers of 1.36 about rules, costs and objects: recorded once, compared ever since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def observed(name: str) -> Any:
    """A table of what was said."""
    return json.loads((Path(__file__).parent / f"observed_{name}.json").read_text())

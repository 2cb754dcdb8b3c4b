"""The protocol of each system under test: words, one a line, on its standard streams."""

from __future__ import annotations

import gc
import sys


def say(word: str) -> None:
    print(word, flush=True)


def hear(word: str) -> None:
    answer = sys.stdin.readline().strip()
    if answer != word:
        raise SystemExit(f"expected {word!r}, heard {answer!r}")


def collected() -> None:
    """Collect what can be collected when told to, and say so."""
    hear("collect")
    gc.collect()
    say("collected")

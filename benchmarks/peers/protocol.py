"""The protocol of each system under test: words, one a line, on its standard streams."""

from __future__ import annotations

import gc
import sys


def say(word: str) -> None:
    print(word, flush=True)


def hear(word: str) -> None:
    heard = sys.stdin.readline().strip()
    if heard != word:
        raise SystemExit(f"expected {word!r}, heard {heard!r}")


def collected() -> None:
    """Collect what can be collected when told to, and say so."""
    hear("collect")
    gc.collect()
    say("collected")

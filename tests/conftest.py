"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("setpoint", deadline=None)  # a busy machine is no failure
# Mutants are judged thousands of times, and always alike (tools/mutation.py).
settings.register_profile("mutation", deadline=None, max_examples=30, derandomize=True, database=None)
settings.load_profile("setpoint")

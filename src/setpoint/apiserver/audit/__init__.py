"""The audit log: who asked for what, and what came of it."""

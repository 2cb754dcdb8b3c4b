"""What is recorded of a run: its history, its trace, and its result."""

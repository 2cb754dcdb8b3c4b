"""The oracles: what must hold in a run, in its end, and between runs."""

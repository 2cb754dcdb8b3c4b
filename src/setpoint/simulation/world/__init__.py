"""The simulated world of one run: clusters, processes, external systems, users."""

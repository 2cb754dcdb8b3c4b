"""The sandbox of a simulated program: virtual time, threads, global state, and what it may not do to the real world."""

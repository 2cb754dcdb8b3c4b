"""Paths below an object: scale, binding, eviction, finalize."""

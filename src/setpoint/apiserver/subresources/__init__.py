"""Subresources, the paths below an object: scale, binding, eviction, finalize."""

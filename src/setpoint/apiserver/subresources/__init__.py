"""Subresources, which are paths below an object, such as ``scale``, ``eviction``, ``finalize`` and ``log``."""

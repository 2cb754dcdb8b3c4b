"""Garbage collection: objects whose owners are gone, and pods whose node is gone."""

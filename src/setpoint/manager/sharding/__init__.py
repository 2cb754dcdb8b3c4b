"""Sharding: several processes share the keys of their controllers."""

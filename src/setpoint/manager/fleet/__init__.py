"""Fleets: several clusters in one manager."""

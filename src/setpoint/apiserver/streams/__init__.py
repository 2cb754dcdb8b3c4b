"""Streams between clients and containers: logs, commands, connections to ports."""

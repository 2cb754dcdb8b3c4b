"""Parsing of requests: path, options, body, and the object in it."""

"""Parsing of requests: the path, the options, the body and the object in the body."""

"""Random requests for every built-in kind, said to two servers: see ``python -m tests.conformance random --help``."""

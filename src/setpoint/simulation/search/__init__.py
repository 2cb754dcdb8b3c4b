"""The search for a plan under which a promise is broken."""

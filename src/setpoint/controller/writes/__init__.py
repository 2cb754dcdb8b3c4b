"""The writes of a reconcile: owned objects, sets of children, and the status."""

"""The verbs on objects: get, list, watch, create, update, patch, delete."""

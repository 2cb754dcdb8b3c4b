"""What can be done to objects: get, list, watch, create, update, patch, delete."""

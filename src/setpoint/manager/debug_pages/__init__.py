"""The pages below ``/debug``: controllers, objects, profiles."""

"""Conversion of objects between their bytes, their JSON values and their versions."""

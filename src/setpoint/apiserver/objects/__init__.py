"""Objects between their bytes, their JSON and their versions."""

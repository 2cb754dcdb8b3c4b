"""The simulated network between processes and the API server."""

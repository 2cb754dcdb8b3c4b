"""setpoint: the framework for Kubernetes controllers in Python."""

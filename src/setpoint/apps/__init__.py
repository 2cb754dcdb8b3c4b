"""Complete programs built on setpoint."""

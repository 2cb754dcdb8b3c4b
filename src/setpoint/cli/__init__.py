"""The ``setpoint`` command and the command line that `setpoint.main` gives to a controller."""

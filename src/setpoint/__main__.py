"""``python -m setpoint`` is the ``setpoint`` command."""

from setpoint.starting import setpoint

if __name__ == "__main__":
    setpoint()

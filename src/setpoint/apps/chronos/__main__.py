"""``python -m setpoint.apps.chronos`` is the ``chronos`` command."""

from setpoint.apps.chronos.program import main

if __name__ == "__main__":
    main()

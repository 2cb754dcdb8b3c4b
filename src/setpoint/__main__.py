"""``python -m setpoint`` is the ``setpoint`` command."""

from setpoint.cli.main import main

if __name__ == "__main__":
    main()

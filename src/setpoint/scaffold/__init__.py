"""Projects for operators: what ``setpoint init`` and ``setpoint create`` write, from files in ``templates/``."""

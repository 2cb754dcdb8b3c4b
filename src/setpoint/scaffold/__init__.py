"""Projects for operators: the files that ``setpoint init`` and ``setpoint create`` write, made from ``templates/``."""

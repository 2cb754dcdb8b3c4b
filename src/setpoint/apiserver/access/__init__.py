"""Who may do what: what a request asks for, and the rules that allow it. Reads the storage and nothing else."""

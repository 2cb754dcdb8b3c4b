"""What a simulation is given: scenarios (written, generated or recorded), external systems, predicates."""

"""The input of a simulation: scenarios (written, generated or recorded), external systems, predicates."""

"""The model generator, in parts: inputs, naming, names, types, modules, table, schema data."""

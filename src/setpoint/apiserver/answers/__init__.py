"""The forms of an answer: objects, tables, metadata alone; JSON or YAML."""

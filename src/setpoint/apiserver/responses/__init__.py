"""The forms of a response: objects, tables or metadata alone, in JSON, YAML or protobuf."""

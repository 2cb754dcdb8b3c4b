"""A request from its bytes to what it asks for: path, options, body, and the object in it."""

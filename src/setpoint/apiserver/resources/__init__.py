"""The registry of what is served: every resource in every version, with its behaviour and schema."""

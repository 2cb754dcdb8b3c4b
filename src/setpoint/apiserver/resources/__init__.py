"""The registry of served resources: every resource in every version, with its behaviour and schema."""

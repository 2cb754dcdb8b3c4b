"""The server of ``setpoint mcp``: tools for agents, by the Model Context Protocol. It needs the package ``mcp``."""

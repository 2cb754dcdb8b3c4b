"""CustomResourceDefinitions come alive: what is defined is served."""

"""CustomResourceDefinitions: the server registers and serves the resources that they define."""

"""CustomResourceDefinitions: the resources that they define are registered and served."""

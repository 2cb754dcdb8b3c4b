"""The objects that an operator needs in a cluster, and the forms they are written in: YAML, kustomize, Helm, OLM."""

"""The objects that an operator needs in a cluster, and the forms in which they are written: YAML, kustomize, Helm,
OLM.
"""

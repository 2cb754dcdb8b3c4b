"""The objects that every cluster has from the start: namespaces, and the default objects of a kube-apiserver."""

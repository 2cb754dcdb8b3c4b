"""Replacements for ``kube-apiserver`` and ``etcd`` for tests that start these programs: controller-runtime's envtest,
jenvtest and similar ones. See docs/envtest.md.

Tests start the programs again and again, so these import as little as possible, and each module only when it is needed.
"""

"""Replacements for ``kube-apiserver`` and ``etcd`` for tests that start these programs: controller-runtime's envtest,
jenvtest and similar ones. See docs/envtest.md.

Tests start them again and again, so they import as little as possible, and each file only when it is needed.
"""

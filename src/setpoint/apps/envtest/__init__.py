"""Replacements for ``kube-apiserver`` and ``etcd``, for test frameworks that start these programs, such as
controller-runtime's envtest and jenvtest. See docs/envtest.md.

Tests start the replacements very often, so each replacement imports as little as possible, and each module only when it
is needed.
"""

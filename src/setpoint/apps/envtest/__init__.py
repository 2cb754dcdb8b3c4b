"""Programs in the place of ``kube-apiserver`` and ``etcd`` for tests that start these: controller-runtime's envtest,
jenvtest and their like. See docs/envtest.md.

They are started again and again, so they import as little as they can, and each file only when it is needed.
"""

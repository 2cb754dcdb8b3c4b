"""The admission plugins that are built into kube-apiserver and enabled by default."""

from setpoint.apiserver.plugins.plugin_chain import mutate, mutates, validate

__all__ = ["mutate", "mutates", "validate"]

"""The admission plugins that are built into kube-apiserver and enabled by default."""

from setpoint.apiserver.plugins.plugin_chain import charge_quotas, mutate, mutates, validate

__all__ = ["charge_quotas", "mutate", "mutates", "validate"]

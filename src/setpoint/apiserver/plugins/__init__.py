"""The admission plugins that a kube-apiserver has built in and enables by default."""

from setpoint.apiserver.plugins.chain import mutate, mutates, validate

__all__ = ["mutate", "mutates", "validate"]

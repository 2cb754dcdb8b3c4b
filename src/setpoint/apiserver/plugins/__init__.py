"""The admission plugins that a kube-apiserver has built in, as far as they are on by default."""

from setpoint.apiserver.plugins.chain import mutate, mutates, validate

__all__ = ["mutate", "mutates", "validate"]

"""The function library of API servers."""

from __future__ import annotations

from typing import Final

from setpoint.cel.declarations import Environment
from setpoint.cel.library.arithmetic import OPERATORS
from setpoint.cel.library.authorization import AUTHORIZATION
from setpoint.cel.library.conversions import CONVERSIONS
from setpoint.cel.library.formats import FORMATS_LIBRARY
from setpoint.cel.library.lists import LISTS_LIBRARY
from setpoint.cel.library.networks import NETWORKS
from setpoint.cel.library.quantities import QUANTITIES
from setpoint.cel.library.texts import TEXTS
from setpoint.cel.library.times import TIMES
from setpoint.cel.library.urls import URLS

__all__ = ["SERVER"]

SERVER: Final = Environment(
    (
        OPERATORS,
        CONVERSIONS,
        TEXTS,
        TIMES,
        LISTS_LIBRARY,
        URLS,
        QUANTITIES,
        NETWORKS,
        FORMATS_LIBRARY,
        AUTHORIZATION,
    )
)
"""All functions and types that the API servers of Kubernetes 1.36 provide; no variables are declared."""

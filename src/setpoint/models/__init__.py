"""Typed models of everything in Kubernetes 1.37: one module per group and version, loaded only if a program imports it.

    from setpoint.models.apps_v1 import Deployment
    from setpoint.models.core_v1 import Container, Pod, PodSpec

The modules are generated (``make models``); the package itself contains only names and schemas.
"""

from setpoint.models._table import BUILTIN, KUBERNETES
from setpoint.models.resources import UnknownKindError, definition_name, kind_for, schemas

__all__ = ["BUILTIN", "KUBERNETES", "UnknownKindError", "definition_name", "kind_for", "schemas"]

"""Typed models of everything in Kubernetes 1.37: one module per group and version, loaded when it is imported.

    from setpoint.models.apps_v1 import Deployment
    from setpoint.models.core_v1 import Container, Pod, PodSpec

The modules are generated (``make models``); this package itself knows names and schemas only.
"""

from setpoint.models.resources import BUILTIN, UnknownKindError, definition_name, kind_for, schemas

__all__ = ["BUILTIN", "UnknownKindError", "definition_name", "kind_for", "schemas"]

"""The names that admission expressions can use, and their types.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#validation-expression
"""

from __future__ import annotations

from typing import Final

from setpoint.cel.admission.patches import PatchTypes
from setpoint.cel.declarations import Environment
from setpoint.cel.library import SERVER
from setpoint.cel.library.authorization import AUTHORIZER, RESOURCE_CHECK
from setpoint.cel.library.texts import JSON_PATCH
from setpoint.cel.schema_types import Declared, SchemaFields
from setpoint.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of, struct

VARIABLES: Final = struct("kubernetes.variables")
_TEXTS: Final = list_of(STRING)
_GVK: Final = {"group": STRING, "version": STRING, "kind": STRING}
_GVR: Final = {"group": STRING, "version": STRING, "resource": STRING}
_STRUCTS: Final[dict[str, dict[str, Type]]] = {
    "kubernetes.GroupVersionKind": _GVK,
    "kubernetes.GroupVersionResource": _GVR,
    "kubernetes.UserInfo": {
        "username": STRING,
        "uid": STRING,
        "groups": _TEXTS,
        "extra": map_of(STRING, _TEXTS),
    },
    "kubernetes.AdmissionRequest": {
        "kind": struct("kubernetes.GroupVersionKind"),
        "resource": struct("kubernetes.GroupVersionResource"),
        "subResource": STRING,
        "requestKind": struct("kubernetes.GroupVersionKind"),
        "requestResource": struct("kubernetes.GroupVersionResource"),
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": struct("kubernetes.UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceCondition": {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
    "kubernetes.NamespaceStatus": {"conditions": list_of(struct("kubernetes.NamespaceCondition")), "phase": STRING},
    "kubernetes.NamespaceMetadata": {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": map_of(STRING, STRING),
        "annotations": map_of(STRING, STRING),
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _TEXTS,
    },
    "kubernetes.Namespace": {
        "metadata": struct("kubernetes.NamespaceMetadata"),
        "spec": struct("kubernetes.NamespaceSpec"),
        "status": struct("kubernetes.NamespaceStatus"),
    },
}


class _Fields:
    """The types of the fields in the structs of admission, and of one policy's variables."""

    def __init__(self, variables: dict[str, Type], patches: PatchTypes | None, declared: SchemaFields) -> None:
        self._variables = variables
        self._patches = patches
        self._declared = declared

    def field(self, struct: str, name: str) -> Type | None:
        if struct == VARIABLES.name:
            return self._variables.get(name)
        if struct in _STRUCTS:
            return _STRUCTS[struct].get(name)
        if self._patches is not None:
            return self._patches.field(struct, name)
        return self._declared.field(struct, name)

    def named(self, name: str) -> Type | None:
        return None if self._patches is None else self._patches.named(name)


def admission_environment(
    *,
    params: bool = False,
    authorizer: bool = True,
    variables: dict[str, Type] | None = None,
    patches: bool = False,
    object_type: Declared | None = None,
    params_type: Declared | None = None,
) -> Environment:
    """The environment of an admission expression.

    It always declares ``object``, ``oldObject``, ``namespaceObject`` and ``request``. The arguments decide whether it
    also declares ``params``, ``authorizer``, ``variables`` and the types of patches. ``variables`` maps the variables'
    names to their types; later additions to this dictionary take effect. ``object_type`` and ``params_type`` are the
    types of the objects and of the parameters, whose fields are then checked; they are dynamic without them.
    """
    names: dict[str, Type] = {
        "object": DYN if object_type is None else object_type.type,
        "oldObject": DYN if object_type is None else object_type.type,
        "namespaceObject": struct("kubernetes.Namespace"),
        "request": struct("kubernetes.AdmissionRequest"),
    }
    if params:
        names["params"] = DYN if params_type is None else params_type.type
    if authorizer:
        names |= {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
    if variables is not None:
        names["variables"] = VARIABLES
    declared = SchemaFields(*(kind for kind in (object_type, params_type) if kind is not None))
    provider = _Fields({} if variables is None else variables, PatchTypes() if patches else None, declared)
    return SERVER.extend(names, provider, (JSON_PATCH,) if patches else ())

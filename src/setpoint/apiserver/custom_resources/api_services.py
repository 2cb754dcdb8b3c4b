"""APIServices for the versions of custom resources, which an API server registers itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from setpoint.apiserver.objects.codec import decode, encode
from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.meta import format_time

JsonObject = dict[str, Any]
_MANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"
_GROUP_PRIORITY: Final = 1000
_VERSION_PRIORITY: Final = 100
"""The priority of all versions of custom resources; versions of equal priority are ordered by their names."""
_FIELDS: Final = {
    "f:metadata": {"f:labels": {".": {}, f"f:{_MANAGED}": {}}},
    "f:spec": {"f:group": {}, "f:groupPriorityMinimum": {}, "f:version": {}, "f:versionPriority": {}},
}


class ApiServices:
    """Keeps an APIService for each version of a group that a CRD serves. An APIService that a client created is not
    changed.

    Upstream does this shortly after the write; here it is part of the transaction that changes the CRD.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def serve(self, group: str, versions: Iterable[str]) -> None:
        """Creates the APIServices that are missing for these versions of the group."""
        resource = self._own_resource()
        for version in versions:
            name = f"{version}.{group}"
            if self._state.storage.get(resource.collection, "", name) is not None:
                continue
            value = partial(encode, resource, self._service(name, group, version))
            self._state.storage.put(resource.collection, "", name, value, expected=0)

    def unserve(self, crd: str, group: str, versions: Iterable[str]) -> None:
        """Deletes the APIServices for these versions of the group, except for versions that a CRD other than ``crd``
        serves.
        """
        resource, state = self._own_resource(), self._state
        others = {
            item.resource.version
            for item in state.registry
            if item.custom and item.resource.group == group and item.collection != crd
        }
        for version in versions:
            record = state.storage.get(resource.collection, "", f"{version}.{group}")
            if version in others or record is None:
                continue
            service: JsonObject = decode(record.value)
            if (service["metadata"].get("labels") or {}).get(_MANAGED) != "true":
                continue
            state.storage.delete(
                resource.collection, "", record.name, partial(encode, resource, service), expected=record.revision
            )

    def _service(self, name: str, group: str, version: str) -> JsonObject:
        now, resource = format_time(self._state.now()), self._own_resource().resource
        managed = {
            "manager": "kube-apiserver",
            "operation": "Update",
            "apiVersion": resource.api_version,
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": _FIELDS,
        }
        available = {"type": "Available", "status": "True", "lastTransitionTime": now, "reason": "Local"}
        return {
            "metadata": {
                "name": name,
                "uid": new_uid(self._state.random),
                "creationTimestamp": now,
                "labels": {_MANAGED: "true"},
                "managedFields": [managed],
            },
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": _GROUP_PRIORITY,
                "versionPriority": _VERSION_PRIORITY,
            },
            "status": {"conditions": [{**available, "message": "Local APIServices are always available"}]},
        }

    def _own_resource(self) -> ServedResource:
        resource = self._state.registry.find("apiregistration.k8s.io", "v1", "apiservices")
        assert resource is not None
        return resource

"""Serves the resources that CustomResourceDefinitions define, and deletes the objects of a definition that is
deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from setpoint.apiserver.custom_resources.api_services import ApiServices
from setpoint.apiserver.custom_resources.served_versions import full_names, served_versions
from setpoint.apiserver.http_types import Request
from setpoint.apiserver.objects.codec import decode, encode
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import DeleteOptions, Query
from setpoint.apiserver.requests.path import ResourcePath
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.apiserver.storage import Damage, Record
from setpoint.apiserver.strategies.definitions import CLEANUP_FINALIZER
from setpoint.apiserver.verbs.delete import remove
from setpoint.meta import format_time
from setpoint.schema import Schema, copy_json, structural

_log = logging.getLogger(__name__)
JsonObject = dict[str, Any]
COLLECTION: Final = "customresourcedefinitions.apiextensions.k8s.io"


class CustomResources:
    """Keeps a server's registry consistent with its CRDs.

    Upstream's controllers react soon after a write; here the same steps follow immediately: names are accepted, the CRD
    is established, and its resources are served. Each step is a separate write, so a watch sees the same events as
    upstream, and all writes are one transaction. The registry changes after the writes are stored, when none of the
    steps can fail any longer.

    ``registers``: whether an APIService is registered for each served version.
    """

    def __init__(self, state: State, *, registers: bool = False) -> None:
        self._state = state
        self._services = ApiServices(state) if registers else None
        self._served: dict[str, list[ServedResource]] = {}
        self._specs: dict[str, bytes] = {}
        self._prepared_schemas: Mapping[bytes, Schema] = {}
        self._unusable: dict[str, Damage] = {}

    @property
    def damage(self) -> list[Damage]:
        """The stored CRDs that can't be served in their present form."""
        return list(self._unusable.values())

    def load(self) -> None:
        """Serves the stored CRDs. A CRD that can't be served is logged; it can still be changed or deleted."""
        for record in self._state.storage.scan(COLLECTION):
            try:
                self.refresh(record)
            except Exception as problem:  # noqa: BLE001 - whatever it is, the others are served
                reason = f"its resource is not served: {type(problem).__name__}: {problem}"
                self._unusable[record.name] = Damage(f"{COLLECTION} {record.name}", reason)
                _log.exception("%s %s: its resource is not served", COLLECTION, record.name)

    def created(self, record: Record) -> Record:
        """Handles a CRD that was just created; returns its new record."""
        crd: JsonObject = decode(record.value)
        self._register(crd)
        return self._settle(record, crd)

    def _settle(self, record: Record, crd: JsonObject) -> Record:
        """Updates the status and the served resources of a stored CRD; returns the resulting record. ``crd`` is the
        record's object, and is changed in place.
        """
        for step in (self._with_names, self._with_established):
            before = crd.get("status")
            crd["status"] = copy_json(before or {})
            step(crd)
            if crd["status"] != before:
                record = self._put(record, crd)
        self._refresh(record, crd)
        return record

    def prepare(self, crd: JsonObject) -> None:
        """Parses the schemas of a CRD before it is stored: a large schema takes a long time, and work can't be
        interrupted after its first write.
        """
        schemas = {}
        for version in crd["spec"]["versions"]:
            document = (version.get("schema") or {}).get("openAPIV3Schema")
            if document:
                schemas[msgspec.json.encode(document)] = structural.load(document)
        self._prepared_schemas = schemas

    def updated(self, record: Record, old: JsonObject) -> Record:
        """Handles a CRD that was just changed or marked for deletion; returns its new record."""
        crd: JsonObject = decode(record.value)
        self._register(crd, old)
        if not crd["metadata"].get("deletionTimestamp"):
            return self._settle(record, crd)
        if crd["spec"] != old["spec"]:  # a conversion that is mended may be what the deletion waits for
            self._refresh(record, crd)
        if CLEANUP_FINALIZER not in (crd["metadata"].get("finalizers") or ()):
            return record
        return self._terminate(record)

    def deleted(self, record: Record) -> None:
        """Handles a CRD that was just deleted."""
        self._register(None, decode(record.value))
        self._state.storage.then(lambda: self._unserve(record.name))

    def instance_deleted(self, name: str) -> None:
        """Handles the deletion of an object of the CRD ``name``: if the CRD is being deleted and was waiting for this
        object, the deletion of the CRD is completed.
        """
        if not any(served.terminating for served in self._served.get(name, ())):
            return
        record = self._state.storage.get(COLLECTION, "", name)
        if record is not None:
            self._finish(record)

    # -- steps --------------------------------------------------------------------------------------------------------

    def _with_names(self, crd: JsonObject) -> JsonObject:
        spec, status = crd["spec"], crd.setdefault("status", {})
        if status.get("conditions") is None:
            status["conditions"] = []
        names = full_names(spec["names"])
        problem = self._conflict(crd["metadata"]["name"], spec["group"], names)
        if problem:
            _set_condition(self._now(), status, "NamesAccepted", "False", *problem)
            status.setdefault("acceptedNames", {"plural": "", "kind": ""})
        else:
            status["acceptedNames"] = names
            _set_condition(self._now(), status, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
        stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
        versions = status["storedVersions"] = status.get("storedVersions") or []
        if stored not in versions:
            versions.append(stored)
        return crd

    def _with_established(self, crd: JsonObject) -> JsonObject:
        status = crd["status"]
        accepted = _condition(status, "NamesAccepted") == "True"
        if accepted:
            text = "the initial names have been accepted"
            _set_condition(self._now(), status, "Established", "True", "InitialNamesAccepted", text)
        elif _condition(status, "Established") is None:
            _set_condition(self._now(), status, "Established", "False", "NotAccepted", "not all names are accepted")
        return crd

    def _conflict(self, crd: str, group: str, names: JsonObject) -> tuple[str, str] | None:
        """The reason and the message of a conflict with the names of another resource in the group; None if there is no
        conflict. If several names conflict, the last one is reported, as in upstream. A name in a group belongs to the
        first CRD that used it.
        """
        others = [item.resource for item in self._state.registry if item.collection != crd]
        others = [resource for resource in others if resource.group == group]
        words = {word for item in others for word in (item.plural, item.singular, *item.short_names)}
        kinds = {word for item in others for word in (item.kind, item.list_kind)}
        conflict = None
        for key, reason, used in (
            ("plural", "PluralConflict", words),
            ("singular", "SingularConflict", words),
            ("shortNames", "ShortNamesConflict", words),
            ("kind", "KindConflict", kinds),
            ("listKind", "ListKindConflict", kinds),
        ):
            value = names.get(key) or ()
            for word in (value,) if isinstance(value, str) else value:
                if word in used:
                    conflict = (reason, f'"{word}" is already in use')
        return conflict

    def _terminate(self, record: Record) -> Record:
        crd: JsonObject = decode(record.value)
        self._state.storage.then(lambda: self._end(record.name))
        text = "CustomResource deletion is in progress"
        before = copy_json(crd["status"])
        _set_condition(self._now(), crd["status"], "Terminating", "True", "InstanceDeletionInProgress", text)
        if crd["status"] != before:
            record = self._put(record, crd)
        self._delete_instances(record.name)
        current = self._state.storage.get(COLLECTION, "", record.name)
        return record if current is None else self._finish(current)

    def _end(self, name: str) -> None:
        for served in self._served.get(name, ()):
            served.terminating = True

    def _delete_instances(self, crd: str) -> None:
        state = self._state
        served = next((item.stored_as for item in self._served.get(crd, ())), None)
        if served is None:
            return
        resource = served.resource
        for item in state.storage.scan(crd):
            path = ResourcePath(resource.group, resource.version, resource.plural, item.namespace, item.name)
            call = Call(state, Request("DELETE", ""), path, served, Query(()), state.admin)
            current = state.storage.get(crd, item.namespace, item.name)
            if current is not None:
                remove(call, served, current, DeleteOptions())

    def _finish(self, record: Record) -> Record:
        """Removes the cleanup finalizer of a CRD once none of its objects is left, and deletes the CRD if it has no
        other finalizers. Returns its latest record.
        """
        crd: JsonObject = decode(record.value)
        metadata = crd["metadata"]
        finalizers = metadata.get("finalizers") or []
        instances = self._state.storage.scan(record.name) if self._served.get(record.name) else []
        if instances or CLEANUP_FINALIZER not in finalizers:
            return record
        text = "removed all instances"
        _set_condition(self._now(), crd["status"], "Terminating", "False", "InstanceDeletionCompleted", text)
        metadata["finalizers"] = [name for name in finalizers if name != CLEANUP_FINALIZER]
        if metadata["finalizers"]:
            return self._put(record, crd)
        del metadata["finalizers"]
        resource = self._own_resource()
        last = self._state.storage.delete(
            COLLECTION,
            "",
            record.name,
            lambda revision: encode(resource, crd, revision),
            expected=record.revision,
        )
        self.deleted(last)
        return last

    def register_all(self) -> None:
        """Creates the missing APIServices of all stored CRDs."""
        with self._state.storage.transaction():
            for name in self._served:
                record = self._state.storage.get(COLLECTION, "", name)
                if record is not None:
                    self._register(decode(record.value))

    def _register(self, crd: JsonObject | None, old: JsonObject | None = None) -> None:
        """Updates the APIServices of a CRD that changed from ``old`` to ``crd``; None for ``crd`` means that it was
        deleted.
        """
        if self._services is None:
            return
        served = _served_versions(crd)
        if crd is not None:
            self._services.serve(crd["spec"]["group"], served)
        if old is not None:
            dropped = [version for version in _served_versions(old) if version not in served]
            self._services.unserve(old["metadata"]["name"], old["spec"]["group"], dropped)

    # -- serving ------------------------------------------------------------------------------------------------------

    def refresh(self, record: Record) -> None:
        """Serves the versions of a stored CRD if it is established, unless they are already served in
        this form.
        """
        self._refresh(record, decode(record.value))

    def _refresh(self, record: Record, crd: JsonObject) -> None:
        if _condition(crd.get("status") or {}, "Established") != "True":
            return
        spec = msgspec.json.encode((crd["spec"], crd["status"].get("acceptedNames")))
        terminating = bool(crd["metadata"].get("deletionTimestamp"))
        if self._specs.get(record.name) == spec:
            return
        when_deleted = partial(self.instance_deleted, record.name)
        builtin = [item for item in self._state.registry if not item.custom]
        if any(item.collection == record.name for item in builtin):
            resources = []  # a definition does not take the place of a built-in kind
        else:
            resources = served_versions(self._state, crd, when_deleted, self._prepared_schemas)
        self._prepared_schemas = {}
        # As upstream, whose built-in API groups answer every path below their versions themselves.
        own = {item.resource.version for item in builtin if item.resource.group == crd["spec"]["group"]}
        exposed = {version["name"] for version in crd["spec"]["versions"] if version.get("served")} - own
        for served in resources:
            served.terminating = terminating
            served.has_defaults = b'"default":' in msgspec.json.encode(served.schema_document)
            served.schema_since = record.revision
        exposable = [served for served in resources if served.resource.version in exposed]
        self._state.storage.then(lambda: self._serve(record.name, spec, resources, exposable))

    def _serve(self, name: str, spec: bytes, resources: list[ServedResource], exposed: list[ServedResource]) -> None:
        self._unserve(name)
        self._specs[name] = spec
        self._served[name] = resources
        for served in exposed:
            self._state.registry.add(served)

    def _unserve(self, name: str) -> None:
        self._specs.pop(name, None)
        self._unusable.pop(name, None)
        for served in self._served.pop(name, ()):
            self._state.registry.remove(served)
            self._state.end_watches(served)

    def _put(self, record: Record, crd: JsonObject) -> Record:
        resource = self._own_resource()
        return self._state.storage.put(
            COLLECTION,
            "",
            record.name,
            lambda revision: encode(resource, crd, revision),
            expected=record.revision,
        )

    def _own_resource(self) -> ServedResource:
        resource = self._state.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert resource is not None
        return resource

    def _now(self) -> str:
        return format_time(self._state.now())


def _served_versions(crd: JsonObject | None) -> list[str]:
    return [item["name"] for item in crd["spec"]["versions"] if item.get("served")] if crd is not None else []


def _condition(status: JsonObject, type_: str) -> str | None:
    return next((item.get("status") for item in status.get("conditions") or () if item.get("type") == type_), None)


def _set_condition(now: str, status: JsonObject, type_: str, value: str, reason: str, message: str) -> None:
    conditions = status["conditions"] = status.get("conditions") or []
    current = next((item for item in conditions if item.get("type") == type_), None)
    if current is None:
        current = {"type": type_}
        conditions.append(current)
    if current.get("status") != value:
        current["lastTransitionTime"] = now
    current.update(status=value, reason=reason, message=message)

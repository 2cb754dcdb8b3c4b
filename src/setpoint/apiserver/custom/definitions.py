"""CustomResourceDefinitions: serves the resources that they define, and deletes their objects with them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from setpoint.apiserver.custom.api_services import ApiServices
from setpoint.apiserver.custom.served import full_names, served_versions
from setpoint.apiserver.http_types import Request
from setpoint.apiserver.objects.codec import decode, encode
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import DeleteOptions, Query
from setpoint.apiserver.requests.path import ResourcePath
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.apiserver.storage import Damage, Record
from setpoint.apiserver.verbs.delete import remove
from setpoint.meta import format_time
from setpoint.schema import Schema, copy_json, structural

__all__ = ["CLEANUP_FINALIZER", "COLLECTION", "CustomResources"]

_log = logging.getLogger(__name__)
JsonObject = dict[str, Any]
COLLECTION: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"


class CustomResources:
    """Keeps a server's registry in step with its CRDs.

    The steps that upstream's controllers take soon after a write are taken here right after it, in the same turn: names
    are accepted, the CRD is established, its resources are served. Each step is a write of its own, so that a watch
    sees the same events as upstream; all are one transaction. The registry changes once they are stored, after
    everything that can fail.

    ``registers``: whether the versions that are served have APIServices.
    """

    def __init__(self, state: State, *, registers: bool = False) -> None:
        self._state = state
        self._services = ApiServices(state) if registers else None
        self._served: dict[str, list[ServedResource]] = {}
        self._specs: dict[str, bytes] = {}
        self._foreseen: Mapping[bytes, Schema] = {}
        self._unusable: dict[str, Damage] = {}

    @property
    def damage(self) -> list[Damage]:
        """Stored CRDs that can't be served as they are."""
        return list(self._unusable.values())

    def load(self) -> None:
        """Serves what is stored. A CRD that can't be served is told, and can be changed or deleted like any other."""
        for record in self._state.storage.scan(COLLECTION):
            try:
                self.refresh(record)
            except Exception as problem:  # noqa: BLE001 - whatever it is, the others are served
                why = f"its resource is not served: {type(problem).__name__}: {problem}"
                self._unusable[record.name] = Damage(f"{COLLECTION} {record.name}", why)
                _log.exception("%s %s: its resource is not served", COLLECTION, record.name)

    def created(self, record: Record) -> Record:
        """Called after a CRD was stored for the first time."""
        self._register(decode(record.value))
        return self.settle(record)

    def settle(self, record: Record) -> Record:
        """Brings status and served resources of a stored CRD up to date; gives what is stored then."""
        crd: JsonObject = decode(record.value)
        for step in (self._with_names, self._with_established):
            before = crd.get("status")
            crd["status"] = copy_json(before or {})
            step(crd)
            if crd["status"] != before:
                record = self._put(record, crd)
        self._refresh(record, crd)
        return record

    def foresee(self, crd: JsonObject) -> None:
        """Reads the schemas of a CRD that is about to be stored, which takes a while where they are large."""
        made = {}
        for version in crd["spec"]["versions"]:
            document = (version.get("schema") or {}).get("openAPIV3Schema")
            if document:
                made[msgspec.json.encode(document)] = structural.load(document)
        self._foreseen = made

    def updated(self, record: Record, old: JsonObject) -> Record:
        """Called after a CRD was changed, or marked as being deleted."""
        crd: JsonObject = decode(record.value)
        self._register(crd, old)
        if not crd["metadata"].get("deletionTimestamp"):
            return self.settle(record)
        if CLEANUP_FINALIZER not in (crd["metadata"].get("finalizers") or ()):
            return record
        return self._terminate(record)

    def deleted(self, record: Record) -> None:
        """Called after a CRD is gone."""
        self._register(None, decode(record.value))
        self._state.storage.then(lambda: self._unserve(record.name))

    def instance_deleted(self, name: str) -> None:
        """Called after an object of that CRD is gone: the CRD's deletion may have waited for it."""
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
        taken = self._conflict(crd["metadata"]["name"], spec["group"], names)
        if taken:
            _set_condition(self._now(), status, "NamesAccepted", "False", *taken)
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
        """The last conflict of names, as upstream; names of a group belong to the CRD that had them first."""
        others = [item.resource for item in self._state.registry if item.collection != crd]
        others = [resource for resource in others if resource.group == group]
        words = {word for item in others for word in (item.plural, item.singular, *item.short_names)}
        kinds = {word for item in others for word in (item.kind, item.list_kind)}
        found = None
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
                    found = (reason, f'"{word}" is already in use')
        return found

    def _terminate(self, record: Record) -> Record:
        crd: JsonObject = decode(record.value)
        self._state.storage.then(lambda: self._end(record.name))
        text = "CustomResource deletion is in progress"
        wanted: JsonObject = decode(record.value)
        _set_condition(self._now(), wanted["status"], "Terminating", "True", "InstanceDeletionInProgress", text)
        if wanted != crd:
            record = self._put(record, wanted)
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
        """Lets a CRD go if none of its objects is left; gives its last state then."""
        crd: JsonObject = decode(record.value)
        metadata = crd["metadata"]
        finalizers = metadata.get("finalizers") or []
        if self._state.storage.scan(record.name) or CLEANUP_FINALIZER not in finalizers:
            return record
        text = "removed all instances"
        _set_condition(self._now(), crd["status"], "Terminating", "False", "InstanceDeletionCompleted", text)
        metadata["finalizers"] = [name for name in finalizers if name != CLEANUP_FINALIZER]
        if metadata["finalizers"]:
            return self._put(record, crd)
        del metadata["finalizers"]
        home = self._home()
        last = self._state.storage.delete(
            COLLECTION, "", record.name, lambda revision: encode(home, crd, revision), expected=record.revision
        )
        self.deleted(last)
        return last

    def register_all(self) -> None:
        """Makes the missing APIServices of what is stored."""
        with self._state.storage.transaction():
            for name in self._served:
                record = self._state.storage.get(COLLECTION, "", name)
                if record is not None:
                    self._register(decode(record.value))

    def _register(self, crd: JsonObject | None, old: JsonObject | None = None) -> None:
        """Keeps the APIServices of a CRD that was ``old`` and is gone if it is None."""
        if self._services is None:
            return
        served = _served_versions(crd)
        if crd is not None:
            self._services.serve(crd["spec"]["group"], served)
        if old is not None:
            gone = [version for version in _served_versions(old) if version not in served]
            self._services.unserve(old["metadata"]["name"], old["spec"]["group"], gone)

    # -- serving ------------------------------------------------------------------------------------------------------

    def refresh(self, record: Record) -> None:
        """Serves the versions of a CRD as it is stored, if it is established and they are not served so already."""
        self._refresh(record, decode(record.value))

    def _refresh(self, record: Record, crd: JsonObject) -> None:
        if _condition(crd.get("status") or {}, "Established") != "True":
            return
        spec = msgspec.json.encode((crd["spec"], crd["status"].get("acceptedNames")))
        terminating = bool(crd["metadata"].get("deletionTimestamp"))
        if self._specs.get(record.name) == spec:
            return
        gone = partial(self.instance_deleted, record.name)
        made = served_versions(self._state, crd, gone, self._foreseen)
        self._foreseen = {}
        exposed = {version["name"] for version in crd["spec"]["versions"] if version.get("served")}
        for served in made:
            served.terminating = terminating
            served.has_defaults = b'"default":' in msgspec.json.encode(served.schema_document)
            served.defaults_since = record.revision if served.has_defaults else 0
        exposable = [served for served in made if served.resource.version in exposed]
        self._state.storage.then(lambda: self._serve(record.name, spec, made, exposable))

    def _serve(self, name: str, spec: bytes, made: list[ServedResource], exposed: list[ServedResource]) -> None:
        self._unserve(name)
        self._specs[name] = spec
        self._served[name] = made
        for served in exposed:
            self._state.registry.add(served)

    def _unserve(self, name: str) -> None:
        self._specs.pop(name, None)
        self._unusable.pop(name, None)
        for served in self._served.pop(name, ()):
            self._state.registry.remove(served)
            self._state.end_watches(served)

    def _put(self, record: Record, crd: JsonObject) -> Record:
        home = self._home()
        return self._state.storage.put(
            COLLECTION, "", record.name, lambda revision: encode(home, crd, revision), expected=record.revision
        )

    def _home(self) -> ServedResource:
        home = self._state.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert home is not None
        return home

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

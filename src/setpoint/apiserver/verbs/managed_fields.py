"""Maintains ``metadata.managedFields``, the owners of fields, on every write."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.objects.go_form import zero_of
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.patch import apply as server_side_apply
from setpoint.patch import initial_managed_fields
from setpoint.patch.apply import Endpoint
from setpoint.patch.fieldset import FieldSet
from setpoint.patch.managed_fields import managers_of_request
from setpoint.patch.typed import TypedError
from setpoint.schema import ANYTHING, Schema, copy_json, json_equal

JsonObject = dict[str, Any]
_NOTHING: Final = FieldSet()
_STATUS: Final = FieldSet.of(("f:status",))


def ignored_fields(served: ServedResource, subresource: str) -> FieldSet:
    """The fields that requests to ``subresource`` can't set; an empty ``subresource`` is the object itself."""
    fields = served.strategy.ignored_fields(subresource)
    if fields or subresource == "status":
        return fields
    return _STATUS if served.has_status else _NOTHING


def track(
    call: Call, served: ServedResource, old: JsonObject | None, new: JsonObject, manager: str, *, subresource: str = ""
) -> None:
    """Sets the managedFields of ``new`` (in place) for a write that is not an apply. An object whose fields can't be
    tracked has no managedFields afterwards, as in upstream.
    """
    requested = new["metadata"].pop("managedFields", None)
    live = old["metadata"].get("managedFields") if old is not None else None
    api_version, manager = served.resource.api_version, call.manager(manager)
    ignored = ignored_fields(served, subresource)
    now = None if subresource == "scale" else call.timestamp()  # as upstream
    try:
        managed = managers_of_request(live, requested, subresource=subresource)
        if _removed_version(served, old):
            entries = []
        elif old is None and not managed.owners:
            entries = initial_managed_fields.create(
                served.schema,
                new,
                manager,
                api_version=api_version,
                subresource=subresource,
                now=now,
                ignored=ignored,
                zero=_zero(served),
            )
        else:
            endpoint = Endpoint(served.schema, api_version, subresource, ignored, converter(call, served))
            before = _zero(served) if old is None else old
            entries = server_side_apply.update(endpoint, before, new, managed, manager, now=now)
    except (TypedError, ValueError):
        # As upstream (UpdateNoErrors): an object that can't be tracked, such as one with a list that names an item
        # twice though its schema forbids it, is stored without books.
        entries = []
    if entries:
        new["metadata"]["managedFields"] = entries


def _zero(served: ServedResource) -> JsonObject:
    """The fields that every object of the kind has, even if they were not sent; no field manager owns them."""
    return {"metadata": {}, **served.strategy.zero, **zero_of(served)}


def keep_times(new: JsonObject, old: JsonObject) -> None:
    """Restores (in place) the former times in the managedFields of ``new`` if the request has changed nothing else.

    The field managers can't detect this case: a value that equals the default, or zero, looks like a change until it is
    in its stored form. Upstream does the same, so an apply that changes nothing else is not stored.
    """
    entries, before = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not before or entries == before or len(entries) != len(before):
        return
    if any({**entry, "time": ""} != {**earlier, "time": ""} for entry, earlier in zip(entries, before, strict=True)):
        return
    if new.keys() != old.keys() or any(new[key] != old[key] for key in new if key != "metadata"):
        return
    apart = ("managedFields", "resourceVersion")
    metadata, earlier = ({k: v for k, v in obj["metadata"].items() if k not in apart} for obj in (new, old))
    if metadata == earlier and json_equal({**new, "metadata": metadata}, {**old, "metadata": earlier}):
        new["metadata"]["managedFields"] = before


def check_versions(served: ServedResource, live: JsonObject | None) -> None:
    """Raises ApiStatusError (500, as upstream) if fields of a custom object are owned in a version that its definition
    no longer has: they can't be compared with what is applied.
    """
    version = _removed_version(served, live)
    if version:
        raise ApiStatusError(500, "", f"request to convert CR to an invalid group/version: {version}")


def _removed_version(served: ServedResource, live: JsonObject | None) -> str:
    """The first version in the managedFields of a custom object that its definition no longer has; otherwise empty."""
    if not served.custom or live is None:
        return ""
    versions = served.siblings or (served.resource.api_version,)
    entries = live["metadata"].get("managedFields") or ()
    return next((version for entry in entries if (version := entry.get("apiVersion", "")) not in versions), "")


def converter(call: Call, served: ServedResource) -> server_side_apply.Convert | None:
    """A function that converts an object to other versions for field management; None if there is only one version."""
    resource = served.resource
    versions = call.state.registry.versions(resource.group, resource.plural)
    if len(versions) < 2:
        return None
    by_version = {item.resource.api_version: item for item in versions}

    def convert(obj: JsonObject, api_version: str) -> tuple[Schema, JsonObject] | None:
        target = by_version.get(api_version)
        if target is None:
            return None
        source = by_version.get(obj.get("apiVersion", ""), served)
        return target.schema or ANYTHING, call.versions.convert(copy_json(obj), source, target)

    return convert

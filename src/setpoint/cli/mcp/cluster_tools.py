"""Tools that read a cluster: ``objects`` and ``events``. Their connections can only send GET requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final, Literal

import msgspec
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field

from setpoint.cli.mcp.read_only_transport import ReadOnlyTransport
from setpoint.cli.mcp.throwaway_cluster import ThrowawayCluster
from setpoint.cli.mcp.tool_result import tool_result
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.client import AmbiguousMatchError, Client, HttpTransport, NoMatchError, load_config
from setpoint.manager.debug_pages.yaml_page import redacted
from setpoint.meta import Object, Resource, raw_of, resource_of
from setpoint.meta.object_status import standing
from setpoint.models.core_v1 import Event

Place = Literal["kubeconfig", "server"]
_PAGE: Final = 500
_EXAMINED: Final = 10_000
"""The maximum number of Events that are read to find the latest ones; a server lists them by name."""
_PLACE: Final = Field(description='"server" for the throw-away cluster of the tool server.')
_NAMESPACE: Final = Field(description="The namespace; empty: all of them (for one object: that of the context).")


class ClusterTools:
    """The tools that read the cluster that ``flags`` name, or the throw-away cluster of the session."""

    def __init__(self, flags: KubeconfigFlags, throwaway: ThrowawayCluster) -> None:
        self._flags = flags
        self._throwaway = throwaway

    async def objects(
        self,
        kind: Annotated[str, Field(description="As in kubectl get: pods, deployments.apps, mykinds.example.com.")],
        namespace: Annotated[str, _NAMESPACE] = "",
        name: Annotated[str, Field(description="The name of one object, which is then returned as a whole.")] = "",
        selector: Annotated[str, Field(description="A label selector, such as app=web.")] = "",
        limit: Annotated[int, Field(ge=1, le=500, description="The maximum number of objects.")] = 50,
        cluster: Annotated[Place, _PLACE] = "kubeconfig",
    ) -> CallToolResult:
        """The objects of a kind, each with the state and the reason that its status gives, its generations, conditions,
        owners and finalizers; or one whole object. Values in Secrets are hidden.
        """
        async with self._client(cluster) as client:
            model = await client.kind(kind)
            resource = resource_of(model)
            if name:
                found_in = (namespace or None) if resource.namespaced else None
                document = _document(resource, await client.get(model, name, namespace=found_in))
                row = _row(document)
                return tool_result({**row, "object": _without_secrets(document)}, _line(resource.kind, row))
            page = await client.list(model, namespace=namespace or None, selector=selector or None, limit=limit)
        rows = [_row(_document(resource, obj)) for obj in list(page)[:limit]]
        has_more = bool(page.metadata.continue_) or len(page) > limit
        texts = [_line(resource.kind, row) for row in rows] or [f"there is no {resource.kind}"]
        texts += ["there are more: narrow the request"] * has_more
        return tool_result({"kind": resource.kind, "objects": rows, "more": has_more}, "\n".join(texts))

    async def events(
        self,
        namespace: Annotated[str, _NAMESPACE] = "",
        kind: Annotated[str, Field(description="Only Events about this kind, as in kubectl get.")] = "",
        name: Annotated[str, Field(description="Only Events about objects with this name.")] = "",
        warnings: Annotated[bool, Field(description="Only warnings.")] = False,
        limit: Annotated[int, Field(ge=1, le=500, description="The maximum number of Events.")] = 50,
        cluster: Annotated[Place, _PLACE] = "kubeconfig",
    ) -> CallToolResult:
        """The latest Events of a cluster, oldest first: time, object, reason, message, count."""
        wanted = {"involvedObject.name": name, "type": "Warning" if warnings else ""}
        rows: list[dict[str, Any]] = []
        examined = 0
        async with self._client(cluster) as client:
            if kind:
                wanted["involvedObject.kind"] = resource_of(await client.kind(kind)).kind
            fields = {field: value for field, value in wanted.items() if value}
            pages = client.pages(Event, namespace=namespace or None, field_selector=fields, limit=_PAGE)
            async for event in pages:
                examined += 1
                rows.append(_event(event))
                if len(rows) >= 2 * _PAGE:
                    rows = sorted(rows, key=_time)[-limit:]
                if examined == _EXAMINED:
                    break
        latest = sorted(rows, key=_time)[-limit:]
        texts = [
            f"{row['time']}  {row['type']:<7}  {row['object']}  {row['reason']}: {row['message']} ({row['count']}x)"
            for row in latest
        ]
        content = {"events": latest, "examined": examined, "complete": examined < _EXAMINED}
        return tool_result(content, "\n".join(texts) or "there is no such Event")

    @asynccontextmanager
    async def _client(self, cluster: Place) -> AsyncIterator[Client]:
        if cluster == "server":
            if self._throwaway.kubeconfig is None:
                raise ToolError("there is no throw-away cluster: start it with the tool server")
            config = load_config(self._throwaway.kubeconfig)
        else:
            config = load_config(self._flags.kubeconfig, self._flags.context)
        transport = ReadOnlyTransport(HttpTransport(config))
        async with Client(transport, namespace=config.namespace, config=config, on_warning=lambda _: None) as client:
            try:
                yield client
            except (NoMatchError, AmbiguousMatchError, ValueError) as problem:  # a kind, a name or a namespace
                raise ToolError(str(problem)) from None


def _document(resource: Resource, obj: Object) -> dict[str, Any]:
    """The object as plain JSON, with its kind, which the items of a list lack."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        **msgspec.json.decode(raw_of(obj) or b"{}", type=dict[str, Any]),
    }


def _row(document: dict[str, Any]) -> dict[str, Any]:
    metadata, status = document.get("metadata") or {}, document.get("status")
    state = standing(document)
    row = {
        "key": "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part),
        "state": state.state,
        "reason": state.text,
        "created": metadata.get("creationTimestamp"),
        "deleted": metadata.get("deletionTimestamp"),
        "generation": metadata.get("generation"),
        "finalizers": metadata.get("finalizers"),
        "owners": [f"{owner.get('kind')} {owner.get('name')}" for owner in metadata.get("ownerReferences") or ()],
    }
    if isinstance(status, dict):
        row["observedGeneration"] = status.get("observedGeneration")
        row["conditions"] = status.get("conditions")
    return {name: value for name, value in row.items() if value}


def _without_secrets(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in (document.get("metadata") or {}).items() if name != "managedFields"}
    copy = {**document, "metadata": metadata}
    redacted(copy)
    return copy


def _line(kind: str, row: dict[str, Any]) -> str:
    return f"{kind} {row['key']}: {row['state']}" + (f": {row['reason']}" if row.get("reason") else "")


def _event(event: Event) -> dict[str, Any]:
    about = event.involved_object
    series = event.series
    moments = (series.last_observed_time if series is not None else None, event.last_timestamp, event.event_time)
    time = next((moment for moment in moments if moment is not None), event.metadata.creation_timestamp)
    key = "/".join(part for part in (about.namespace, about.name) if part)
    return {
        "time": time.isoformat() if time is not None else "",
        "type": event.type or "Normal",
        "object": f"{about.kind} {key}",
        "reason": event.reason or "",
        "message": event.message or "",
        "count": (series.count if series is not None else None) or event.count or 1,
        "source": event.reporting_component or (event.source.component if event.source is not None else None) or "",
    }


def _time(row: dict[str, Any]) -> str:
    return str(row["time"])

"""Entry: one line of Chronos' output."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import yaml
from msgspec import Struct

from setpoint.meta import ObjectKey, format_time, to_wire
from setpoint.meta.text_escaping import json_line, visible
from setpoint.models.core_v1 import Pod

Event = Literal["create", "update", "delete"]


class PodState(Struct, frozen=True, kw_only=True):
    """The logged part of a Pod's state. It is small, because one is kept for each Pod."""

    uid: str
    resource_version: str
    phase: str
    node: str
    ready: str
    restarts: int

    @classmethod
    def of(cls, pod: Pod) -> PodState:
        statuses = pod.status.container_statuses
        ready = sum(1 for status in statuses if status.ready)
        return cls(
            uid=pod.uid,
            resource_version=pod.metadata.resource_version,
            phase="Terminating" if pod.is_deleting else pod.status.phase or "Unknown",
            node=pod.spec.node_name or "",
            ready=f"{ready}/{len(pod.spec.containers)}",
            restarts=sum(status.restart_count for status in statuses),
        )


class Entry(Struct, frozen=True, kw_only=True):
    """One logged change to a Pod.

    For a deletion, ``state`` is the last state that was logged, and ``pod`` is None: the cache no longer has it.
    """

    event: Event
    key: ObjectKey
    time: datetime
    state: PodState
    pod: Pod | None = None

    def text(self) -> str:
        """One line for people: time, event, key, phase, node, containers ready, restarts."""
        state = self.state
        return (
            f"{format_time(self.time)} {self.event:<6} {self.key} "
            f"{state.phase} node={state.node or '-'} ready={state.ready} restarts={state.restarts}"
        )

    def json(self) -> str:
        """One JSON object for programs: the parts of the line, and the Pod as ``object``."""
        state = self.state
        return json_line(
            {
                "time": format_time(self.time),
                "event": self.event,
                "kind": "Pod",
                "key": str(self.key),
                "phase": state.phase,
                "node": state.node,
                "ready": state.ready,
                "restarts": state.restarts,
                "uid": state.uid,
                "resourceVersion": state.resource_version,
                "object": self._object(),
            }
        )

    def yaml(self) -> str:
        """A YAML document: the line as a comment, and the Pod; after a deletion only the comment."""
        line = f"---\n# {self.text()}"
        if self.pod is None:
            return line
        wire = self._object()
        document = yaml.dump(wire, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
        if visible(document) != document:
            document = yaml.dump(wire, Dumper=_DUMPER, sort_keys=False)
        return f"{line}\n{document.rstrip()}"

    def _object(self) -> dict[str, Any] | None:
        return None if self.pod is None else {"apiVersion": "v1", "kind": "Pod", **to_wire(self.pod)}


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

"""Flow schemas and priority levels, and the condition that tells whether the level of a schema exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.resources.strategy import METADATA, JsonObject, Strategy
from setpoint.apiserver.storage import Record
from setpoint.meta.text_escaping import quote

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_SCHEMAS: Final = "flowschemas.flowcontrol.apiserver.k8s.io"
_LEVELS: Final = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
_DANGLING: Final = "Dangling"
_MANAGER: Final = "api-priority-and-fairness-config-consumer-v1"
_OWNED: Final[JsonObject] = {
    key: {} for key in (".", "f:lastTransitionTime", "f:message", "f:reason", "f:status", "f:type")
}


class FlowSchemas(Strategy):
    """Flow schemas of priority and fairness. The default precedence is 1000."""

    status_keeps = METADATA
    generation = True

    def default(self, obj: JsonObject) -> None:
        if isinstance(obj.get("spec"), dict):
            obj["spec"].setdefault("matchingPrecedence", 1000)

    def after_create(self, call: WriteContext, record: Record) -> Record:
        return _judged(call, record)

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        return _judged(call, record)


class PriorityLevels(Strategy):
    """Priority levels of priority and fairness."""

    status_keeps = METADATA
    generation = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        limited, exempt = spec.get("limited"), spec.get("exempt")
        if isinstance(limited, dict):
            limited.setdefault("nominalConcurrencyShares", 30)
            limited.setdefault("lendablePercent", 0)
            queuing = (limited.get("limitResponse") or {}).get("queuing")
            if isinstance(queuing, dict):
                for name, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
                    queuing.setdefault(name, value)
        if isinstance(exempt, dict):
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)

    def after_create(self, call: WriteContext, record: Record) -> Record:
        _judge_all(call)
        return record

    def after_delete(self, call: WriteContext, record: Record) -> None:
        _judge_all(call)


def _judge_all(call: WriteContext) -> None:
    for record in list(call.storage.scan(_SCHEMAS)):
        _judged(call, record)


def _judged(call: WriteContext, record: Record) -> Record:
    """The schema's record after its condition ``Dangling`` was set, which upstream's server does a moment later."""
    schema: JsonObject = decode(record.value)
    name = ((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name") or ""
    exists = call.storage.get(_LEVELS, "", name) is not None
    text = f"This FlowSchema references the PriorityLevelConfiguration object named {quote(name)}"
    judgement = {
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f"{text} {'and it exists' if exists else 'but there is no such object'}",
    }
    status = schema.setdefault("status", {})
    conditions: list[JsonObject] = status.get("conditions") or []
    current = next((item for item in conditions if item.get("type") == _DANGLING), {})
    if judgement.items() <= current.items():
        return record
    changed = current.get("status") != judgement["status"]
    since = call.timestamp() if changed else current.get("lastTransitionTime")
    condition = {"type": _DANGLING, "status": judgement["status"], "lastTransitionTime": since, **judgement}
    status["conditions"] = [*(item for item in conditions if item is not current), condition]
    metadata: dict[str, Any] = schema["metadata"]
    others = [entry for entry in metadata.get("managedFields") or () if entry.get("manager") != _MANAGER]
    metadata["managedFields"] = [_entry(schema["apiVersion"], call.timestamp()), *others]

    def encoded(revision: int) -> bytes:
        metadata["resourceVersion"] = str(revision)
        return msgspec.json.encode(schema)

    return call.storage.put(_SCHEMAS, "", record.name, encoded, expected=record.revision)


def _entry(api_version: str, now: str) -> JsonObject:
    return {
        "manager": _MANAGER,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {f'k:{{"type":"{_DANGLING}"}}': _OWNED}}},
        "subresource": "status",
    }

"""The base class of the strategies of webhook configurations and admission policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.storage import Record

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext


class AdmissionConfiguration(Strategy):
    """The common behaviour of webhook configurations, admission policies and policy bindings. A write takes effect with
    the next request.
    """

    says_required = True
    generation = True

    def __init__(self, *, mutating: bool) -> None:
        self._mutating = mutating

    def after_create(self, call: WriteContext, record: Record) -> Record:
        call.configurations.refresh(record)
        return record

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        call.configurations.refresh(record)
        return record

    def after_delete(self, call: WriteContext, record: Record) -> None:
        call.configurations.refresh()

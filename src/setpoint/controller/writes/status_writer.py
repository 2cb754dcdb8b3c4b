"""StatusWriter: writes drafts of statuses to the server, and reports failures in them."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from setpoint.client import ApiError, Conflict, NotFound, PatchType, TransportError, dynamic
from setpoint.client.partial_metadata import metadata_only
from setpoint.controller.cache_reader import INSTALL
from setpoint.controller.context_reads import ContextReads
from setpoint.controller.declaration import Declaration
from setpoint.controller.environment import Environment
from setpoint.controller.memory import Memory, expect_echo
from setpoint.controller.outcome import StatusNotServed, classify, describe, is_conflict, is_namesake, reason_of
from setpoint.controller.writes.status_draft import MAX_MESSAGE, StatusDraft
from setpoint.meta import Object, decode_as_read

K = TypeVar("K", bound=Object)
TRIES: Final = 5
"""The number of attempts to write one status onto newer states of the object before `Conflict` is raised."""


class StatusWriter(Generic[K]):
    """Writes the status that a reconcile gave its object.

    *Guarantees*

    - A write applies to the version that was read. If the object has changed since, it is read from the server, and
      the same changes are made to its present status: the fields and conditions that other controllers wrote in
      between stay. If another writer has given a field (or condition) a different value, that value stays, and the
      reconcile is tried again (`Conflict`), because the value that it wanted to write was computed from an older
      state. A late status from a former leader therefore does not replace the status from its successor. A later
      object with the same name is left alone.
    - If the server refuses the content of a status, the object still reports the reason: its previous status stays,
      and the condition `Controller.failure_condition` describes the refusal.
    """

    def __init__(self, declared: Declaration[K], env: Environment, memory: Memory) -> None:
        self._env = env
        self._echoes = memory.echoes
        self._controller = declared
        self._kind = dynamic(declared.resource)  # only the JSON counts, and an object may not fit its class
        self._subresource = "status" if "status" in declared.resource.subresources else ""

    def draft(self, obj: K) -> StatusDraft:
        draft = self._draft(obj)
        draft.resume(self._controller.controls.pause)
        return draft

    def _draft(self, obj: K) -> StatusDraft:
        declared = self._controller
        return StatusDraft(
            obj,
            owned=declared.owns_status,
            generations=bool(self._subresource),
            failure=declared.failure_condition,
        )

    def shows_pause(self, obj: K, why: str) -> bool:
        """Whether the status of a paused object says so already, or can't."""
        return self._draft(obj).shows_pause(self._controller.controls.pause, why)

    async def paused(self, obj: K, context: ContextReads, why: str) -> None:
        """Writes the condition of a paused object that does not show it yet. Raises the same errors as `succeeded`."""
        draft = self._draft(obj)
        draft.pause(why, now=self._env.now())
        await self._write(draft, obj, context, observed=False)

    async def succeeded(self, draft: StatusDraft, obj: K, context: ContextReads) -> None:
        """Writes the status of a reconcile that raised no exception, if the status has changed.

        Raises:
            ApiError: the server refused; if a retry is useless, the object's failure condition reports the refusal.
            StatusNotServed: the object exists, but its status subresource does not.
            Conflict: other writers changed the object again and again, or gave the same field a different value.
        """
        if self._controller.owns_status:
            draft.succeeded()
        request = self._acknowledge(draft, obj)
        try:
            await self._write(draft, obj, context, observed=True)
        except Exception as problem:
            await self._report_refusal(problem, draft, context)
            raise
        await self._annotate(request, obj, context)

    async def failed(self, problem: Exception, draft: StatusDraft, obj: K, context: ContextReads) -> Exception | None:
        """Writes the status that the function left behind, and the reason for its failure. A conflict is not reported.
        After a failure without a further attempt the generation counts as observed: no later status will describe it.
        If the write fails, the error is logged and returned, because the caller raises the function's own failure.
        """
        request = ""
        final = not classify(problem).retry
        if not is_conflict(problem):
            draft.report(reason=reason_of(problem), message=describe(problem), final=final, now=self._env.now())
            request = self._acknowledge(draft, obj)
        try:
            await self._write(draft, obj, context, observed=final)
            await self._annotate(request, obj, context)
        except Exception as second:  # noqa: BLE001 - logged; the caller raises the first one
            if is_conflict(second):
                context.log.debug("status not written", extra={"error": describe(second)})
                return second
            context.log.warning("the status of a failed reconcile was not written", extra={"error": describe(second)})
            await self._report_refusal(second, draft, context, first=None if is_conflict(problem) else problem)
            return second
        return None

    def _acknowledge(self, draft: StatusDraft, obj: K) -> str:
        """Acknowledges the request for a reconcile in the draft. Returns the request if the status has no field for it,
        so that an annotation has to acknowledge it; otherwise ``""``.
        """
        acknowledged = draft.acknowledged
        request = self._controller.controls.open_request(obj.metadata.annotations, acknowledged)
        if not request or acknowledged is None:
            return request
        draft.acknowledge(request)
        return ""

    async def _annotate(self, request: str, obj: K, context: ContextReads) -> None:
        """Acknowledges a request by an annotation. A refusal is logged: the reconcile itself has ended."""
        if not request:
            return
        annotations = {self._controller.controls.acknowledgement: request}
        patch = {"metadata": {"uid": obj.uid, "annotations": annotations}}
        kind = metadata_only(self._controller.resource)
        try:
            await self._env.client.patch(kind, obj.name, patch, namespace=obj.namespace or None)
        except (ApiError, TransportError) as problem:
            context.log.warning("a request for a reconcile was not acknowledged", extra={"error": describe(problem)})

    async def _report_refusal(
        self, refusal: Exception, draft: StatusDraft, context: ContextReads, *, first: Exception | None = None
    ) -> None:
        """Writes the reason for the failure into the previous status, if the server refused the new status. ``first``
        is the earlier failure of the reconcile, if there was one.
        """
        if isinstance(refusal, TransportError | StatusNotServed) or is_conflict(refusal):
            return
        if isinstance(refusal, ApiError) and (refusal.code >= 500 or refusal.code in (401, 403, 429)):
            return  # it would be refused, too
        reported = first or refusal
        message = describe(reported)
        if first is not None:
            note = f" (and its status was refused: {describe(refusal)})"
            message = f"{message[: MAX_MESSAGE - min(len(note), MAX_MESSAGE // 2)]}{note}"
        else:
            message = f"the status was refused: {message}"
        obj: Any = draft.pristine()
        again = self.draft(obj)
        self._acknowledge(again, obj)
        final = not classify(reported).retry
        again.report(reason=reason_of(reported), message=message, final=final, now=self._env.now())
        try:
            await self._write(again, obj, context, observed=final)
        except Exception as problem:  # noqa: BLE001 - logged; the caller raises the first one
            context.log.warning("a failure could not be reported in the status", extra={"error": describe(problem)})

    async def _write(self, draft: StatusDraft, obj: K, context: ContextReads, *, observed: bool) -> None:
        onto = self._as_written(obj, context) if context._writes else obj
        refusal: ApiError | None = None
        for attempt in range(TRIES):
            # A version that this reconcile has made by itself has no other writer's fields.
            yields = refusal is not None and not _is_own(onto, context)
            patch = draft.patch(observed=observed, now=self._env.now, onto=onto, yields=yields)
            if patch is None:
                self._check_contested(draft, refusal, context)
                return
            if onto is obj and self._controller.metadata_only:  # its cache has no status to compare with
                live = await self._live(obj)
                if live is None:
                    return
                onto = live
                continue
            metadata = {"uid": onto.uid, "resourceVersion": onto.metadata.resource_version}
            try:
                answer = await self._env.client.patch(
                    self._kind,
                    obj.name,
                    {"metadata": metadata, "status": patch},
                    type=PatchType.MERGE,
                    namespace=obj.namespace or None,
                    subresource=self._subresource,
                    field_manager=self._env.field_manager,
                )
            except NotFound:
                if self._subresource and await self._live(obj) is not None:
                    raise self._not_served(obj) from None
                return  # the object was deleted while it was reconciled
            except ApiError as problem:
                if not (isinstance(problem, Conflict) or is_namesake(problem)):
                    raise
                live = await self._live(obj)
                if live is None:
                    return
                if attempt == TRIES - 1:
                    raise
                onto, refusal = live, problem
            else:
                own = () if self._subresource else ("generation",)
                expect_echo(self._echoes, onto, answer, status=patch, ignoring=own)
                self._check_contested(draft, refusal, context)
                return

    def _as_written(self, obj: K, context: ContextReads) -> Object:
        """The object as this reconcile has written it last, or else as it was read."""
        gvr = self._controller.resource.gvr
        if not self._controller.metadata_only and any(
            write.kind == obj.kind and write.key == obj.key for write in context._writes
        ):
            document = context._document_of(gvr, obj.key)
            answer = None if document is None else decode_as_read(self._kind, document)[0]
            if answer is not None and answer.uid == obj.uid and _is_own(answer, context):
                return answer
        return obj

    def _check_contested(self, draft: StatusDraft, refusal: ApiError | None, context: ContextReads) -> None:
        """Raises ``refusal``, the last conflict, if another writer has changed a field that this reconcile changed."""
        if refusal is not None and draft.contested:
            context.log.debug(
                "another writer has changed the same fields of the status", extra={"fields": draft.contested}
            )
            raise refusal

    async def _live(self, obj: K) -> Object | None:
        """The same object as the server has it now; None if that object is gone, even if a different object has its
        name.
        """
        try:
            live = await self._env.client.get(self._kind, obj.name, namespace=obj.namespace or None)
        except NotFound:
            return None
        return live if live.uid == obj.uid else None

    def _not_served(self, obj: K) -> StatusNotServed:
        resource = self._controller.resource
        return StatusNotServed(
            f"{resource.plural}.{resource.group} is served in version {resource.version} without the subresource "
            f"status, so the status of {obj.kind} {obj.key} can't be written: install the definition that belongs to "
            f"the class ({INSTALL})"
        )


def _is_own(obj: Object, context: ContextReads) -> bool:
    """Whether the reconcile has made this version of the object."""
    return any(obj.metadata.resource_version == write.resource_version for write in context._writes)

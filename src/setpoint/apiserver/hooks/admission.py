"""Admission of one request: mutating webhooks one after another, validating ones all at once.

Rules: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from setpoint.apiserver.errors import ApiStatusError, bad_request, internal_error
from setpoint.apiserver.hooks.answers import ask, refused_by, response_of
from setpoint.apiserver.hooks.caller import CallFailed
from setpoint.apiserver.hooks.hook import Hook, Question
from setpoint.apiserver.incoming import coerce
from setpoint.apiserver.metadata import new_uid
from setpoint.apiserver.options import DeleteOptions, WriteOptions
from setpoint.apiserver.registry import Served
from setpoint.apiserver.turns import Suspended, Turn, settle
from setpoint.patch import PatchError, json_patch
from setpoint.schema import apply_defaults, copy_json, json_equal

if TYPE_CHECKING:
    from setpoint.apiserver.call import Call

__all__ = ["Admission"]

JsonObject = dict[str, Any]
Phase = Literal["mutate", "validate"]
_log = logging.getLogger(__name__)
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}
_WARNINGS: Final = 4096
"""Characters of all warnings together, beyond which each is cut at `_WARNING`; as upstream."""
_WARNING: Final = 256
_AT_ONCE: Final = 10


@dataclass(slots=True)
class _Outcome:
    obj: bytes = b"null"
    error: ApiStatusError | None = None
    warnings: list[str] = field(default_factory=list)


class Admission:
    """What webhooks say about one request's objects. Its methods are synchronous; see `setpoint.apiserver.turns`."""

    __slots__ = ("_call", "_turn")

    def __init__(self, call: Call, turn: Turn) -> None:
        self._call = call
        self._turn = turn

    def question(
        self,
        served: Served,
        operation: str,
        obj: JsonObject | None,
        old: JsonObject | None,
        options: WriteOptions | DeleteOptions,
        *,
        subresource: str = "",
        name: str | None = None,
        kind: tuple[str, str, str] | None = None,
    ) -> Question:
        """``name``: if it is not what the object or the path says."""
        path = self._call.path
        if name is None:
            name = path.name or str(((obj or old or {}).get("metadata") or {}).get("name") or "")
        made = Question(
            served, operation, subresource, path.namespace, name, obj, old, _options(options, operation),
            options.dry_run, kind,
        )  # fmt: skip
        if made.is_namespace:
            made.namespace = name
        return made

    def mutates(self, question: Question) -> bool:
        """Whether any mutating webhook is to be asked."""
        return bool(self._asked(self._call.server.hooks.mutating, question))

    def mutate(self, question: Question) -> JsonObject:
        """The object as the webhooks want it, with defaults; the object itself if nobody was asked.

        Raises ApiStatusError for a refusal or a failure.
        """
        obj = question.obj
        if self.mutates(question):
            outcome = self._outcomes("mutate", [question])[0]
            obj = msgspec.json.decode(outcome.obj)
            if obj is not None:
                self._fit(question, question.served, obj)
        assert obj is not None
        return obj

    def validate(self, question: Question) -> None:
        """Raises ApiStatusError for a refusal or a failure."""
        if self._asked(self._call.server.hooks.validating, question):
            self._outcomes("validate", [question])

    def document(
        self,
        served: Served,
        document: JsonObject,
        options: WriteOptions,
        *,
        subresource: str,
        kind: tuple[str, str, str],
    ) -> JsonObject:
        """Admission, whole, of a document that is not stored itself, such as a Binding. Raises ApiStatusError."""
        question = self.question(served, "CREATE", document, None, options, subresource=subresource, kind=kind)
        made = self.mutate(question)
        self.validate(replace(question, obj=made))
        return made

    def deletions(self, questions: Sequence[Question]) -> None:
        """All at once. Raises ApiStatusError for the first refusal or failure."""
        hooks = self._call.server.hooks
        for phase, configured in (("mutate", hooks.mutating), ("validate", hooks.validating)):
            asked = [question for question in questions if self._asked(configured, question)]
            if asked:
                self._outcomes("mutate" if phase == "mutate" else "validate", asked)

    # -- what is known ------------------------------------------------------------------------------------------------

    def _asked(self, hooks: Sequence[Hook], question: Question) -> list[tuple[Hook, Served]]:
        if question.exempt:
            return []
        server = self._call.server
        found: list[tuple[Hook, Served]] = []
        for hook in hooks:
            target = hook.wants(question, server.registry)
            if target is not None and hook.selects(question, server.storage):
                found.append((hook, target))
        return found

    def _outcomes(self, phase: Phase, questions: Sequence[Question]) -> list[_Outcome]:
        """Raises Suspended where one is not known yet, and the first refusal."""
        answers = self._turn.answers
        keys = [_key(phase, question) for question in questions]
        missing = {key: item for key, item in zip(keys, questions, strict=True) if key not in answers}
        if missing:
            raise Suspended(lambda turn: self._learn(turn, phase, missing))
        found: list[_Outcome] = [answers[key] for key in keys]
        for outcome in found:
            for text in outcome.warnings:
                self._warn(text)
        for outcome in found:
            if outcome.error is not None:
                raise outcome.error
        return found

    async def _learn(self, turn: Turn, phase: Phase, questions: dict[Hashable, Question]) -> None:
        places = asyncio.Semaphore(_AT_ONCE)

        async def learn(key: Hashable, question: Question) -> None:
            async with places:
                work = self._mutated(question) if phase == "mutate" else self._validated(question)
                turn.answers[key] = await work

        async with asyncio.TaskGroup() as group:
            for key, question in questions.items():
                group.create_task(learn(key, question))

    def _warn(self, text: str) -> None:
        total = sum(map(len, self._call.warnings))
        if total + len(text) > _WARNINGS:
            text = text[:_WARNING]
            if total > _WARNINGS:
                return
        self._call.warn(text)

    # -- asking -------------------------------------------------------------------------------------------------------

    async def _mutated(self, question: Question) -> _Outcome:
        outcome = _Outcome()
        try:
            outcome.obj = msgspec.json.encode(await self._rounds(question, outcome.warnings))
        except ApiStatusError as error:
            outcome.error = error
        return outcome

    async def _rounds(self, question: Question, warnings: list[str]) -> JsonObject | None:
        """All in order; then once more those that want it, if the object was changed after they had seen it."""
        hooks = self._call.server.hooks.mutating
        seen: set[str] = set()
        again: set[str] = set()
        for reinvoking in (False, True):
            for hook in hooks:
                if reinvoking and hook.uid not in again:
                    continue
                asked = self._asked([hook], question)
                if not asked:
                    continue
                made = await self._changed(hook, asked[0][1], question, warnings)
                if made is not None:
                    question = replace(question, obj=made)
                    again |= seen
                    seen.clear()
                if hook.reinvoked:
                    seen.add(hook.uid)
        return question.obj

    async def _changed(self, hook: Hook, target: Served, question: Question, warnings: list[str]) -> JsonObject | None:
        """The object as one webhook wants it, None if it wants no change. Raises ApiStatusError."""
        versioned = await self._as(question, question.obj, question.served, target)
        response = await self._response(hook, target, question, versioned, warnings)
        if response is None:
            return None
        operations = _operations(response)
        if not operations:
            return None
        if versioned is None:
            raise internal_error(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this '
                "operation"
            )
        try:
            made = json_patch.apply(versioned, operations)
        except PatchError as problem:
            raise internal_error(str(problem)) from None
        if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
            raise internal_error(f'admission webhook "{hook.name}" made of the object what is none')
        if any(made.get(key) != versioned.get(key) for key in ("apiVersion", "kind")):
            raise internal_error(f'admission webhook "{hook.name}" changed apiVersion or kind of the object')
        made = copy_json(made)  # parts may be shared, and defaulting changes them
        self._fit(question, target, made)
        if json_equal(made, versioned):
            return None
        return await self._as(question, made, target, question.served)

    async def _validated(self, question: Question) -> _Outcome:
        outcome = _Outcome()
        asked = self._asked(self._call.server.hooks.validating, question)
        warnings: list[list[str]] = [[] for _ in asked]
        errors: list[ApiStatusError | None] = [None] * len(asked)

        async def validate(index: int, hook: Hook, target: Served) -> None:
            try:
                obj = await self._as(question, question.obj, question.served, target)
                await self._response(hook, target, question, obj, warnings[index], mutating=False)
            except ApiStatusError as error:
                errors[index] = error

        async with asyncio.TaskGroup() as group:
            for index, (hook, target) in enumerate(asked):
                group.create_task(validate(index, hook, target))
        outcome.warnings = [text for texts in warnings for text in texts]
        outcome.error = next((error for error in errors if error is not None), None)
        return outcome

    async def _response(
        self,
        hook: Hook,
        target: Served,
        question: Question,
        obj: JsonObject | None,
        warnings: list[str],
        *,
        mutating: bool = True,
    ) -> JsonObject | None:
        """The answer of a webhook that allows; None if it failed and that is to be ignored. Raises ApiStatusError."""
        if question.dry_run and not hook.dry_runs:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        old = await self._as(question, question.old, question.served, target)
        server = self._call.server
        review = self._review(new_uid(server.random), target, question, obj, old)
        try:
            try:
                document = await ask(server.webhook_caller, hook.target, review, hook.timeout)
            except CallFailed as problem:
                raise CallFailed(f"failed to call webhook: {problem}") from None
            try:
                response = response_of(document, "AdmissionReview", "admission.k8s.io", review["request"]["uid"])
                _check(response, mutating=mutating)
            except CallFailed as problem:
                raise CallFailed(f"received invalid webhook response: {problem}") from None
        except CallFailed as problem:
            text = f'failed calling webhook "{hook.name}": {problem}'
            if hook.ignores_failure:
                _log.warning("%s; the request goes on as its failurePolicy says", text)
                return None
            raise internal_error(text) from None
        warnings += response.get("warnings") or ()
        if response["allowed"]:
            return response
        status = refused_by(hook.name, response.get("status"))
        error = ApiStatusError(status["code"], status.get("reason", ""), status["message"])
        error.status = status
        raise error

    def _review(
        self, uid: str, target: Served, question: Question, obj: JsonObject | None, old: JsonObject | None
    ) -> JsonObject:
        user = self._call.user
        info: JsonObject = {"username": user.name, "groups": list(user.groups)}
        if user.uid:
            info["uid"] = user.uid
        if user.extra:
            info["extra"] = {key: list(values) for key, values in user.extra.items()}
        request: JsonObject = {
            "uid": uid,
            "kind": _kind(target, question),
            "resource": _resource(target),
            "requestKind": _kind(question.served, question),
            "requestResource": _resource(question.served),
            "operation": question.operation,
            "userInfo": info,
            "object": obj,
            "oldObject": old,
            "dryRun": question.dry_run,
            "options": question.options,
        }
        if question.subresource:
            request["subResource"] = request["requestSubResource"] = question.subresource
        for key, value in (("name", question.name), ("namespace", question.namespace)):
            if value:
                request[key] = value
        return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}

    async def _as(
        self, question: Question, obj: JsonObject | None, served: Served, target: Served
    ) -> JsonObject | None:
        """``obj`` in the version that a webhook speaks, or back."""
        if obj is None or served is target or question.kind is not None:
            return obj

        def convert() -> JsonObject:
            made = served.convert(copy_json(obj), target)
            if target.has_defaults:
                apply_defaults(target.schema, made)
            return made

        return await settle(self._call.server, self._turn, convert)

    def _fit(self, question: Question, served: Served, obj: JsonObject) -> None:
        """Prunes and defaults what came out of a patch, in place. Raises ApiStatusError (500)."""
        if question.kind is not None:
            return
        try:
            coerce(self._call, served, obj, "Ignore", [])
        except ApiStatusError as error:
            raise internal_error(str(error)) from None


def _key(phase: Phase, question: Question) -> Hashable:
    asked = (question.operation, question.subresource, question.name, question.kind, question.obj, question.old)
    return phase, question.served.resource.gvr, msgspec.json.encode(asked)


def _options(options: WriteOptions | DeleteOptions, operation: str) -> JsonObject:
    made: JsonObject = {"kind": _OPTIONS.get(operation, "DeleteOptions"), "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        made["dryRun"] = ["All"]
    if isinstance(options, WriteOptions):
        if options.field_manager:
            made["fieldManager"] = options.field_manager
        if options.field_validation != "Warn":
            made["fieldValidation"] = options.field_validation
        return made
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    for key, value in (
        ("gracePeriodSeconds", options.grace_period_seconds),
        ("orphanDependents", options.orphan_dependents),
        ("propagationPolicy", options.propagation_policy),
        ("preconditions", {name: item for name, item in preconditions.items() if item is not None} or None),
    ):
        if value is not None:
            made[key] = value
    return made


def _kind(served: Served, question: Question) -> JsonObject:
    resource = served.resource
    group, version, kind = question.kind or (resource.group, resource.version, resource.kind)
    return {"group": group, "version": version, "kind": kind}


def _resource(served: Served) -> JsonObject:
    resource = served.resource
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _check(response: JsonObject, *, mutating: bool) -> None:
    """Raises CallFailed."""
    patch, kind = response.get("patch"), response.get("patchType")
    if not isinstance(response.get("allowed"), bool):
        raise CallFailed("response.allowed must be true or false")
    warnings = response.get("warnings") or []
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        raise CallFailed("response.warnings must be a list of strings")
    if not mutating:
        if patch:
            raise CallFailed("validating webhook may not return response.patch")
        if kind is not None:
            raise CallFailed("validating webhook may not return response.patchType")
        return
    if patch and kind is None:
        raise CallFailed("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise CallFailed("webhook returned response.patchType but not response.patch")
    if kind is not None and kind != "JSONPatch":
        raise CallFailed(f'webhook returned invalid response.patchType of "{kind}"')


def _operations(response: JsonObject) -> list[Any]:
    """Raises ApiStatusError (500)."""
    patch = response.get("patch")
    if not patch:
        return []
    try:
        operations = msgspec.json.decode(base64.b64decode(patch, validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError) as problem:
        raise internal_error(f"the patch of the webhook can't be read: {problem}") from None
    if not isinstance(operations, list) or not all(isinstance(item, dict) for item in operations):
        raise internal_error("the patch of the webhook is no list of operations")
    return operations

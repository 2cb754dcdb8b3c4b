"""Admission of one request: mutating policies and webhooks run one after another, then validating policies, then all
validating webhooks concurrently.

Rules: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from setpoint.apiserver import plugins
from setpoint.apiserver.admission.configurations import Configurations
from setpoint.apiserver.admission.mutating_policy import MutatingPolicy
from setpoint.apiserver.admission.validating_policy import check_policies
from setpoint.apiserver.admission.webhook import Webhook
from setpoint.apiserver.admission.webhook_calls import WebhookCalls, converted
from setpoint.apiserver.errors import ApiStatusError
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.replay import Replay, Suspended
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import WriteOptions
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.schema import copy_json, json_equal

JsonObject = dict[str, Any]
Phase = Literal["mutate", "validate"]
_WARNINGS: Final = 4096
"""The maximum total length, in characters, of warnings that are shown in full. As in upstream, a warning that would
exceed it is cut to `_WARNING` characters, and once the total has exceeded it, further warnings are dropped.
"""
_WARNING: Final = 256
_AT_ONCE: Final = 10


class _Outcome(msgspec.Struct):
    obj: bytes = b"null"
    error: ApiStatusError | None = None
    warnings: list[str] = msgspec.field(default_factory=list)


class Admission:
    """Runs policies and webhooks on the objects of one request. Its methods are synchronous; see
    `setpoint.apiserver.replay`.
    """

    __slots__ = ("_call", "_hooks", "_replay", "_webhooks")

    def __init__(self, call: Call, replay: Replay, hooks: Configurations) -> None:
        self._call = call
        self._replay = replay
        self._hooks = hooks
        self._webhooks = WebhookCalls(call, replay)

    def mutates(self, attributes: AdmissionAttributes) -> bool:
        """Whether any mutating webhook or policy has to run."""
        hooks, state = self._hooks, self._call.state
        if any(policy.target(attributes, state) is not None for policy in hooks.mutating_policies):
            return True
        return bool(self._calls_for(hooks.mutating, attributes))

    def mutate(self, attributes: AdmissionAttributes) -> JsonObject:
        """The object after mutation by webhooks and policies, with defaults; the same object if none of them ran.

        Raises ApiStatusError for a refusal or a failure.
        """
        obj = attributes.obj
        if self.mutates(attributes):
            outcome = self._outcomes("mutate", [attributes])[0]
            obj = decode(outcome.obj)
            if obj is not None:
                self._webhooks.fit(attributes, attributes.served, obj)
        assert obj is not None
        return obj

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Runs validating policies and webhooks. Raises ApiStatusError for a refusal or a failure."""
        self._check_policies(attributes)
        if self._calls_for(self._hooks.validating, attributes):
            self._outcomes("validate", [attributes])

    def document(
        self,
        served: ServedResource,
        document: JsonObject,
        options: WriteOptions,
        *,
        subresource: str,
        kind: tuple[str, str, str],
    ) -> JsonObject:
        """A document that is not itself stored, such as a Binding, after mutation and validation by policies and
        webhooks. Raises ApiStatusError for a refusal or a failure.
        """
        attributes = AdmissionAttributes.of(
            self._call, served, "CREATE", document, None, options, subresource=subresource, kind=kind
        )
        obj = self.mutate(attributes)
        self.validate(replace(attributes, obj=obj))
        return obj

    def deletions(self, batch: Sequence[AdmissionAttributes]) -> None:
        """Runs policies and webhooks for all deletions of a batch together. Raises ApiStatusError for the first refusal
        or failure.
        """
        hooks = self._hooks
        for attributes in batch:
            self._check_policies(attributes)
        for phase, configured in (("mutate", hooks.mutating), ("validate", hooks.validating)):
            matching_batch = [attributes for attributes in batch if self._calls_for(configured, attributes)]
            if matching_batch:
                self._outcomes("mutate" if phase == "mutate" else "validate", matching_batch)

    def _check_policies(self, attributes: AdmissionAttributes) -> None:
        versions = self._call.versions
        for text in check_policies(
            self._call,
            self._hooks.validating_policies,
            attributes,
            lambda obj, target: converted(versions, attributes, obj, attributes.served, target),
        ):
            self._warn(text)

    # -- matching webhooks --------------------------------------------------------------------------------------------

    def _calls_for(
        self, hooks: Sequence[Webhook], attributes: AdmissionAttributes
    ) -> list[tuple[Webhook, ServedResource]]:
        if attributes.exempt:
            return []
        state = self._call.state
        calls: list[tuple[Webhook, ServedResource]] = []
        for hook in hooks:
            target = hook.matching.wants(attributes, state.registry)
            if target is not None and hook.matching.selects(attributes, state.storage):
                calls.append((hook, target))
        return calls

    def _outcomes(self, phase: Phase, batch: Sequence[AdmissionAttributes]) -> list[_Outcome]:
        """The outcomes of a batch. Raises Suspended if an outcome is not known yet; otherwise, raises ApiStatusError
        for the first refusal or failure, if there is one.
        """
        answers = self._replay.answers
        keys = [_key(phase, attributes) for attributes in batch]
        missing = {key: item for key, item in zip(keys, batch, strict=True) if key not in answers}
        if missing:
            raise Suspended(lambda replay: self._learn(replay, phase, missing))
        outcomes: list[_Outcome] = [answers[key] for key in keys]
        for outcome in outcomes:
            for text in outcome.warnings:
                self._warn(text)
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        return outcomes

    async def _learn(self, replay: Replay, phase: Phase, batch: dict[Hashable, AdmissionAttributes]) -> None:
        places = asyncio.Semaphore(_AT_ONCE)

        async def learn(key: Hashable, attributes: AdmissionAttributes) -> None:
            async with places:
                work = self._mutated(attributes) if phase == "mutate" else self._validated(attributes)
                replay.answers[key] = await work

        async with asyncio.TaskGroup() as group:
            for key, attributes in batch.items():
                group.create_task(learn(key, attributes))

    def _warn(self, text: str) -> None:
        total = sum(map(len, self._call.warnings))
        if total + len(text) > _WARNINGS:
            text = text[:_WARNING]
            if total > _WARNINGS:
                return
        self._call.warn(text)

    # -- asking -------------------------------------------------------------------------------------------------------

    async def _mutated(self, attributes: AdmissionAttributes) -> _Outcome:
        outcome = _Outcome()
        try:
            outcome.obj = msgspec.json.encode(await self._rounds(attributes, outcome.warnings))
        except ApiStatusError as error:
            outcome.error = error
        return outcome

    async def _rounds(self, attributes: AdmissionAttributes, warnings: list[str]) -> JsonObject | None:
        """The object after all mutating policies and webhooks have run in order. If any of them changed it, the
        built-in plugins run on it again; then the policies and webhooks that ask for reinvocation run once more if the
        object was changed after their first run.
        """
        hooks = self._hooks
        called: set[str] = set()
        again: set[str] = set()
        original = attributes.obj
        for reinvoking in (False, True):
            if reinvoking:
                if attributes.obj is original:
                    break
                mutated = copy_json(attributes.new)
                plugins.mutate(replace(attributes, obj=mutated))
                if not json_equal(mutated, attributes.new):
                    attributes = replace(attributes, obj=mutated)
                    again |= called
            hooks_in_order: list[Webhook | MutatingPolicy] = [*hooks.mutating_policies, *hooks.mutating]
            for hook in hooks_in_order:
                if reinvoking and hook.uid not in again:
                    continue
                if isinstance(hook, MutatingPolicy):
                    target = hook.target(attributes, self._call.state)
                    if target is None:
                        continue
                    changed = await self._webhooks.changed_by_policy(hook, target, attributes)
                else:
                    calls = self._calls_for([hook], attributes)
                    if not calls:
                        continue
                    changed = await self._webhooks.changed(hook, calls[0][1], attributes, warnings)
                if changed is not None:
                    attributes = replace(attributes, obj=changed)
                    again |= called
                    called.clear()
                if hook.reinvoked:
                    called.add(hook.uid)
        return attributes.obj

    async def _validated(self, attributes: AdmissionAttributes) -> _Outcome:
        outcome = _Outcome()
        calls = self._calls_for(self._hooks.validating, attributes)
        warnings: list[list[str]] = [[] for _ in calls]
        errors: list[ApiStatusError | None] = [None] * len(calls)

        async def validate(index: int, hook: Webhook, target: ServedResource) -> None:
            try:
                obj = await self._webhooks.version(attributes, attributes.obj, attributes.served, target)
                await self._webhooks.response(hook, target, attributes, obj, warnings[index], mutating=False)
            except ApiStatusError as error:
                errors[index] = error

        async with asyncio.TaskGroup() as group:
            for index, (hook, target) in enumerate(calls):
                group.create_task(validate(index, hook, target))
        outcome.warnings = [text for texts in warnings for text in texts]
        outcome.error = next((error for error in errors if error is not None), None)
        return outcome


def _key(phase: Phase, attributes: AdmissionAttributes) -> Hashable:
    question = (
        attributes.operation,
        attributes.subresource,
        attributes.name,
        attributes.kind,
        attributes.obj,
        attributes.old,
    )
    return phase, attributes.served.resource.gvr, msgspec.json.encode(question)

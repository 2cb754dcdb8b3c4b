"""Calls webhooks for one object, which is sent to each webhook in a version that the webhook accepts."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from setpoint.apiserver.admission.admission_review import request_document
from setpoint.apiserver.admission.cel_variables import values_for
from setpoint.apiserver.admission.match_conditions import CONDITION_LIMIT, ConditionFailed
from setpoint.apiserver.admission.mutating_policy import MutatingPolicy
from setpoint.apiserver.admission.webhook import Webhook
from setpoint.apiserver.depth_limit import TOO_DEEP, is_too_deep
from setpoint.apiserver.errors import ApiStatusError, bad_request, forbidden, internal_error
from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.objects.versions import Versions
from setpoint.apiserver.replay import Replay
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.object_decoding import coerce, typed
from setpoint.apiserver.requests.type_errors import may_have_floats
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.webhooks.admission_configuration import MUTATING, VALIDATING
from setpoint.apiserver.webhooks.caller import CallFailed, Target
from setpoint.apiserver.webhooks.credentials import NO_CREDENTIALS, CredentialsError
from setpoint.apiserver.webhooks.responses import ask, refused_by, response_of
from setpoint.cel.admission import Evaluation
from setpoint.meta.json_values import whole_numbers
from setpoint.meta.names import qualified_name
from setpoint.patch import json_patch
from setpoint.patch.json_patch import PatchError
from setpoint.schema import apply_defaults, copy_json, json_equal

JsonObject = dict[str, Any]
_log = logging.getLogger(__name__)


def converted(
    versions: Versions,
    attributes: AdmissionAttributes,
    obj: JsonObject | None,
    served: ServedResource,
    target: ServedResource,
) -> JsonObject | None:
    """``obj`` converted from the version of ``served`` to that of ``target``, with defaults. It is ``obj`` itself if
    ``obj`` is None, if both versions are the same, or if ``attributes.kind`` is set (the object is a Scale or Binding).

    Raises Suspended if a conversion webhook must be called first.
    """
    if obj is None or served is target or attributes.kind is not None:
        return obj
    result = versions.convert(copy_json(obj), served, target)
    if target.has_defaults:
        apply_defaults(target.schema, result)
    return result


class WebhookCalls:
    """Calls webhooks for one request. Its methods are asynchronous, unlike all other work on objects."""

    __slots__ = ("_call", "_replay")

    def __init__(self, call: Call, replay: Replay) -> None:
        self._call = call
        self._replay = replay

    async def changed(
        self, hook: Webhook, target: ServedResource, attributes: AdmissionAttributes, warnings: list[str]
    ) -> JsonObject | None:
        """The object as changed by one webhook; None if the webhook changes nothing. Raises ApiStatusError."""
        versioned = await self.version(attributes, attributes.obj, attributes.served, target)
        response = await self.response(hook, target, attributes, versioned, warnings)
        if response is None:
            return None
        text, operations = _patch_in(response)
        if not operations:
            return None
        if versioned is None:
            raise internal_error(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this '
                "operation"
            )
        try:
            patched = json_patch.apply(versioned, operations)
        except PatchError as problem:
            raise internal_error(str(problem)) from None
        if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
            raise internal_error(f'admission webhook "{hook.name}" returned a value that is not an object')
        if any(patched.get(key) != versioned.get(key) for key in ("apiVersion", "kind")):
            raise internal_error(f'admission webhook "{hook.name}" changed apiVersion or kind of the object')
        if is_too_deep(patched):
            raise internal_error(f'admission webhook "{hook.name}" nested the object too deeply: {TOO_DEEP}')
        patched = copy_json(patched)  # parts may be shared, and defaulting changes them
        self.fit(attributes, target, patched, text)
        if json_equal(patched, versioned):
            return None
        return await self.version(attributes, patched, target, attributes.served)

    async def changed_by_policy(
        self, policy: MutatingPolicy, target: ServedResource, attributes: AdmissionAttributes
    ) -> JsonObject | None:
        """The object as changed by a policy; None if the policy changes nothing. Raises ApiStatusError."""
        versioned = await self.version(attributes, attributes.obj, attributes.served, target)
        if versioned is None:
            return None
        old = await self.version(attributes, attributes.old, attributes.served, target)
        mutated = policy.mutated(self._call, attributes, target, versioned, old)
        if mutated is versioned:
            return None
        if any(mutated.get(key) != versioned.get(key) for key in ("apiVersion", "kind")):
            raise internal_error(f'policy "{policy.name}" changed apiVersion or kind of the object')
        self.fit(attributes, target, mutated)
        if json_equal(mutated, versioned):
            return None
        return await self.version(attributes, mutated, target, attributes.served)

    async def response(
        self,
        hook: Webhook,
        target: ServedResource,
        attributes: AdmissionAttributes,
        obj: JsonObject | None,
        warnings: list[str],
        *,
        mutating: bool = True,
    ) -> JsonObject | None:
        """The response from a webhook that allows the request; None if the match conditions do not hold, or if the call
        failed and failures are ignored. Raises ApiStatusError for a refusal or a failure.
        """
        old = await self.version(attributes, attributes.old, attributes.served, target)
        state = self._call.state
        if hook.conditions and not self._conditions_hold(hook, target, attributes, obj, old):
            return None
        if attributes.dry_run and not hook.dry_runs:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        request = {"uid": new_uid(state.random), **request_document(attributes, target, self._call.user)}
        review = {
            "kind": "AdmissionReview",
            "apiVersion": hook.review,
            "request": {**request, "object": obj, "oldObject": old},
        }
        try:
            try:
                address = self._authenticated(hook, mutating=mutating)
                document = await ask(state.webhook_caller, address, review, hook.timeout)
            except CallFailed as problem:
                raise CallFailed(f"failed to call webhook: {problem}") from None
            try:
                response = response_of(document, "AdmissionReview", hook.review, request["uid"])
                _check(response, mutating=mutating)
            except CallFailed as problem:
                raise CallFailed(f"received invalid webhook response: {problem}") from None
        except CallFailed as problem:
            text = f'failed calling webhook "{hook.name}": {problem}'
            if hook.ignores_failure:
                _log.warning("%s; the request goes on as its failurePolicy says", text)
                return None
            raise internal_error(text) from None
        for key, value in (response.get("auditAnnotations") or {}).items():
            if not qualified_name(name := f"{hook.name}/{key}"):
                self._call.annotate(name, value)
        warnings += response.get("warnings") or ()
        if response["allowed"]:
            return response
        status = refused_by(hook.name, response.get("status"))
        error = ApiStatusError(status["code"], status.get("reason", ""), status["message"])
        error.status = status
        raise error

    def _authenticated(self, hook: Webhook, *, mutating: bool) -> Target:
        """The address of a webhook, with this server's credentials for it: those of the kubeconfig in the plugin's
        configuration, and a token for webhooks unless the kubeconfig has one. Raises CallFailed.
        """
        state = self._call.state
        users = state.webhook_users.get(MUTATING if mutating else VALIDATING)
        try:
            credentials = users.of(*hook.target.address) if users is not None else NO_CREDENTIALS
        except CredentialsError as problem:
            raise CallFailed(str(problem)) from None
        if not credentials.authorization:
            kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
            configuration = kind, hook.configuration
            token = state.account_tokens.webhook_token(
                state.storage, state.now(), state.random, configuration, hook.audience
            )
            if token:
                credentials = replace(credentials, authorization=f"Bearer {token}")
        return hook.target if credentials is NO_CREDENTIALS else replace(hook.target, credentials=credentials)

    async def version(
        self, attributes: AdmissionAttributes, obj: JsonObject | None, served: ServedResource, target: ServedResource
    ) -> JsonObject | None:
        """Converts ``obj`` as `converted` does, but waits for the conversion webhook if there is one."""
        versions = self._call.versions
        return await self._replay.run(lambda: converted(versions, attributes, obj, served, target))

    def _conditions_hold(
        self,
        hook: Webhook,
        target: ServedResource,
        attributes: AdmissionAttributes,
        obj: JsonObject | None,
        old: JsonObject | None,
    ) -> bool:
        """Whether the match conditions hold. Raises ApiStatusError (403) if one can't be evaluated and failures are not
        ignored.
        """
        values = values_for(attributes, target, self._call.user, obj, old)
        try:
            return hook.conditions.hold(Evaluation(values, CONDITION_LIMIT))
        except ConditionFailed as problem:
            raise forbidden(attributes.served.group_resource, attributes.shown_name, str(problem)) from None

    def fit(self, attributes: AdmissionAttributes, served: ServedResource, obj: JsonObject, patch: bytes = b"") -> None:
        """Prunes the result of a patch and sets defaults, in place; does nothing if ``attributes.kind`` is set (the
        object is a Scale or Binding). ``patch`` is the text of a JSON patch: as in a request, ``1.0`` is not an integer
        of a built-in kind, and is one of a custom kind. Raises ApiStatusError (500).
        """
        if attributes.kind is not None:
            return
        try:
            if may_have_floats(patch):
                if served.custom:
                    whole_numbers(obj)
                else:
                    typed(obj, served.resource.gvk, patch)
            coerce(self._call, served, obj, "Ignore", [])
        except ApiStatusError as error:
            raise internal_error(str(error)) from None


def _check(response: JsonObject, *, mutating: bool) -> None:
    """Checks the form of a webhook's response. Raises CallFailed."""
    patch, kind = response.get("patch"), response.get("patchType")
    if not isinstance(response.get("allowed"), bool):
        raise CallFailed("response.allowed must be true or false")
    warnings = response.get("warnings") or []
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        raise CallFailed("response.warnings must be a list of strings")
    annotations = response.get("auditAnnotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        raise CallFailed("response.auditAnnotations must be a map of strings")
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


def _patch_in(response: JsonObject) -> tuple[bytes, Sequence[json_patch.Operation]]:
    """A webhook's patch: its text and its operations. Raises ApiStatusError (500)."""
    patch = response.get("patch")
    if not patch:
        return b"", []
    try:
        text = base64.b64decode(patch, validate=True)
        return text, json_patch.decode(text)
    except (binascii.Error, ValueError, TypeError, RecursionError) as problem:
        raise internal_error(f"the patch of the webhook can't be read: {problem}") from None

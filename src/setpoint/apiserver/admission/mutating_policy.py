"""MutatingAdmissionPolicies and the changes that they make to an object.

https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from setpoint.apiserver.admission.admission_policy import POLICY_LIMIT, Policy, PolicyError
from setpoint.apiserver.admission.cel_variables import namespace_of, values_for
from setpoint.apiserver.admission.match_conditions import CONDITION_LIMIT, ConditionFailed
from setpoint.apiserver.depth_limit import TOO_DEEP, is_too_deep
from setpoint.apiserver.errors import forbidden
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.cel import EvaluationError
from setpoint.cel.admission import (
    BudgetSpent,
    Expression,
    JsonPatchOperation,
    PatchObject,
    compile_admission,
    patch_value,
)
from setpoint.cel.types import list_of, struct
from setpoint.cel.values import LISTS, Value
from setpoint.meta.json_values import whole_numbers
from setpoint.patch import json_patch
from setpoint.patch.json_patch import PatchError
from setpoint.patch.typed import merge, type_errors
from setpoint.schema import Schema, copy_json

JsonObject = dict[str, Any]
_APPLIED, _PATCHED = struct("Object"), list_of(struct("JSONPatch"))


class MutatingPolicy(Policy):
    """One mutating policy with its bindings."""

    patches = True

    @property
    def uid(self) -> str:
        """The identifier that distinguishes the policy from other policies and webhooks."""
        return f"policy/{self.name}"

    @property
    def reinvoked(self) -> bool:
        """Whether the policy runs again if the object changes after its run."""
        return self.spec.get("reinvocationPolicy") == "IfNeeded"

    def target(self, attributes: AdmissionAttributes, state: State) -> ServedResource | None:
        """The version in which the policy changes the object; None if the policy does not apply."""
        target = self.applies(attributes, state)
        return target if target is not None and any(True for _ in self.bound(attributes, state)) else None

    @cached_property
    def _mutations(self) -> list[Expression]:
        mutations: list[Expression] = []
        for document in self.spec.get("mutations") or ():
            applied = document["patchType"] == "ApplyConfiguration"
            text = document["applyConfiguration" if applied else "jsonPatch"]["expression"]
            mutations.append(compile_admission(text, self.environment, (_APPLIED if applied else _PATCHED,)))
        return mutations

    def mutated(
        self,
        call: Call,
        attributes: AdmissionAttributes,
        target: ServedResource,
        obj: JsonObject,
        old: JsonObject | None,
    ) -> JsonObject:
        """``obj`` after the policy's changes, in the version of ``target``. Raises ApiStatusError."""
        if problem := self.unusable(call.state):
            self._fail(attributes, f'policy "{self.name}" denied request: failed to configure policy: {problem}', "")
            return obj
        for binding in self.bound(attributes, call.state):
            prefix = f"policy '{self.name}' with binding '{binding.name}' denied request: "
            try:
                params = self.params(binding, attributes, call)
            except PolicyError as unfit:
                self._fail(attributes, f"{prefix}failed to configure binding: {unfit}", "")
                continue
            for param in params:
                for expression in (
                    self._mutations if self._wanted(call, attributes, target, obj, old, param, prefix) else ()
                ):
                    values = self._values(call, attributes, target, obj, old, param)
                    try:
                        obj = self._applied(expression, values, target, obj)
                    except (PolicyError, EvaluationError, BudgetSpent) as failed:
                        self._fail(attributes, prefix + str(failed), "Invalid")
        return obj

    def _values(
        self,
        call: Call,
        attributes: AdmissionAttributes,
        target: ServedResource,
        obj: JsonObject,
        old: JsonObject | None,
        param: Value,
    ) -> dict[str, Value]:
        values = values_for(attributes, target, call.user, obj, old)
        return values | {"namespaceObject": namespace_of(attributes, call.storage), "params": param}

    def _wanted(
        self,
        call: Call,
        attributes: AdmissionAttributes,
        target: ServedResource,
        obj: JsonObject,
        old: JsonObject | None,
        param: Value,
        prefix: str,
    ) -> bool:
        if not self.conditions:
            return True
        values = self._values(call, attributes, target, obj, old, param)
        try:
            return self.conditions.hold(self.evaluation(values, CONDITION_LIMIT))
        except ConditionFailed as problem:
            self._fail(attributes, prefix + str(problem), "Invalid")
            return False

    def _fail(self, attributes: AdmissionAttributes, message: str, reason: str) -> None:
        """Raises ApiStatusError, unless the failure policy ignores failures."""
        if self.ignores_failure:
            return
        error = forbidden(attributes.served.group_resource, attributes.shown_name, "", [{"message": message}])
        error.status["message"] = message
        if reason:
            error.status["reason"] = reason
        raise error

    def _applied(
        self, expression: Expression, values: Mapping[str, Value], target: ServedResource, obj: JsonObject
    ) -> JsonObject:
        """``obj`` after the mutation that ``expression`` computes; unchanged if a ``test`` operation of a JSON Patch
        fails. Raises PolicyError, EvaluationError, BudgetSpent.
        """
        if expression.program is None:
            raise PolicyError(expression.error)
        value, problem = self.evaluation(values, POLICY_LIMIT).evaluate(expression)
        if problem:
            raise PolicyError(problem)
        if isinstance(value, PatchObject):
            return _merged(target.schema, obj, patch_value(value, "Object"))
        assert isinstance(value, LISTS)
        operations = [item.document() for item in value if isinstance(item, JsonPatchOperation)]
        whole_numbers(operations)  # as upstream, which writes the values as JSON by way of protobuf
        try:
            changed = json_patch.apply(obj, operations)
        except json_patch.TestFailed:
            return obj
        except PatchError as failed:
            raise PolicyError(f"JSON Patch: {failed}") from None
        if not isinstance(changed, dict) or not isinstance(changed.get("metadata"), dict):
            raise PolicyError("JSON Patch: its result is not an object")
        if is_too_deep(changed):
            raise PolicyError(f"JSON Patch: {TOO_DEEP}")
        return copy_json(changed)  # type: ignore[no-any-return]


def _merged(schema: Schema, obj: JsonObject, patch: JsonObject) -> JsonObject:
    """The object with an apply configuration merged in. Raises PolicyError."""
    if errors := type_errors(schema, patch):
        raise PolicyError(f"error applying patch: failed to convert patch object to typed object: {'; '.join(errors)}")
    if atomic := list(_atomic(schema, patch, "")):
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise PolicyError(f"error applying patch: invalid ApplyConfiguration: {text}")
    merged: JsonObject = copy_json(merge(schema, obj, patch))
    return merged


def _atomic(schema: Schema | None, value: Any, path: str) -> Iterator[str]:
    """The paths in the patch at which a value can only be set as a whole."""
    if schema is None:
        return
    if isinstance(value, dict):
        if schema.map_type == "atomic":
            yield path
        for name, item in value.items():
            yield from _atomic(schema.field(name), item, f"{path}.{name}")
    elif isinstance(value, list):
        if schema.list_type not in ("set", "map"):
            yield path
        for index, item in enumerate(value):
            yield from _atomic(schema.items, item, f"{path}[{index}]")

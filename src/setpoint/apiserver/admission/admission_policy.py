"""Admission policies and their bindings: the common base of validating and mutating policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from setpoint.apiserver.admission.match_conditions import MatchConditions
from setpoint.apiserver.admission.matching import Matching
from setpoint.apiserver.objects.codec import labels_of
from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.state import State
from setpoint.cel import Environment, value_without_schema
from setpoint.cel.admission import Evaluation, Expression, Variables, admission_environment, compile_admission
from setpoint.cel.types import ANY, DYN, Type
from setpoint.cel.values import Value

JsonObject = dict[str, Any]
POLICY_LIMIT = 10_000_000
"""The maximum CEL cost per request, binding and parameter object. The limit applies separately to all validations of a
policy together, to all its audit annotations together, and to each of its mutations.
"""


class PolicyError(Exception):
    """The policy or binding can't be applied in its present form."""


class Binding:
    """A ValidatingAdmissionPolicyBinding or its mutating counterpart: the scope of a policy, and its parameters."""

    __slots__ = ("actions", "matching", "name", "param_ref")

    def __init__(self, document: JsonObject) -> None:
        spec = document["spec"]
        self.name: str = document["metadata"]["name"]
        self.matching = Matching(spec.get("matchResources") or {}, matches_without_rules=True)
        self.param_ref: JsonObject | None = spec.get("paramRef")
        self.actions: list[str] = spec.get("validationActions") or []


class Policy:
    """A policy with its bindings. Expressions are compiled when they are first needed."""

    patches = False

    def __init__(self, document: JsonObject, bindings: list[Binding]) -> None:
        self.spec: JsonObject = document["spec"]
        self.name: str = document["metadata"]["name"]
        self.bindings = bindings
        self.matching = Matching(self.spec.get("matchConstraints") or {})
        self.ignores_failure = self.spec.get("failurePolicy") == "Ignore"
        self.param_kind: JsonObject | None = self.spec.get("paramKind")
        self._types: dict[str, Type] = {}

    def applies(self, attributes: AdmissionAttributes, state: State) -> ServedResource | None:
        """The version in which the policy sees the object; None if the policy does not apply to the request."""
        if attributes.exempt_from_policies:
            return None
        target = self.matching.wants(attributes, state.registry)
        return target if target is not None and self.matching.selects(attributes, state.storage) else None

    def bound(self, attributes: AdmissionAttributes, state: State) -> Iterator[Binding]:
        """The bindings that apply to the request."""
        for binding in self.bindings:
            if binding.matching.wants(attributes, state.registry) is not None and binding.matching.selects(
                attributes, state.storage
            ):
                yield binding

    # -- expressions --------------------------------------------------------------------------------------------------

    @cached_property
    def environment(self) -> Environment:
        """The CEL environment for expressions that see all variables."""
        environment = admission_environment(
            params=self.param_kind is not None, variables=self._types, patches=self.patches
        )
        self._variables = self._compiled_variables(environment)
        return environment

    def _compiled_variables(self, environment: Environment) -> Mapping[str, Expression]:
        expressions: dict[str, Expression] = {}
        for variable in self.spec.get("variables") or ():
            expression = compile_admission(variable["expression"], environment, (ANY,))
            expressions[variable["name"]] = expression
            self._types[variable["name"]] = expression.type or DYN
        return expressions

    @cached_property
    def conditions(self) -> MatchConditions:
        """The conditions under which the policy applies, beyond rules and selectors."""
        documents = self.spec.get("matchConditions") or ()
        return MatchConditions(documents, ignores_failure=self.ignores_failure, environment=self.environment)

    def evaluation(self, values: Mapping[str, Value], budget: int) -> Evaluation:
        """A CEL evaluation for the expressions of one request; their total cost may be at most ``budget``."""
        _ = self.environment
        return Evaluation(values, budget, Variables(self._variables, values))

    # -- parameters ---------------------------------------------------------------------------------------------------

    def params(self, binding: Binding, attributes: AdmissionAttributes, call: Call) -> list[Value]:
        """The parameter objects to which the binding refers; the policy is evaluated once for each. The list has a
        single null if the policy or the binding has no parameters. It is empty if no parameter object exists and the
        binding does not deny requests in that case. Raises PolicyError.
        """
        kind, ref = self.param_kind, binding.param_ref
        if kind is None:
            return [None]
        served = self._param_resource(call.state)
        if ref is None or served is None:
            return [None]
        namespaced = served.resource.namespaced
        if ref.get("namespace") and not namespaced:
            raise PolicyError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        namespace = (ref.get("namespace") or attributes.namespace) if namespaced else ""
        if namespaced and not namespace:
            text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise PolicyError(text)
        if ref.get("name"):
            record = call.storage.get(served.collection, namespace, ref["name"])
            records = [] if record is None else [record]
        else:
            selector = selector_of(ref.get("selector") or {})
            records = [
                record
                for record in call.storage.scan(served.collection)
                if (not namespaced or record.namespace == namespace) and selector.matches(labels_of(record.value))
            ]
        if not records and ref.get("parameterNotFoundAction") == "Deny":
            raise PolicyError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return [value_without_schema(call.versions.decoded(served, record)) for record in records]

    def unusable(self, state: State) -> str:
        """The reason why the policy can't be evaluated; empty if it can."""
        kind = self.param_kind
        if kind is None or self._param_resource(state) is not None:
            return ""
        group, _, version = kind["apiVersion"].rpartition("/")
        return f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind['kind']}'"

    def _param_resource(self, state: State) -> ServedResource | None:
        assert self.param_kind is not None
        group, _, version = self.param_kind["apiVersion"].rpartition("/")
        return state.registry.find_kind(group, version, self.param_kind["kind"])

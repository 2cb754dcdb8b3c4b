"""The types of the expressions in ValidatingAdmissionPolicies, checked against the schemas of the matched kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from setpoint.cel import CompileError, compile_expression
from setpoint.cel.admission import admission_environment
from setpoint.cel.schema_types import Declared, declare
from setpoint.cel.types import DYN, Type
from setpoint.client import Client, Discovery, NotFound
from setpoint.controller import Context, Controller, Outcome, done
from setpoint.meta import GroupVersion, GroupVersionKind, Resource
from setpoint.models.admissionregistration_v1 import (
    ExpressionWarning,
    TypeChecking,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicySpec,
)

_MOST: Final = 10
"""The number of kinds for which the expressions of a rule are checked; the same as upstream's."""
_REF: Final = "#/components/schemas/"
_KINDS: Final = "x-kubernetes-group-version-kind"
_INT_OR_STRING: Final = "int-or-string"


class PolicyTypes:
    """Checks the types of the expressions in ValidatingAdmissionPolicies and writes the result to
    ``status.typeChecking``.

    Each ``expression`` and ``messageExpression`` of ``spec.validations`` is checked once for every kind that the
    policy's rules name without a wildcard. The result changes nothing about what the policy does.

    *Caveats*: a kind that is not served yet is not checked, until the policy's spec changes.
    """

    def __init__(self) -> None:
        self.controller = Controller(
            ValidatingAdmissionPolicy,
            self._reconcile,
            name="validatingadmissionpolicy-status-controller",
            owns_status=True,
            leader_only=False,
        )

    async def _reconcile(self, policy: ValidatingAdmissionPolicy, ctx: Context) -> Outcome:
        status = policy.status
        if status.type_checking is not None and status.observed_generation == policy.metadata.generation:
            return done()
        schemas = _Schemas(ctx.client)
        matched = [(kind, await schemas.type(kind)) for kind in await _kinds(policy.spec, ctx.client)]
        param = policy.spec.param_kind
        parameters = None
        if param is not None:
            group, version = GroupVersion.parse(param.api_version or "")
            parameters = await schemas.type(GroupVersionKind(group, version, param.kind or ""))
        declared = [(kind, schema) for kind, schema in matched if schema is not None]
        warnings = list(_warnings(policy.spec, declared, parameters))
        status.type_checking = TypeChecking(expression_warnings=warnings)
        return done()


def _warnings(
    spec: ValidatingAdmissionPolicySpec, kinds: list[tuple[GroupVersionKind, Declared]], parameters: Declared | None
) -> Iterator[ExpressionWarning]:
    for index, validation in enumerate(spec.validations):
        texts = {"expression": validation.expression, "messageExpression": validation.message_expression}
        for field, text in texts.items():
            if not text:
                continue
            problems = [
                f"{kind.group}/{kind.version}, Kind={kind.kind}: {problem}\n"
                for kind, schema in kinds
                if (problem := _problem(text, spec, schema, parameters))
            ]
            if problems:
                yield ExpressionWarning(field_ref=f"spec.validations[{index}].{field}", warning="\n".join(problems))


def _problem(text: str, spec: ValidatingAdmissionPolicySpec, declared: Declared, parameters: Declared | None) -> str:
    """The error that the compiler finds in the expression if the objects have the type ``found``; empty without one."""
    variables: dict[str, Type] = {}
    environment = admission_environment(
        params=spec.param_kind is not None, variables=variables, object_type=declared, params_type=parameters
    )
    for variable in spec.variables:
        try:
            variables[variable.name] = compile_expression(variable.expression, environment).type
        except CompileError:
            variables[variable.name] = DYN
    try:
        compile_expression(text, environment)
    except CompileError as problem:
        return str(problem)
    return ""


async def _kinds(spec: ValidatingAdmissionPolicySpec, client: Client) -> list[GroupVersionKind]:
    """The served kinds that the policy's rules name, in order."""
    wanted = {
        (group, version, resource)
        for rule in (spec.match_constraints.resource_rules if spec.match_constraints is not None else ())
        if not any("*" in name for name in (*rule.api_groups, *rule.api_versions))
        for group in rule.api_groups
        for version in rule.api_versions
        for resource in rule.resources
        if "*" not in resource and "/" not in resource
    }
    if not wanted:
        return []
    served: tuple[Resource, ...] = (await Discovery(client).resources()).resources
    kinds = {entry.gvk for entry in served if (entry.group, entry.version, entry.plural) in wanted}
    return sorted(kinds, key=lambda kind: (kind.group, kind.version, kind.kind))[:_MOST]


class _Schemas:
    """The types of kinds, from the OpenAPI documents that the server publishes."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._documents: dict[str, Mapping[str, Any]] = {}

    async def type(self, kind: GroupVersionKind) -> Declared | None:
        """The type of the kind's objects; None if the server does not publish its schema."""
        path = f"/openapi/v3/{'apis' if kind.group else 'api'}/{kind.api_version}"
        if path not in self._documents:
            try:
                body = await self._client.request("GET", path)
            except NotFound:
                body = b"{}"
            self._documents[path] = (msgspec.json.decode(body).get("components") or {}).get("schemas") or {}
        schemas = self._documents[path]
        own = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        for schema in schemas.values():
            if own in schema.get(_KINDS, ()):
                return declare(_whole(schema, schemas, frozenset()), kind.kind, root=True)
        return None


def _whole(schema: Mapping[str, Any], schemas: Mapping[str, Any], above: frozenset[str]) -> dict[str, Any]:
    """The schema with the schemas that it refers to in the places of the references; one that contains itself is an
    object without fields there.
    """
    ref = next((part["$ref"] for part in (schema, *schema.get("allOf", ())) if "$ref" in part), "")
    if ref:
        name = ref.removeprefix(_REF)
        if name in above or name not in schemas:
            return {"type": "object"}
        return _whole(schemas[name], schemas, above | {name})
    whole = dict(schema)
    if schema.get("format") == _INT_OR_STRING:  # of built-in kinds; definitions have the extension
        whole[f"x-kubernetes-{_INT_OR_STRING}"] = True
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            whole[key] = _whole(schema[key], schemas, above)
    if "properties" in schema:
        whole["properties"] = {name: _whole(field, schemas, above) for name, field in schema["properties"].items()}
    return whole

"""Policy: CEL rules and defaults for objects of any kind that API servers enforce themselves, without a webhook."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from setpoint.client import Client
from setpoint.crd.cel_rule import ValidationRule, rules_of
from setpoint.meta import GroupVersionKind, Object, from_wire, resource_of
from setpoint.meta.names import dns1123_subdomain, qualified_name
from setpoint.models.resources import kind_for
from setpoint.webhook.admission import AdmissionError, Match, selector_document

Document = dict[str, Any]
Action = Literal["Deny", "Warn", "Audit"]
On = Literal["create", "update", "delete"]
_API: Final = "admissionregistration.k8s.io/v1"
_OPERATIONS: Final = ("create", "update", "delete")
_REASONS: Final = {"": "", "FieldValueForbidden": "Forbidden", "FieldValueInvalid": "Invalid"}
FIELD_MANAGER: Final = "setpoint"
_PLAIN: Final = (str, bool, int, float)


class Policy:
    """Rules and defaults for objects of one kind, as a ValidatingAdmissionPolicy and a MutatingAdmissionPolicy, each
    with its binding.

    API servers evaluate the CEL expressions themselves: nothing has to run, so there is no certificate, no timeout, and
    nothing that can be down. The kind may be built in, the program's own or another project's.

    ```python
    policy = sp.Policy(
        Deployment,
        rules=[sp.ValidationRule(rule="object.spec.replicas <= variables.most", message="too many replicas")],
        variables={"most": "object.metadata.namespace == 'prod' ? 50 : 5"},
        match=Match(conditions={"not-system": "!object.metadata.namespace.startsWith('kube-')"}),
        defaults={"metadata.labels[team]": "none"},
    )
    ```

    Pass policies to `setpoint.main`, or to a test's cluster in ``webhooks``.

    Args:
        kind: the class of the objects.
        name: distinguishes the policies of a program, and becomes part of the objects' names; by default the plural of
            the kind.
        rules: expressions that must be true. They see ``object``, ``oldObject`` (null unless the object is updated or
            deleted), ``request``, ``namespaceObject``, ``authorizer`` and ``variables``; on delete ``object`` is null.
            Of a `setpoint.ValidationRule`, ``field_path`` and ``optional_old_self`` do not apply.
        variables: expressions by name, in an order in which each may use those before it.
        match: the objects that the policy applies to, by conditions and selectors; see `setpoint.webhook.Match`.
        defaults: constants by path, which are set where the field is absent: scalars and lists of scalars. A field that
            the server itself fills in is never absent. A path names fields on the wire, and keys of maps in brackets:
            ``metadata.labels[app.kubernetes.io/part-of]``.
        mutations: further changes, as CEL: an ``Object{...}`` that is merged, or a list of ``JSONPatch{...}``.
        on: the operations; defaults and mutations leave out ``delete``.
        actions: what a broken rule causes: ``Deny``, or ``Warn`` and ``Audit`` to try a new rule first.

    Raises:
        AdmissionError: at declaration, if an expression does not compile or an argument is invalid. Fields are checked
            by the API server, which knows the schema (``status.typeChecking`` of the policy).

    *Guarantees*: MutatingAdmissionPolicies need Kubernetes 1.36 or newer, ValidatingAdmissionPolicies 1.30. API servers
    apply a new policy within seconds; objects that are stored already are not checked.
    https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
    https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
    """

    def __init__(
        self,
        kind: type[Object],
        *,
        name: str = "",
        rules: Sequence[ValidationRule | str] = (),
        variables: Mapping[str, str] | None = None,
        match: Match | None = None,
        defaults: Mapping[str, Any] | None = None,
        mutations: Sequence[str] = (),
        on: Iterable[On] = ("create", "update"),
        actions: Sequence[Action] = ("Deny",),
    ) -> None:
        self._kind = kind
        self._resource = resource_of(kind)
        self.name = name or self._resource.plural
        self._rules = rules_of(rules)
        self._variables = dict(variables or {})
        self._match = match or Match()
        self._on = tuple(operation for operation in _OPERATIONS if operation in {*on})
        self._actions = tuple(actions)
        self._check(on, mutations)
        self._mutations = [*(self._default(path, value) for path, value in (defaults or {}).items()), *mutations]
        if not self._rules and not self._mutations:
            raise AdmissionError(f"{self!r}: it has neither rules nor defaults nor mutations")
        self._compile()

    def __repr__(self) -> str:
        return f"Policy({self._kind.__name__}, name={self.name!r})"

    def documents(self, prefix: str, labels: Mapping[str, str] | None = None) -> list[Document]:
        """The policies and bindings, whose names begin with ``prefix``."""
        documents = []
        name = f"{prefix}-{self.name}"
        metadata: Document = {"name": name, **({"labels": dict(labels)} if labels else {})}
        if self._rules:
            validations = [self._validation(rule) for rule in self._rules]
            spec = {**self._spec(self._on), "validations": validations}
            documents.append(_document("ValidatingAdmissionPolicy", metadata, spec))
            binding = {"policyName": name, "validationActions": list(self._actions)}
            documents.append(_document("ValidatingAdmissionPolicyBinding", metadata, binding))
        if self._mutations:
            changing = tuple(operation for operation in self._on if operation != "delete")
            mutations = [_mutation(expression) for expression in self._mutations]
            spec = {**self._spec(changing), "mutations": mutations, "reinvocationPolicy": "Never"}
            documents.append(_document("MutatingAdmissionPolicy", metadata, spec))
            documents.append(_document("MutatingAdmissionPolicyBinding", metadata, {"policyName": name}))
        return documents

    def _spec(self, on: Iterable[str]) -> Document:
        rule = {
            "apiGroups": [self._resource.group],
            "apiVersions": [self._resource.version],
            "operations": [operation.upper() for operation in on],
            "resources": [self._resource.plural],
        }
        constraints: Document = {"resourceRules": [rule], "matchPolicy": self._match.policy}
        for word, selector in (
            ("namespaceSelector", selector_document(self._match.namespace_selector)),
            ("objectSelector", selector_document(self._match.object_selector)),
        ):
            if selector is not None:
                constraints[word] = selector
        spec: Document = {"failurePolicy": "Fail", "matchConstraints": constraints}
        for word, expressions in (("variables", self._variables), ("matchConditions", self._match.conditions)):
            if expressions:
                spec[word] = [{"name": name, "expression": text} for name, text in expressions.items()]
        return spec

    def _validation(self, rule: ValidationRule) -> Document:
        validation = {"expression": rule.rule}
        for word, value in (
            ("message", rule.message),
            ("messageExpression", rule.message_expression),
            ("reason", _REASONS[rule.reason]),
        ):
            if value:
                validation[word] = value
        return validation

    def _default(self, path: str, value: Any) -> str:
        """The expression that sets a constant where the field is absent."""
        steps = _steps(path)
        scalars = value if isinstance(value, list) else [value]
        if not steps or not all(isinstance(scalar, _PLAIN) for scalar in scalars):
            raise AdmissionError(
                f"{self!r}: defaults[{path!r}]: it needs a path such as spec.replicas or metadata.labels[team], and a "
                "scalar or a list of scalars; use mutations= for everything else"
            )
        absent, place, types = "", "object", ["Object"]
        text = json.dumps(value, ensure_ascii=False)
        inside: list[str] = []
        for step, is_key in steps:
            deeper = f"{place}[{json.dumps(step)}]" if is_key else f"{place}.{step}"
            missing = f"!({json.dumps(step)} in {place})" if is_key else f"!has({deeper})"
            absent = f"{absent} || {missing}" if absent else missing
            inside.append(json.dumps(step) if is_key else step)
            types.append(f"{types[-1]}.{step}")
            place = deeper
        for index in reversed(range(len(steps))):
            of_map = steps[index][1]
            text = f"{{{inside[index]}: {text}}}" if of_map else f"{types[index]}{{{inside[index]}: {text}}}"
        return f"{absent} ? {text} : Object{{}}"

    def _check(self, on: Iterable[str], mutations: Sequence[str]) -> None:
        if isinstance(on, str) or not self._on or not {*on} <= {*_OPERATIONS}:
            raise AdmissionError(f"{self!r}: on= must be a tuple of some of {', '.join(map(repr, _OPERATIONS))}")
        if isinstance(mutations, str) or isinstance(self._actions, str):
            raise AdmissionError(f"{self!r}: mutations= and actions= must be sequences of strings")
        if (
            not self._actions
            or not {*self._actions} <= {"Deny", "Warn", "Audit"}
            or {"Deny", "Warn"} <= {*self._actions}
        ):
            raise AdmissionError(f"{self!r}: actions= may be Deny, Warn and Audit, but not both Deny and Warn")
        if problems := dns1123_subdomain(self.name):
            raise AdmissionError(f"{self!r}: name={self.name!r}: {problems[0]}")
        for condition in self._match.conditions:
            if problems := qualified_name(condition):
                raise AdmissionError(f"{self!r}: match.conditions[{condition!r}]: {problems[0]}")
        for position, rule in enumerate(self._rules):
            if rule.field_path or rule.optional_old_self is not None or rule.reason not in _REASONS:
                raise AdmissionError(
                    f"{self!r}: rules[{position}]: a policy has no field_path= and no optional_old_self=, and its "
                    "reason= is FieldValueForbidden, FieldValueInvalid or empty"
                )

    def _compile(self) -> None:
        """Raises `AdmissionError` if an expression does not compile, or has a value of another type than needed."""
        # Imported only for policies, because the import is slow.
        from setpoint.cel.admission import admission_environment, compile_admission
        from setpoint.cel.types import ANY, BOOL, DYN, STRING, Type

        types: dict[str, Type] = {}
        environment = admission_environment(variables=types, patches=True)
        checked = [(f"variables[{name!r}]", text, ANY) for name, text in self._variables.items()]
        checked += [(f"match.conditions[{name!r}]", text, BOOL) for name, text in self._match.conditions.items()]
        for position, rule in enumerate(self._rules):
            checked.append((f"rules[{position}]", rule.rule, BOOL))
            if rule.message_expression:
                checked.append((f"rules[{position}].message_expression", rule.message_expression, STRING))
        checked += [(f"mutations[{position}]", text, ANY) for position, text in enumerate(self._mutations)]
        for place, text, wanted in checked:
            expression = compile_admission(text, environment, (wanted,))
            if expression.error:
                raise AdmissionError(f"{self!r}: {place}: {text!r}: {expression.error.splitlines()[0]}")
            if place.startswith("variables["):
                types[place[len("variables['") : -2]] = expression.type or DYN


def policy_documents(
    policies: Iterable[Policy], prefix: str, labels: Mapping[str, str] | None = None
) -> list[Document]:
    """The documents of all policies of a program.

    Raises:
        AdmissionError: two policies have the same name.
    """
    names: set[str] = set()
    documents: list[Document] = []
    for policy in policies:
        if policy.name in names:
            raise AdmissionError(f"{policy!r}: another policy of the program has this name: give one of them name=")
        names.add(policy.name)
        documents += policy.documents(prefix, labels)
    return documents


async def apply_policies(client: Client, policies: Iterable[Policy], prefix: str) -> None:
    """Applies the documents of the policies to a server.

    Raises:
        AdmissionError: two policies have the same name.
        ApiError: the server refuses a policy.
    """
    for document in policy_documents(policies, prefix):
        kind = kind_for(GroupVersionKind("admissionregistration.k8s.io", "v1", document["kind"]))
        await client.apply(from_wire(kind, document), field_manager=FIELD_MANAGER)


def _document(kind: str, metadata: Document, spec: Document) -> Document:
    return {"apiVersion": _API, "kind": kind, "metadata": dict(metadata), "spec": spec}


def _mutation(expression: str) -> Document:
    if expression.lstrip().startswith("["):
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def _steps(path: str) -> list[tuple[str, bool]]:
    """The steps of a path, each with whether it is a key of a map; none if the path is not valid."""
    steps: list[tuple[str, bool]] = []
    rest = path
    while rest:
        if rest.startswith("["):
            key, bracket, rest = rest[1:].partition("]")
            if not bracket or not key:
                return []
            steps.append((key, True))
            continue
        name = rest.removeprefix(".").partition("[")[0].partition(".")[0]
        if not name.isidentifier():
            return []
        steps.append((name, False))
        rest = rest.removeprefix(".")[len(name) :]
    return steps if steps and not steps[0][1] else []

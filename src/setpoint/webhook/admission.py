"""Admission: the functions that set defaults in objects of one class and check the objects before they are stored."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Self, TypeVar, cast, get_args

import msgspec

from setpoint.meta import LabelSelector, Object, Resource, resource_of, to_wire
from setpoint.meta.names import dns1123_label, qualified_name
from setpoint.webhook.review import Operation, Review

K = TypeVar("K", bound=Object)
Answer = Awaitable[None] | None
AdmissionFunction = Callable[[K], Answer] | Callable[[K, Review[K]], Answer]
Role = Literal["mutate", "validate"]
_OPERATIONS: tuple[Operation, ...] = get_args(Operation)


class AdmissionError(TypeError):
    """A declaration is invalid; the message says where and why."""


class Function(msgspec.Struct, frozen=True):
    """A function of an admission and the operations for which it is called."""

    name: str
    call: Callable[..., Any]
    takes_review: bool
    on: frozenset[Operation]
    waits: bool
    """Whether the function is declared ``async``."""

    def begin(self, obj: Object, review: Review[Any]) -> Any:
        """Calls the function and returns its result, or returns None if the operation is not in ``on``.

        Pass a result other than None to `finish`.
        """
        if review.operation not in self.on:
            return None
        return self.call(obj, review) if self.takes_review else self.call(obj)

    async def finish(self, result: Any) -> None:
        """Awaits ``result`` if it is awaitable. Raises TypeError if the function returned a value."""
        if inspect.isawaitable(result):
            if not self.waits:
                await asyncio.sleep(0)  # it was started without a task, as a function that does not wait
            result = await result
        if result is not None:
            # The author of a function that returns errors or a changed copy would otherwise believe that it has an
            # effect.
            raise TypeError(
                f"{self.name} returned {type(result).__name__}; admission functions return None: defaults change "
                "their argument, errors are reported with review.invalid(...) or review.deny(...)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The requests that the API server sends to a webhook.

    Args:
        namespace_selector, object_selector: select namespaces and objects; None selects all, except that webhooks for
            built-in kinds exclude kube-system and the webhooks' own namespace, because otherwise a webhook that is down
            could prevent its own start. Pass ``{}`` to include these namespaces.
        conditions: CEL expressions, by name, over ``object``, ``oldObject`` and ``request``; all must be true. They are
            compiled by the `Admission`; the API server limits their cost.
        policy: "Equivalent" for requests in any version of the kind, "Exact" for those in the version of the class.
    """

    namespace_selector: LabelSelector | Mapping[str, Any] | None = None
    object_selector: LabelSelector | Mapping[str, Any] | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    policy: Literal["Equivalent", "Exact"] = "Equivalent"


class Admission(Generic[K]):
    """The functions that set defaults in objects of one class and check them, for webhooks and for reconcilers.

    ```python
    def fill_in(mykind: Mykind) -> None:
        if mykind.spec.template is None:
            mykind.spec.template = default_template()

    def check(mykind: Mykind, review: Review[Mykind]) -> None:
        if not mykind.spec.template.spec.containers:
            review.required("spec.template.spec.containers", "the pods need something to run")
        if review.old and mykind.spec.pool != review.old.spec.pool:
            review.forbidden("spec.pool", "pods can't move to another pool")

    admission = Admission(Mykind).defaults(fill_in).validates(check)
    ```

    Functions take the object, or the object and the `Review`; they may be ``async``. On delete, the object is the one
    to be deleted. An exception is not a decision: the request is treated as if the webhook had not answered, so the
    failure policy applies.

    The keyword arguments configure how the API server calls the webhook
    (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/):

    Args:
        kind: a class of your own or a built-in one. Objects arrive in the version of this class, whatever version the
            request has (see `Match`).
        of: the class to which the subresource belongs, if the subresource has a class of its own: ``Admission(Scale,
            of=Deployment, subresource="scale")``.
        subresource: ``status``, ``scale``, ``exec`` ...; if empty, the object itself.
        name: distinguishes two admissions of one class, and becomes part of their paths. A DNS label.
        failure_policy: ``Fail`` or ``Ignore``: what happens to requests when the webhook does not answer.
        side_effects: "None", or "NoneOnDryRun" if functions change external state, but not while ``review.dry_run``
            is set.
        timeout: how many seconds the API server waits, 1 to 30.
        reinvocation: ``IfNeeded`` to have the functions called again if later webhooks have changed the object.
        match: the requests that the API server sends to the webhook; by default all.

    Raises:
        AdmissionError: at declaration, if an argument is invalid.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        of: type[Object] | None = None,
        subresource: str = "",
        name: str = "",
        failure_policy: Literal["Fail", "Ignore"] = "Fail",
        side_effects: Literal["None", "NoneOnDryRun"] = "None",
        timeout: int = 10,
        reinvocation: Literal["Never", "IfNeeded"] = "Never",
        match: Match | None = None,
    ) -> None:
        self.kind = kind
        self.resource: Resource = resource_of(of or kind)
        self.gvk = resource_of(kind).gvk
        self.subresource = subresource
        self.name = name
        self.failure_policy = failure_policy
        self.match = match if match is not None else Match()
        self.side_effects = side_effects
        self.timeout = timeout
        self.reinvocation = reinvocation
        self.defaulters: list[Function] = []
        self.validators: list[Function] = []
        self.read_kinds: list[type[Object]] = []
        self._check()

    def __repr__(self) -> str:
        subresource = f"/{self.subresource}" if self.subresource else ""
        return f"Admission({self.kind.__name__}{subresource}{f', name={self.name!r}' if self.name else ''})"

    def defaults(self, function: AdmissionFunction[K], *, on: Iterable[Operation] = ("create", "update")) -> Self:
        """Adds ``function``, which changes the object in place before any check. Functions are called in the order in
        which they were added.

        ``function`` must be idempotent, because API servers may call it more than once. Fields that the class does not
        declare stay unchanged.
        """
        operations = self._operations(function, on)
        if "delete" in operations:
            raise AdmissionError(f"{self!r}: {_name(function)} can't set defaults on delete: a delete stores no object")
        self.defaulters.append(self._function(function, operations))
        return self

    def validates(self, function: AdmissionFunction[K], *, on: Iterable[Operation] = ("create", "update")) -> Self:
        """Adds ``function``, which checks the object after all defaults; any changes that it makes are ignored.

        An update that changes only the finalizers of an object being deleted is not checked, so a stricter rule never
        blocks a deletion.
        """
        self.validators.append(self._function(function, self._operations(function, on)))
        return self

    def reads(self, *kinds: type[Object]) -> Self:
        """Declares kinds that functions read from a cache, with ``review.get`` and ``review.list``. Each kind requires
        an informer.
        """
        for kind in kinds:
            resource_of(kind)
            if kind not in self.read_kinds:
                self.read_kinds.append(kind)
        return self

    def functions(self, role: Role) -> Sequence[Function]:
        return self.defaulters if role == "mutate" else self.validators

    def operations(self, role: Role) -> list[Operation]:
        """The operations for which the API server must call the webhook in this role, in Kubernetes' order."""
        return [word for word in _OPERATIONS if any(word in function.on for function in self.functions(role))]

    def path(self, role: Role, version: str = "") -> str:
        """The path, as in controller-runtime: ``/mutate-grp-example-com-v1alpha2-mykind``.

        ``version`` is the version of the kind in the requests, if it differs from the class's version.
        """
        group = self.resource.group.replace(".", "-")
        path = f"/{role}-{group}-{version or self.resource.version}-{self.resource.kind.lower()}"
        return "-".join([path, *filter(None, (self.subresource, self.name))])

    def _function(self, function: Callable[..., Any], on: frozenset[Operation]) -> Function:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError as problem:
            raise AdmissionError(f"{self!r}: {_name(function)} can't be called: {problem}") from None
        places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        needed = [p for p in places if p.default is p.empty]
        keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
        if not places or len(needed) > 2 or keywords:
            raise AdmissionError(
                f"{self!r}: {_name(function)}{inspect.signature(function)} must take the object, or the object and the "
                "review"
            )
        call = getattr(function, "__call__", None)  # noqa: B004 - the method of an instance
        waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
        return Function(_name(function), function, len(places) >= 2, on, waits)

    def _operations(self, function: Callable[..., Any], on: Iterable[Operation]) -> frozenset[Operation]:
        if isinstance(on, str):
            raise AdmissionError(f"{self!r}: on={on!r} must be a tuple, such as on=({on!r},)")
        chosen = frozenset(on)
        if not chosen or not chosen <= set(_OPERATIONS):
            wrong = ", ".join(sorted(map(repr, chosen - set(_OPERATIONS)))) or "nothing"
            raise AdmissionError(
                f"{self!r}: {_name(function)} on={wrong}: use some of {', '.join(map(repr, _OPERATIONS))}"
            )
        if "connect" in chosen and not self.subresource:
            raise AdmissionError(
                f"{self!r}: {_name(function)} on connect needs a subresource=, such as 'exec': objects themselves are "
                "not connected to"
            )
        return chosen

    def _check(self) -> None:
        for word, allowed in (
            (self.failure_policy, ("Fail", "Ignore")),
            (self.match.policy, ("Equivalent", "Exact")),
            (self.side_effects, ("None", "NoneOnDryRun")),
            (self.reinvocation, ("Never", "IfNeeded")),
        ):
            if word not in allowed:
                raise AdmissionError(f"{self!r}: {word!r} must be one of {', '.join(map(repr, allowed))}")
        if not 1 <= self.timeout <= 30:
            raise AdmissionError(f"{self!r}: timeout must be 1 to 30 seconds, not {self.timeout}")
        if self.name and (problems := dns1123_label(self.name)):
            raise AdmissionError(f"{self!r}: name={self.name!r}: {problems[0]}")
        if "/" in self.subresource or "*" in self.subresource:
            raise AdmissionError(f"{self!r}: subresource must be the name of one subresource, without a slash")
        for condition, text in self.match.conditions.items():
            if problem := _condition_problem(condition, text):
                raise AdmissionError(f"{self!r}: match.conditions[{condition!r}]: {problem}")


def _condition_problem(name: str, text: str) -> str:
    """The error with which an API server would refuse a match condition, in one line; ``""`` if there is none."""
    if problems := qualified_name(name):
        return problems[0]
    # Imported only for match conditions, because the import is slow.
    from setpoint.cel.admission import admission_environment, compile_admission
    from setpoint.cel.types import BOOL

    error = compile_admission(text, admission_environment(), (BOOL,)).error
    return f"{text!r}: {error.splitlines()[0]}" if error else ""


def selector_document(selector: LabelSelector | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A label selector in wire form. A mapping without ``matchLabels`` and ``matchExpressions`` is a set of labels."""
    if selector is None:
        return None
    plain = cast("dict[str, Any]", to_wire(selector))
    if plain and not plain.keys() <= {"matchLabels", "matchExpressions"}:
        return {"matchLabels": plain}
    return plain


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)

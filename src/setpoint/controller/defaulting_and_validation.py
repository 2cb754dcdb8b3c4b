"""Defaults and checks inside the reconcile, for clusters without webhooks.

The functions are those that `setpoint.webhook.Admission` takes; here they work on the reconciler's own copy.
"""

from __future__ import annotations

import builtins
import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from setpoint.controller.outcome import InvalidObject, Outcome
from setpoint.meta import LabelSelector, Object, Selector
from setpoint.schema.validation_result import Verdict

if TYPE_CHECKING:
    from setpoint.controller.context import Context

K = TypeVar("K", bound=Object)
T = TypeVar("T", bound=Object)
Function: TypeAlias = Callable[[Any, Any], Awaitable[Outcome | None]]
CheckFunction: TypeAlias = Callable[[K], Awaitable[None] | None] | Callable[[K, Any], Awaitable[None] | None]
"""A function of the object, or of the object and a `Check`."""


class Check(Verdict):
    """The second argument of a function that checks an object: it collects the errors, as an admission review does.

    ``operation`` and ``old`` are as for a create, because the former state of the object is unknown here. Rules about
    changes belong in webhooks or in the rules of the CustomResourceDefinition.
    """

    __slots__ = ("_context", "dry_run", "name", "namespace", "old", "operation", "subresource", "uid")

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.operation = "create"
        self.old: Any = None
        self.dry_run = False
        self.subresource = ""
        self.name = context.key.name
        self.namespace = context.key.namespace
        self.uid = context.object.uid

    async def get(self, kind: type[T], name: str, *, namespace: str | None = None) -> T | None:
        """See `Context.get`."""
        return await self._context.get(kind, name, namespace=namespace)

    async def list(
        self,
        kind: type[T],
        *,
        namespace: str | None = None,
        selector: str | Mapping[str, str] | LabelSelector | Selector | None = None,
    ) -> builtins.list[T]:
        """See `Context.list`; ``namespace=""`` means every namespace."""
        return await self._context.list(kind, namespace="*" if namespace == "" else namespace, selector=selector)


def checked_first(
    function: Function, defaulters: Sequence[Callable[..., Any]], validators: Sequence[Callable[..., Any]]
) -> Function:
    """Returns a function that sets the object's defaults, checks the object unless it is being deleted, and then calls
    ``function``.

    Raises (when called):
        InvalidObject: the object failed the checks.
        TypeError: one of the defaulters or validators returned a value.
    """

    async def checked(obj: Object, context: Context) -> Outcome | None:
        for defaulter in defaulters:
            await _call(defaulter, obj, Check(context))
        # A rule that became stricter must never keep an object from going.
        if validators and not obj.is_deleting:
            check = Check(context)
            for validator in validators:
                # A copy for each: what a check changes is ignored.
                await _call(validator, copy.deepcopy(obj), check)
            for text in check.warnings:
                context.event("Warning", "ValidationWarning", text)
            if check.refused:
                raise InvalidObject(check.message)
        return await function(obj, context)

    return checked


def accepted(function: Callable[..., Any], owner: str) -> Callable[..., Any]:
    """``function`` in a form that takes the object and a `Check`.

    Raises:
        TypeError: the function takes other arguments.
    """
    name = getattr(function, "__qualname__", None) or repr(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError as problem:
        raise TypeError(f"{owner}: {name} can't be called: {problem}") from None
    places = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    needed = sum(parameter.default is parameter.empty for parameter in places)
    keywords = any(
        parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty for parameter in parameters
    )
    if not places or needed > 2 or keywords:
        raise TypeError(f"{owner}: {name} must take the object, or the object and the check")
    return function if len(places) >= 2 else lambda obj, _: function(obj)


async def _call(function: Callable[..., Any], obj: Object, check: Check) -> None:
    result = function(obj, check)
    if inspect.isawaitable(result):
        result = await result
    if result is not None:
        # The author of a function that returns a list of errors, or a changed copy, must learn that it does not count.
        raise TypeError(
            f"a function for defaults or checks returned {type(result).__name__}; it must return None: defaults "
            "change the object that they are given, errors are reported with check.invalid(...) or check.deny(...)"
        )

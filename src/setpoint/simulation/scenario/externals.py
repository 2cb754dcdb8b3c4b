"""External systems: the part of the world outside Kubernetes, which has its own ways to fail."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from setpoint.simulation.comparison.snapshot import to_plain
from setpoint.simulation.sandbox.actor import ACTOR, Actor

if TYPE_CHECKING:
    from setpoint.simulation.faults.plan import Fault

M = TypeVar("M", bound=Callable[..., Any])


class ExternalError(ConnectionError):
    """An external system could not be reached, or its answer was lost. ``effect`` says whether the call was carried
    out; a real program could not know this.
    """

    def __init__(self, message: str, *, effect: bool) -> None:
        super().__init__(message)
        self.effect = effect


class Calls(Protocol):
    """The interface through which a run decides the outcome of each call to a method that is marked with `call`."""

    def external_point(self, name: str, actor: Actor, *, waits: bool) -> tuple[str, list[Fault]]: ...
    async def external_gate(
        self, point: str, faults: list[Fault], actor: Actor, late: Callable[[], Any] | None = None
    ) -> None: ...
    def external_gate_sync(
        self, point: str, faults: list[Fault], actor: Actor, late: Callable[[], Any] | None = None
    ) -> None: ...
    def external_done(
        self, point: str, text: str, *, changed: bool, empty: bool, waits: bool, ordered: bool = False
    ) -> None: ...
    def external_changed(self, name: str, before: Any, after: Any) -> None: ...


_WORLD: ContextVar[Calls | None] = ContextVar("setpoint_simulation_world", default=None)


class External:
    """A system outside the cluster: a cloud, a database, a DNS provider.

    ```python
    class Cloud(sp.simulation.External):
        def __init__(self) -> None:
            self.buckets: dict[str, str] = {}

        @sp.simulation.call
        async def create(self, name: str) -> str: ...

        @sp.simulation.call(nothing=[])
        async def list(self) -> list[str]: ...
    ```

    Marked methods are fault points when a controller calls them: a call may fail, may be carried out although its
    answer is lost, or may (with ``nothing=``) answer that there is nothing. The attributes of the system survive
    crashes of the controller. They belong to the end state, except those whose names begin with an underscore. Every
    run begins with the state that the system had when it was given to `check`.
    """

    def state(self) -> dict[str, Any]:
        """The part of the system that is compared at the end of a run: the public attributes by name, unless a subclass
        overrides this method. The values should be plain, as in JSON; other values are converted before they are
        compared.
        """
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @property
    def name(self) -> str:
        return type(self).__name__.lower()


@overload
def call(method: M, /) -> M: ...
@overload
def call(*, nothing: Any) -> Callable[[M], M]: ...


def call(method: Callable[..., Any] | None = None, /, *, nothing: Any = ...) -> Any:
    """Marks a method of an `External` as a call over the network. ``nothing`` is the answer, such as an empty list,
    when a fault makes the system report that nothing exists; without ``nothing``, that fault does not affect the
    method.
    """
    if method is None:
        return functools.partial(call, nothing=nothing)
    name, waits = method.__name__, inspect.iscoroutinefunction(method)
    traits = {"empty": nothing is not ..., "waits": waits, "ordered": _is_ordered(method)}
    if waits:

        @functools.wraps(method)
        async def asynchronous(self: External, *args: Any, **kwargs: Any) -> Any:
            world, actor = _WORLD.get(), ACTOR.get()
            if world is None or actor is None:
                return await method(self, *args, **kwargs)
            point, faults = world.external_point(_describe_call(self, name, args, kwargs), actor, waits=True)
            late = functools.partial(method, self, *args, **kwargs)
            await world.external_gate(point, faults, actor, late)
            if nothing is not ... and any(fault.kind == "external-empty" for fault in faults):
                world.external_done(point, "answered as if it had no data", changed=False, empty=True, waits=True)
                return copy.deepcopy(nothing)
            before = to_plain(self.state())
            try:
                result = await method(self, *args, **kwargs)
            except Exception as refusal:
                _note_answer(self, world, point, before, f"raised {_short(refusal)}", traits)
                raise
            _note_answer(self, world, point, before, f"answered {_short(result)}", traits)
            await world.external_gate(point, faults, actor)
            return result

        return asynchronous

    @functools.wraps(method)
    def synchronous(self: External, *args: Any, **kwargs: Any) -> Any:
        world, actor = _WORLD.get(), ACTOR.get()
        if world is None or actor is None:
            return method(self, *args, **kwargs)
        point, faults = world.external_point(_describe_call(self, name, args, kwargs), actor, waits=False)
        late = functools.partial(method, self, *args, **kwargs)
        world.external_gate_sync(point, faults, actor, late)
        if nothing is not ... and any(fault.kind == "external-empty" for fault in faults):
            world.external_done(point, "answered as if it had no data", changed=False, empty=True, waits=False)
            return copy.deepcopy(nothing)
        before = to_plain(self.state())
        try:
            result = method(self, *args, **kwargs)
        except Exception as refusal:
            _note_answer(self, world, point, before, f"raised {_short(refusal)}", traits)
            raise
        _note_answer(self, world, point, before, f"answered {_short(result)}", traits)
        world.external_gate_sync(point, faults, actor)
        return result

    return synchronous


def _note_answer(external: External, world: Calls, point: str, before: Any, text: str, traits: dict[str, bool]) -> None:
    """Notes the answer of a system whose state was ``before``. ``traits`` are the arguments of `Calls.external_done`
    that depend on the method only.
    """
    after = to_plain(external.state())
    world.external_changed(external.name, before, after)
    world.external_done(point, text, changed=before != after, **traits)


def _is_ordered(method: Callable[..., Any]) -> bool:
    """Whether the method asks whether one of its arguments is less than something, as far as its source shows: it may
    be a version, of which the system refuses older ones.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, TypeError, SyntaxError):
        return False
    parameters = set(inspect.signature(method).parameters) - {"self"}
    return any(
        isinstance(part, ast.Name) and part.id in parameters
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for operator in node.ops)
        for part in (node.left, *node.comparators)
    )


def _describe_call(external: External, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    plain = [_short(value) for value in args] + [f"{key}={_short(value)}" for key, value in kwargs.items()]
    return f"{external.name}.{name}({', '.join(plain)})"


def _short(value: Any) -> str:
    text = repr(value)
    if " at 0x" in text:
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."


def use_external_calls(world: Calls) -> None:
    """Makes ``world`` decide the outcome of calls to external systems in the current context and in the tasks that are
    started from it.
    """
    _WORLD.set(world)

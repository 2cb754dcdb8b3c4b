"""Request faults: the order in which faults strike one request, in virtual and in real time."""

from __future__ import annotations

from typing import Never, Protocol, TypeVar

from setpoint.client.transport import Request
from setpoint.simulation.faults.plan import Fault, fault
from setpoint.simulation.injection import responses
from setpoint.simulation.injection.injector import FaultInjector
from setpoint.simulation.injection.user_steps import Steps
from setpoint.simulation.network.write_handler import WriteHandler, Writer
from setpoint.simulation.trace.operation import Operation
from setpoint.testing.fake_answers import Answer

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")


class RequestHost(Protocol):
    """The interface of a run in which requests fail."""

    @property
    def steps(self) -> Steps: ...
    @property
    def injector(self) -> FaultInjector: ...
    @property
    def write_handler(self) -> WriteHandler: ...


class Sender(Protocol[A_co]):
    """The process under test that sends a request, and its connection to the server."""

    @property
    def process(self) -> Writer: ...
    async def depart(self, request: Request, freeze: Fault | None) -> None:
        """Returns when the request is on its way. With ``freeze``, the process is stopped for a while before that."""

    async def crash(self, fault: Fault) -> Never:
        """Kills the process, so that it gets no answer."""
        ...

    def connection_error(self, text: str) -> Exception:
        """The error that stands for a broken connection; ``text`` says when it broke."""
        ...

    def time_out(self) -> A_co:
        """The answer to a request that takes too long, unless an exception takes its place."""
        ...

    def refuse(self, answer: Answer) -> A_co:
        """The answer with an injected error."""
        ...

    async def forward(self, request: Request, operation: Operation, point: str) -> A_co:
        """The server's answer."""
        ...


async def exchange(host: RequestHost, sender: Sender[A], request: Request, operation: Operation) -> A:
    """The answer to the request, which is hit by the faults of its point. They strike in the order of the request's
    way: in the process, on the way to the server, before the server carries it out, and on the way back.
    """
    process = sender.process
    point, faults = host.injector.request(process.actor, process.number, operation)
    by_kind = {injected.kind: injected for injected in faults}
    if "crash-before" in by_kind:
        await sender.crash(by_kind["crash-before"])
    await sender.depart(request, by_kind.get("freeze"))
    if "slow-request" in by_kind:
        await host.steps.pass_by(by_kind["slow-request"])
    if (error := responses.make_error(faults)) is not None:
        host.write_handler.log_answer(point, f"{error.status} injected")
        return sender.refuse(error)
    if "lost-request" in by_kind:
        raise sender.connection_error("before the request got through")
    if "late-write" in by_kind:
        host.write_handler.arrive_late(process, request, by_kind["late-write"])
        if by_kind["late-write"].get("dies"):
            await sender.crash(fault("crash-before", point))
        return sender.time_out()
    if "conflict" in by_kind:
        await host.write_handler.touch(request, operation)
    answer = await sender.forward(request, operation, point)
    if "crash-after" in by_kind:
        await sender.crash(by_kind["crash-after"])
    if "lost-answer" in by_kind:
        raise sender.connection_error("before the answer came")
    if "slow-answer" in by_kind:
        await host.steps.pass_by(by_kind["slow-answer"])
    return answer

"""Result: what one run showed, as plain values that can be sent between processes and compared."""

from __future__ import annotations

from typing import Any

import msgspec


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finding of an oracle: a promise that is broken for ``subject``, with the expected state and the state that was
    found.
    """

    oracle: str
    subject: str
    message: str
    expected: Any = None
    found: Any = None
    point: str = ""
    step: int = 0

    @property
    def identity(self) -> tuple[str, str]:
        """The oracle and the subject. Two findings with the same identity count as the same finding."""
        return self.oracle, self.subject

    def __str__(self) -> str:
        return f"[{self.oracle}] {self.message}"


class Point(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a run at which a fault can strike."""

    name: str
    kind: str
    """``write``, ``read``, ``external``, ``change`` or ``step``."""
    step: int = 0
    collection: str = ""
    verb: str = ""
    changed: bool = False
    revision: int = 0
    process: int = 0
    empty: bool = False
    careful: bool = True


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a trace."""

    at: float
    lane: str
    who: str
    what: str
    text: str
    point: str = ""
    saw: str = ""
    content: str = ""
    """A digest of what was written."""
    place: str = ""
    """The line of the user's code that did it."""


class Result(msgspec.Struct):
    """The result of one run."""

    findings: list[Finding] = []
    points: list[Point] = []
    end: dict[str, list[Any]] = {}
    rests: list[dict[str, list[Any]]] = []
    """The states at the ends of the steps, if they were asked for."""
    wishes: list[str] = []
    """The wishes of users at the ends of the steps, as text that can be compared."""
    there: list[dict[str, int]] = []
    """The number of objects of each name at the ends of the steps."""
    created: dict[str, int] = {}
    deleted: dict[str, int] = {}
    gone: dict[int, dict[str, int]] = {}
    """The number of objects of each name that others than users have deleted, by steps."""
    wrongly: dict[str, int] = {}
    """Deletions by controllers of what was there at the ends of the steps before and after, in the undisturbed run."""
    collected: list[str] = []
    """Objects that users had made and the garbage collector has deleted: they had an owner by then."""
    initial: dict[str, list[Any]] = {}
    """The objects from before the run, where the ends of steps are kept, too: no state has those that never changed."""
    provided: list[str] = []
    """Objects without an owner that the control plane has made, such as a default storage class."""
    ended: list[str] = []
    """Conditions that the control plane has set from True to False, as ``collection label path``."""
    writes: int = 0
    steps: int = 0
    struck: int = 0
    """The number of the plan's faults that took place."""
    digest: str = ""
    trace: list[Line] = []
    explained: str = ""
    virtual: float = 0.0
    seconds: float = 0.0
    problem: str = ""
    """The run could not be carried out: an error of the scenario, with its traceback."""
    early: bool = False
    """The scenario failed while faults lasted."""
    wished: list[Any] = []
    """The objects that users had made and not deleted in the end, as they asked for them."""
    environment: dict[str, str] = {}
    """The user's lines that asked the real clock or chance, if that was asked for."""

    def step_of(self, at: str) -> int:
        """The step in which this run reached the point ``at``; 0 if it did not reach that point."""
        return next((point.step for point in self.points if point.name == at), 0)


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of a run, in addition to its plan."""

    shift: float = 0.0
    """Seconds by which the wall clock is later."""
    stretch: float = 0.0
    """Seconds that users wait longer at the end of each step."""
    patient: bool = False
    """Users wait for the end of all faults before they go on."""
    rests: bool = False
    trace: bool = False
    quiet: bool = True
    """Whether to wait and see that nothing is written any more."""
    rests_expected: tuple[dict[str, int], ...] = ()
    """The number of objects of each name that the undisturbed run has at the ends of its steps."""
    gone_expected: dict[int, dict[str, int]] = {}
    """The deletions of the undisturbed run, by steps."""
    since: int = 0
    """The step before which nothing of the plan happens: the run may begin where the undisturbed one is then."""
    audit: bool = False
    """Whether to note which lines of the user's ask the real clock or chance."""
    debug: bool = False
    """Whether to stop in a debugger where a fault strikes, and where a promise is broken."""
    direct: tuple[Any, ...] = ()
    """Objects to be created at once instead of the scenario."""


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Result).decode

"""Result: the outcome of one run, as plain values that can be sent between processes and compared."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A broken promise that an oracle has found. It names the ``subject`` and has the expected and the actual state."""

    oracle: str
    subject: str
    message: str
    expected: Any = None
    actual: Any = None
    point: str = ""
    step: int = 0

    @property
    def identity(self) -> tuple[str, str]:
        """The oracle and the subject. Two findings with the same identity count as the same finding."""
        return self.oracle, self.subject

    def __str__(self) -> str:
        return f"[{self.oracle}] {self.message}"


class Point(msgspec.Struct, frozen=True, omit_defaults=True):
    """A point of a run at which a fault can strike."""

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
    waits: bool = True
    """Whether a fault can delay the call. A synchronous call to an external system can't be delayed."""
    ordered: bool = False
    """Whether the external system compares the call with those before, as one does that refuses older versions."""
    by_user: bool = False
    """Whether users made the change."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a trace."""

    at: float
    lane: str
    actor: str
    kind: str
    text: str
    point: str = ""
    view: str = ""
    content: str = ""
    """A digest of the written object."""
    place: str = ""
    """The line of the user's code that caused the event."""
    change: str = ""
    """The fields that a write changed, with their values before and after; in runs with a trace."""
    reads: str = ""
    """The reads of the reconcile so far, and which of several objects of the same name it is for; in runs with a
    trace.
    """


class Result(msgspec.Struct):
    """The result of one run."""

    findings: list[Finding] = []
    points: list[Point] = []
    end: dict[str, list[Any]] = {}
    rest_states: list[dict[str, list[Any]]] = []
    """The states at the ends of the steps, if ``Options.rests`` is set."""
    looks: dict[int, dict[str, list[Any]]] = {}
    """The states at the ends of the steps of ``Options.looks``."""
    desired_paths: list[list[str]] = []
    """The paths of the objects that users ask for at the ends of the steps, if ``Options.rests`` is set."""
    desired_states: list[str] = []
    """The objects that users ask for at the end of each step, as text that can be compared."""
    object_counts: list[dict[str, int]] = []
    """The number of objects with each label at the end of each step."""
    created: dict[str, int] = {}
    deleted: dict[str, int] = {}
    controller_deletions: dict[int, dict[str, int]] = {}
    """The number of deletions that users did not make, by step and label."""
    wrong_deletions: dict[str, int] = {}
    """The number of wrong deletions, by collection and label: deletions of objects that had to exist at the end of the
    step (see `Options.rests_expected`), and of parts of external systems.
    """
    active_steps: list[int] = []
    """The steps in which users changed objects; in all others they only wait."""
    collected: list[str] = []
    """Objects that users created and the garbage collector deleted, because they had been given an owner in the
    meantime.
    """
    initial: dict[str, list[Any]] = {}
    """The state before the run, if ``Options.rests`` is set. Other states lack the objects that never changed."""
    provided: list[str] = []
    """Objects without an owner that the control plane created, such as a default storage class."""
    dependents: list[str] = []
    """Objects with an owner that the control plane created, such as the pods of a Deployment."""
    watched: list[str] = []
    """The collections that the program has watched, whatever opened the watch."""
    ended: list[str] = []
    """Conditions that the control plane has set from True to False, as ``collection label path``."""
    writes: int = 0
    steps: int = 0
    injected: list[int] = []
    """The positions in the plan of the faults that struck."""
    digest: str = ""
    trace: list[Line] = []
    explanation: str = ""
    longest_pause: float = 0.0
    """The longest silence before a write of the program, in seconds; in runs in real time."""
    virtual: float = 0.0
    seconds: float = 0.0
    problem: str = ""
    """The traceback of the scenario's error if that was not an AssertionError; otherwise ``""``."""
    cut: str = ""
    """The reason why the run was ended before its time; its states are not compared."""
    early: bool = False
    """Whether the scenario failed, but might succeed if users waited for the end of all faults (`Options.patient`)."""
    desired_objects: list[Any] = []
    """The objects that users had created and not deleted at the end of the run, as users specified them."""
    missing_objects: list[Any] = []
    """Those of ``desired_objects`` that something other than users has deleted."""
    environment: dict[str, str] = {}
    """The lines of the user's code (``file:line``) that read the real clock, asked for randomness or started a thread,
    each with what it did, if ``Options.audit`` is set.
    """

    def before_deletions(self) -> tuple[int, ...]:
        """The steps after which users delete objects, if ``Options.rests`` was set."""
        steps = enumerate(pairwise(self.desired_paths))
        return tuple(step for step, (now, later) in steps if step and {*now} - {*later})

    def step_of(self, at: str) -> int:
        """The step in which this run reached the point ``at``; 0 if it did not reach that point."""
        return next((point.step for point in self.points if point.name == at), 0)


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of a run, in addition to its plan."""

    shift: float = 0.0
    """Seconds by which the server's wall clock is set forward."""
    stretch: float = 0.0
    """Additional seconds that users wait at the end of each step."""
    patient: bool = False
    """Whether users wait for the end of all faults before they go on."""
    rest_states: bool = False
    looks: tuple[int, ...] = ()
    """The steps whose states at the end are part of the result."""
    trace: bool = False
    quiet: bool = True
    """Whether to check at the end that nothing is written any more: after a resync, after a restart, and within an
    hour.
    """
    expected_counts: tuple[dict[str, int], ...] = ()
    """The number of objects with each label that have to exist at the end of each step; see `Reference.stays`."""
    expected_deletions: dict[int, dict[str, int]] = {}
    """The number of deletions in the undisturbed run that users did not make, by step and label."""
    since: int = 0
    """The step of the plan's first fault: the run may continue from the undisturbed run's state at that step."""
    audit: bool = False
    """Whether to note the lines of the user's code that read the real clock, ask for randomness or start a thread."""
    debug: bool = False
    """Whether to stop in a debugger where a fault strikes, and where a promise is broken."""
    forms: tuple[tuple[str, str], ...] = ()
    """The forms of the names that programs make of the time; see `forms_of`."""
    direct: tuple[Any, ...] | None = None
    """Objects to create directly instead of running the scenario; None to run the scenario."""
    apart: bool = False
    """Whether users wait for the controllers after each of the objects that they create directly."""


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Result).decode

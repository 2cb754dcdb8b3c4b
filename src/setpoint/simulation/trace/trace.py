"""Trace: the events of a run, in order, and the names of its points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from types import MappingProxyType

from setpoint.controller.context import Context, current
from setpoint.meta import Object
from setpoint.simulation.sandbox.event_loop import find_line_of_call
from setpoint.simulation.trace.result import Line, Point


class Trace:
    """Records the events of a run. Its digest covers all events; two runs of the same plan have the same digest if the
    code under test is deterministic.
    """

    def __init__(self, clock: Callable[[], float], called: Mapping[str, str] = MappingProxyType({})) -> None:
        self.clock = clock
        self.called = called
        """The collection and label of every object that has ever existed, by uid, in the order of their creation."""
        self.details = False
        """Whether lines have what is only for readers."""
        self.names = False
        """Whether lines have the controllers' names, since a process has several."""
        self.lines: list[Line] = []
        self.points: list[Point] = []
        self.full = False
        """Whether further points are ignored, because no more faults strike."""
        self._numbers: Counter[str] = Counter()

    def add(
        self, lane: str, actor: str, kind: str, text: str, *, point: str = "", view: str = "", content: str = "",
        change: str = "",
    ) -> None:  # fmt: skip
        """Adds one line to the trace. For a write, a read or an external call in a reconcile, the line also has the
        object that the reconcile had seen (``view`` outside of reconciles), what it had read, and the line of the
        user's code.
        """
        place, reads = "", ""
        if kind in ("writes", "reads", "calls"):
            context = current.get()
            if context is not None:
                obj = context.object
                view = f"{obj.kind} {obj.key} of generation {obj.metadata.generation}"
                if context._live is None and context.age is not None:
                    view += " from its cache"
                place = find_line_of_call()
                if self.details:
                    reads = "; ".join([*self._incarnation(obj), *_reads(context)])
                if self.names:
                    actor = f"{actor} {context.controller}"
        self.lines.append(
            Line(round(self.clock(), 6), lane, actor, kind, text, point, view, content, place, change, reads)
        )

    def _incarnation(self, obj: Object) -> Iterator[str]:
        """Sentences about an object that is not the only one of its name, or that is being deleted."""
        if obj.metadata.deletion_timestamp is not None:
            yield "it is being deleted"
        called = self.called.get(obj.uid, "")
        if called and obj.uid != (last := [uid for uid, name in self.called.items() if name == called][-1]):
            yield f"another {obj.kind} of that name has replaced it since ({last[:8]})"

    def mark(self, point: Point) -> None:
        """Adds a point at which a fault can strike."""
        if not self.full:
            self.points.append(point)

    def number(self, stem: str) -> str:
        """The name of the next point with this stem: the stem and a number."""
        self._numbers[stem] += 1
        return f"{stem} #{self._numbers[stem]}"

    def digest(self) -> str:
        state = blake2b(digest_size=8)
        for line in self.lines:
            state.update(f"{line.at} {line.lane} {line.kind} {line.text} {line.view} {line.content}\n".encode())
        return state.hexdigest()


def _reads(context: Context) -> Iterator[str]:
    """A sentence for each kind that the reconcile has read so far."""
    for read in (context._reads or {}).values():
        source = "from the server"
        if read.age is not None:
            source = f"from its cache, which was {round(read.age, 3 if read.age < 1 else 0):g} s old"
        times = f" in {read.reads} reads" if read.reads > 1 else ""
        yield f"it had read {int(read.objects) or 'no'} {read.kind}{times} {source}"

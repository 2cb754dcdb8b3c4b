"""The pages of several processes combined: metrics with a label ``process``, and the state of controllers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import msgspec

from setpoint.controller.explain.object_listing import Listing, merged
from setpoint.manager.debug_pages import controllers_page, manager_page, profiling, yaml_page
from setpoint.manager.http_server import Answer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric
    from prometheus_client.samples import Exemplar

METRICS: Final = "/metrics"
LABEL: Final = "process"
SUPERVISOR: Final = "supervisor"
"""The label's value for the metrics of the supervisor itself."""
WITHIN: Final = 3.0
"""Seconds for which a page waits for answers from the processes."""
PROFILED_WITHIN: Final = profiling.MAX_SECONDS + 30.0
_ELSEWHERE: Final = "not in this shard"
_UP: Final = "setpoint_process_up"


class Asked(Protocol):
    """The interface of the processes that answer requests for their pages; see
    `setpoint.manager.processes.Supervisor`.
    """

    async def ask(
        self, path: str, query: Mapping[str, list[str]], *, within: float, index: int | None = None
    ) -> Mapping[int, Answer | None]: ...


_Exemplar: TypeAlias = tuple[dict[str, str], float, float | None]


class Family(msgspec.Struct, array_like=True):
    """A metric and its samples, each with its name, labels, value, timestamp and exemplar: labels, value, timestamp."""

    name: str
    documentation: str
    type: str
    unit: str
    samples: list[tuple[str, dict[str, str], float, float | None, _Exemplar | None]]


_families = msgspec.msgpack.Decoder(list[Family]).decode


def exported(registry: CollectorRegistry) -> Answer:
    """All metrics of a registry, in the form that a child process sends to its supervisor."""
    return Answer(200, msgspec.msgpack.encode(_of(registry)), "application/msgpack")


def _of(registry: CollectorRegistry) -> list[Family]:
    return [
        Family(
            metric.name,
            metric.documentation,
            metric.type,
            metric.unit,
            [
                (
                    sample.name,
                    dict(sample.labels),
                    float(sample.value),
                    None if sample.timestamp is None else float(sample.timestamp),
                    None if sample.exemplar is None else _exemplar_of(sample.exemplar),
                )
                for sample in metric.samples
            ],
        )
        for metric in registry.collect()
    ]


def _exemplar_of(exemplar: Exemplar) -> _Exemplar:
    at = exemplar.timestamp
    return dict(exemplar.labels), float(exemplar.value), None if at is None else float(at)


class MergedMetrics:
    """The metrics of all processes; each sample has the label ``process``.

    The samples are not added up, because ``rate()`` handles the counter of a replaced process, which starts at 0 again,
    but not a sum that includes such a counter. For a total, use ``sum without (process)`` of the rates.
    ``setpoint_process_up`` is 0 for a process that does not answer.
    """

    def __init__(self, own: CollectorRegistry, processes: Asked) -> None:
        self._own = own
        self._processes = processes

    async def answer(self, _path: str, _query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Answer:
        """The body of ``/metrics``, in the format that the scraper requests."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import choose_encoder

        answers = await self._processes.ask(METRICS, {}, within=WITHIN)
        families = {SUPERVISOR: _of(self._own)}
        for index, answer in answers.items():
            if answer is not None and answer.status == 200:
                families[str(index)] = _families(answer.body)
        up = Family(_UP, "1 if the process answers, 0 if it does not.", "gauge", "", [])
        up.samples.extend((_UP, {LABEL: str(index)}, float(str(index) in families), None, None) for index in answers)
        merged = CollectorRegistry()
        merged.register(_Collected(families, up))
        encode, content_type = choose_encoder(headers.get("accept", ""))
        return Answer(200, encode(merged), content_type)


class _Collected:
    """A collector of samples that were gathered before."""

    def __init__(self, families: Mapping[str, list[Family]], up: Family) -> None:
        self._families_by_process = families
        self._up = up

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import Metric
        from prometheus_client.samples import Exemplar

        metrics: dict[str, Metric] = {}
        for process, families in [*self._families_by_process.items(), ("", [self._up])]:
            for family in families:
                metric = metrics.get(family.name)
                if metric is None:
                    metric = metrics[family.name] = Metric(family.name, family.documentation, family.type, family.unit)
                for name, labels, value, timestamp, exemplar in family.samples:
                    example = None if exemplar is None else Exemplar(*exemplar)
                    metric.add_sample(name, {LABEL: process, **labels}, value, timestamp, example)
        yield from metrics.values()


class MergedPages:
    """The debug pages of all processes.

    A page about controllers is a list with an entry for every process; each entry includes the number of its process. A
    page about one key comes from the process that has the key. ``?process=NUMBER`` selects the process to profile, 0 by
    default.
    """

    def __init__(self, processes: Asked) -> None:
        self._processes = processes

    async def controllers(self, path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """The page of `debug_pages.controllers_page`, from all processes or from the process that has the key."""
        answers = await self._processes.ask(_below(controllers_page.PATH, path), query, within=WITHIN)
        entries: list[Any] = []
        refused: Answer | None = None
        for index, answer in answers.items():
            if answer is None:
                continue
            if answer.status != 200:
                refused = answer
                continue
            content = msgspec.json.decode(answer.body)
            entries += [{**entry, "process": index} for entry in (content if isinstance(content, list) else [content])]
        if not entries:
            return refused or _no_answer()
        is_single = "/" in path
        if is_single or "key" in query:
            entries = [entry for entry in entries if entry["state"] != _ELSEWHERE] or entries
        return Answer(200, msgspec.json.encode(entries[0] if is_single else entries), "application/json")

    async def objects(self, _path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """One listing of the objects of all processes, as in `setpoint.manager.debug_pages.manager_page`."""
        answers = await self._processes.ask(manager_page.OBJECTS, {**query, "here": ["1"]}, within=WITHIN)
        listings: list[Listing] = []
        for answer in answers.values():
            if answer is not None and answer.status != 200:
                return answer
            if answer is not None:
                listings.append(msgspec.json.decode(answer.body, type=Listing))
        if not listings:
            return _no_answer()
        limit = int(next(iter(query.get("limit", ())), manager_page.USUAL))
        return Answer(200, msgspec.json.encode(merged(listings, limit)), "application/json")

    async def details(self, _path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """The details of one object, from the process that has its key."""
        answers = await self._processes.ask(manager_page.DETAILS, query, within=WITHIN)
        answered = [answer for answer in answers.values() if answer is not None]
        for answer in answered:
            if answer.status != 200:
                return answer
            if msgspec.json.decode(answer.body)["explanation"]["state"] != _ELSEWHERE:
                return answer
        return answered[0] if answered else _no_answer()

    async def document(self, _path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """One object as YAML, from a process that has it in its cache."""
        answers = await self._processes.ask(yaml_page.PATH, query, within=WITHIN)
        answered = [answer for answer in answers.values() if answer is not None]
        return next((answer for answer in answered if answer.status == 200), answered[0] if answered else _no_answer())

    async def profile(self, path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        """The page of `setpoint.manager.debug_pages.profiling`."""
        chosen = query.get("process", ["0"])[-1]
        index = int(chosen) if chosen.isascii() and chosen.isdecimal() else -1
        answers = await self._processes.ask(_below(profiling.PATH, path), query, within=PROFILED_WITHIN, index=index)
        if index not in answers:
            return Answer(404, f"there is no process {chosen!r}\n".encode())
        return answers[index] or Answer(503, f"process {index} did not answer\n".encode())


def _no_answer() -> Answer:
    return Answer(503, b'{"error":"no process has answered in time"}', "application/json")


def _below(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if path else prefix

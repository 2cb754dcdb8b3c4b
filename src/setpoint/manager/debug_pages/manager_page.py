"""``/debug/manager``, ``/debug/objects``, ``/debug/details``: the data of ``setpoint top`` and of the page, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from setpoint.controller import RunningController
from setpoint.controller.events import EventRecorder
from setpoint.controller.explain.object_listing import URGENCY, Survey, detail
from setpoint.manager.health_checks import HealthChecks
from setpoint.manager.http_server import Answer
from setpoint.manager.leader_election.leadership import Leadership
from setpoint.manager.sharding.shard_member import ShardMember
from setpoint.meta import ObjectKey

if TYPE_CHECKING:
    from setpoint.manager.options import ManagerOptions

MANAGER: Final = "/debug/manager"
OBJECTS: Final = "/debug/objects"
DETAILS: Final = "/debug/details"
MOST: Final = 500
"""The maximum number of objects in one answer."""
USUAL: Final = 100
_JSON: Final = "application/json"


class ElectionSummary(msgspec.Struct, rename="camel", kw_only=True):
    """An election: ``lease`` is NAMESPACE/NAME, and ``leader`` is the last observed holder, ``""`` if there is none."""

    lease: str
    identity: str
    leader: str
    leads: bool


class ShardingSummary(msgspec.Struct, rename="camel", kw_only=True):
    """A group of processes that share the keys. ``problem`` is the reason why this process has no keys; ``""`` if it
    has some.
    """

    group: str
    identity: str
    members: list[str]
    problem: str


class ManagerSummary(msgspec.Struct, rename="camel", kw_only=True):
    """The state of a process. ``unhealthy`` and ``unready`` have the failing checks of ``/healthz`` and ``/readyz``."""

    now: datetime
    instance: str
    version: str
    cluster: bool
    """Whether this process is an embedded cluster, whose objects are shown, too."""
    election: ElectionSummary | None
    sharding: ShardingSummary | None
    unhealthy: dict[str, str]
    unready: dict[str, str]


class ManagerPage:
    """``/debug/manager``: a `ManagerSummary`."""

    def __init__(
        self,
        options: ManagerOptions,
        *,
        elector: Leadership | None,
        shards: ShardMember | None,
        healthz: HealthChecks,
        readyz: HealthChecks,
        is_cluster: bool = False,
    ) -> None:
        self._options = options
        self._elector = elector
        self._shards = shards
        self._healthz = healthz
        self._readyz = readyz
        self._is_cluster = is_cluster

    def answer(self, _path: str, _query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        from importlib.metadata import version  # it takes longer to import than most of this package

        description = ManagerSummary(
            now=self._options.now(),
            instance=self._options.instance,
            version=version("setpoint"),
            cluster=self._is_cluster,
            election=self._election(),
            sharding=self._sharding(),
            unhealthy=self._healthz.problems(),
            unready=self._readyz.problems(),
        )
        return as_json(description)

    def _election(self) -> ElectionSummary | None:
        if self._elector is None:
            return None
        lease, holder = self._elector.lease, ""
        if lease is not None:
            holder = lease.spec.holder_identity or ""
        return ElectionSummary(
            lease=str(lease.key) if lease is not None else "",
            identity=self._elector.identity,
            leader=holder,
            leads=self._elector.is_leader,
        )

    def _sharding(self) -> ShardingSummary | None:
        if self._shards is None:
            return None
        return ShardingSummary(
            group=f"{self._shards.sharding.namespace}/{self._shards.sharding.name}",
            identity=self._shards.sharding.identity,
            members=sorted(member.rpartition("@")[0] or member for member in self._shards.members),
            problem=self._shards.problem(),
        )


class ObjectsPage:
    """The objects of controllers.

    - ``/debug/objects?controller=NAME&find=WORDS&state=STATE&limit=NUMBER``: a `Listing`. All parameters are optional,
      and ``controller`` and ``state`` may be repeated; ``here=1`` leaves out the objects of other processes;
    - ``/debug/details?controller=NAME&key=NAMESPACE/OBJECT``: a `Detail`, which adds the conditions and events of the
      object to its `explain`.
    """

    def __init__(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> None:
        self._find = controllers
        self._survey = Survey()

    async def objects(self, _path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
        controllers = self._find()
        limit_or_answer = asked_for(query, controller=("controller", controllers), state=("state", URGENCY))
        if isinstance(limit_or_answer, Answer):
            return limit_or_answer
        names, states, limit = query.get("controller", []), query.get("state", []), limit_or_answer
        listing = await self._survey.listing(
            [run for name, run in controllers.items() if not names or name in names],
            find=" ".join(query.get("find", [])),
            states=states,
            limit=limit,
            here="here" in query,
            among=list(controllers.values()),
        )
        return as_json(listing)

    def details(self, recorder: EventRecorder) -> Callable[..., Answer]:
        """The handler of ``/debug/details``, with the events that ``recorder`` has sent."""

        def answer(_path: str, query: Mapping[str, list[str]], _headers: Mapping[str, str]) -> Answer:
            controllers = self._find()
            name, key = (next(iter(query.get(word, ())), "") for word in ("controller", "key"))
            run = controllers.get(name)
            if run is None:
                return missing(f"there is no controller {name!r}", controllers)
            caches = [informer for controller in controllers.values() for informer in controller.informers.values()]
            return as_json(detail(run, ObjectKey(key), caches=caches, among=controllers.values(), recorder=recorder))

        return answer


def asked_for(query: Mapping[str, list[str]], **parameters: tuple[str, Collection[str]]) -> int | Answer:
    """The number of objects that a request asks for (``limit``), or the refusal of an invalid parameter.

    ``parameters`` maps each parameter to a pair: a noun for the parameter's values, and the values that exist.
    """
    for parameter, (noun, values) in parameters.items():
        unknown = next((name for name in query.get(parameter, ()) if name not in values), None)
        if unknown is not None:
            return missing(f"there is no {noun} {unknown!r}", values)
    text = next(iter(query.get("limit", ())), str(USUAL))
    if text.isascii() and text.isdecimal() and len(text) < 5 and int(text) <= MOST:
        return int(text)
    return as_json({"error": f"limit must be a number from 0 to {MOST}"}, 400)


def missing(problem: str, there_is: Iterable[str]) -> Answer:
    """An answer with status 404 that lists the existing names."""
    return as_json({"error": f"{problem}; available: {', '.join(sorted(there_is)) or 'none'}"}, 404)


def as_json(value: Any, status: int = 200) -> Answer:
    return Answer(status, msgspec.json.encode(value), _JSON)

"""Leader election: never two at once, and soon another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tasks import drop, stop
from tests.transports import Checked

from setpoint.apiserver import ApiServer
from setpoint.client import Client, CredentialsError, InProcessTransport, Request, Response, Transport, TransportError
from setpoint.manager import FencedTransport, LeaderElection, LeaderElector, LeadershipLost, WriteRefused
from setpoint.meta import MicroTime
from setpoint.models.coordination_v1 import Lease, LeaseSpec
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import EPOCH, advance, run, virtual_time, wait_all_tasks_blocked


def now() -> datetime:
    return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())


def election(identity: str, **options: Any) -> LeaderElection:
    return LeaderElection(name="test", identity=identity, **options)


class Cable:
    """A transport whose cable can be cut; requests then wait forever, as in a network that drops packets."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.cut = False
        self.refuse: Callable[[Request], bool] = lambda request: False
        self.requests: list[str] = []

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    @asynccontextmanager
    async def _send(self, request: Request) -> AsyncIterator[Response]:
        self.requests.append(f"{request.method} {request.path.rpartition('/')[2]}")
        if self.cut:
            await asyncio.sleep(request.timeout or 30)
            raise TransportError("timed out", sent=True, timed_out=True)
        if self.refuse(request):
            raise TransportError("refused", sent=False)
        async with self.inner.send(request) as response:
            yield response

    async def close(self) -> None:
        """The server goes on."""


class Candidate:
    """A process with one worker that does nothing but work, and says when."""

    def __init__(self, server: ApiServer, identity: str, journal: list[tuple[float, str, str]], **options: Any) -> None:
        self.identity = identity
        self.journal = journal
        self.cable = Cable(InProcessTransport(server.handle))
        self.elector = LeaderElector(
            Client(self.cable, random=Random(1)), election(identity, **options), now=now, random=Random(identity)
        )
        self.task: asyncio.Task[None] | None = None
        self.error: BaseException | None = None

    def start(self) -> Candidate:
        self.task = asyncio.get_running_loop().create_task(self._run())
        return self

    async def _run(self) -> None:
        try:
            await self.elector.run(self._work)
        except LeadershipLost as lost:
            self.error = lost

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        self.journal.append((loop.time(), self.identity, "start"))
        try:
            await asyncio.Event().wait()
        finally:
            self.journal.append((loop.time(), self.identity, "stop"))

    async def stop(self) -> None:
        """As a process that is asked to end, if it has not lost its lease and ended before."""
        assert self.task is not None
        await (drop if self.error else stop)(self.task)

    @property
    def works(self) -> bool:
        mine = [what for _, who, what in self.journal if who == self.identity]
        return bool(mine) and mine[-1] == "start"


@asynccontextmanager
async def candidates(*identities: str, **options: Any) -> AsyncIterator[list[Candidate]]:
    async with ApiServer(now=now, random=Random(0)) as server:
        journal: list[tuple[float, str, str]] = []
        running = [Candidate(server, identity, journal, **options) for identity in identities]
        try:
            yield running
        finally:
            for item in running:
                if item.task is not None:
                    await item.stop()
            never_two(journal)


def never_two(journal: list[tuple[float, str, str]]) -> None:
    working: set[str] = set()
    for _, who, what in journal:
        (working.add if what == "start" else working.discard)(who)
        assert len(working) <= 1, journal


async def lease_of(candidate: Candidate) -> Lease:
    return await Client(candidate.cable.inner).get(Lease, "test", namespace="default")


@virtual_time
async def test_the_first_one_leads_and_the_others_wait() -> None:
    async with candidates("a", "b", "c") as (a, b, c):
        a.start()
        await wait_all_tasks_blocked()
        b.start()
        c.start()
        await advance(300)
        assert (a.works, b.works, c.works) == (True, False, False)
        assert {item.elector.leader for item in (a, b, c)} == {"a"}
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("a", 15, 0)
        assert spec.acquire_time == MicroTime.of(EPOCH)
        assert spec.renew_time is not None
        assert (now() - spec.renew_time).total_seconds() <= 2.0


@virtual_time
async def test_a_clean_exit_hands_over_at_once() -> None:
    async with candidates("a", "b") as (a, b):
        a.start()
        await wait_all_tasks_blocked()
        b.start()
        await advance(60)
        await a.stop()
        released = (await lease_of(a)).spec
        assert released is not None
        assert (released.holder_identity, released.lease_duration_seconds) == ("", 1)
        await advance(2 * 2.2)
        assert b.works, "within one jittered retry period"
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.lease_transitions == 1


@virtual_time
async def test_without_release_the_next_one_waits_for_the_lease_to_run_out() -> None:
    async with candidates("a", "b", release_on_cancel=False) as (a, b):
        a.start()
        await wait_all_tasks_blocked()
        b.start()
        await advance(60)
        await a.stop()
        await advance(12)
        assert not b.works
        await advance(15 + 2 - 12)
        assert b.works


@given(died_after=st.floats(60, 63), names=st.lists(st.text("abc", min_size=1), min_size=3, max_size=3, unique=True))
@settings(max_examples=50, deadline=None)
def test_a_process_that_dies_is_replaced_within_lease_duration_plus_retry_period(
    died_after: float, names: list[str]
) -> None:
    async def scenario() -> None:
        async with candidates(*names) as (a, b, c):
            a.start()
            await wait_all_tasks_blocked()
            b.start()
            c.start()
            await advance(died_after)
            died_at = asyncio.get_running_loop().time()
            a.cable.refuse = lambda request: True  # kill -9: nothing is released
            assert a.task is not None
            a.task.cancel()
            await advance(20)
            assert b.works != c.works
            started_at = next(moment for moment, who, what in a.journal if who != a.identity and what == "start")
            assert 13 <= started_at - died_at <= 15 + 2

    run(scenario())


@virtual_time
async def test_a_leader_whose_network_is_cut_stops_before_another_one_starts() -> None:
    async with candidates("a", "b") as (a, b):
        a.start()
        await wait_all_tasks_blocked()
        b.start()
        await advance(60)
        a.cable.cut = True
        await advance(10.1)
        assert not a.works
        assert isinstance(a.error, LeadershipLost)
        assert not b.works
        await advance(15 + 4.4 - 10)
        assert b.works
        a.cable.cut = False
        await advance(60)
        assert b.works
        assert not a.works


@virtual_time
async def test_a_short_cut_changes_nothing() -> None:
    async with candidates("a", "b") as (a, b):
        a.start()
        await wait_all_tasks_blocked()
        b.start()
        await advance(60)
        a.cable.refuse = lambda request: True
        await advance(7)
        a.cable.refuse = lambda request: False
        await advance(60)
        assert a.works
        assert not b.works


@virtual_time
async def test_a_process_that_was_paused_may_not_act_before_it_knows() -> None:
    """SIGSTOP for 20 s: its timers have not run, its clock has. The first thing it does may be a write."""
    async with candidates("a", "b") as (a, b):
        a.start()
        await wait_all_tasks_blocked()
        b.start()
        await advance(60)
        # As a paused process looks from outside: nothing of it runs. Its renewal is stopped here without
        # telling its work.
        fenced = Client(FencedTransport(a.cable, a.elector))
        await fenced.create(ConfigMap.named("before", "default"))
        paused_at = asyncio.get_running_loop().time()
        a.cable.cut = True
        while not b.works:
            await advance(0.1)
            assert a.elector.may_act() is (
                asyncio.get_running_loop().time() - a.elector._renewed_at < 15.0 and a.elector.is_leader
            )
        assert asyncio.get_running_loop().time() - paused_at > 13
        assert not a.elector.may_act()
        a.cable.cut = False
        with pytest.raises(WriteRefused):
            await fenced.create(ConfigMap.named("after", "default"))
        assert (await fenced.get(ConfigMap, "before", namespace="default")).name == "before", "reads pass"


@virtual_time
async def test_work_that_ends_releases_the_lease() -> None:
    async with candidates("a") as (a,):

        async def work() -> None:
            await asyncio.sleep(30)

        await a.elector.run(work)
        assert asyncio.get_running_loop().time() == 30
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.holder_identity == ""


@virtual_time
async def test_work_that_fails_is_raised_after_the_release() -> None:
    async with candidates("a") as (a,):

        async def work() -> None:
            raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            await a.elector.run(work)
        assert a.elector.leader == ""


# -- one try (client-go's TestTryAcquireOrRenewLeases) -----------------------------------------------------------------


def lease(holder: str, **spec: Any) -> Lease:
    moment = MicroTime.of(EPOCH - timedelta(days=1))
    fields: dict[str, Any] = {
        "holder_identity": holder,
        "lease_duration_seconds": 15,
        "acquire_time": moment,
        "renew_time": moment,
        "lease_transitions": 3,
        **spec,
    }
    return Lease.named("test", "default", {"kept": "yes"}, spec=LeaseSpec(**fields))


@asynccontextmanager
async def one(present: Lease | None, **options: Any) -> AsyncIterator[Candidate]:
    async with candidates("a", **options) as (a,):
        if present is not None:
            await Client(a.cable.inner).create(present)
        yield a


@virtual_time
async def test_acquires_from_no_object() -> None:
    async with one(None, labels={"mine": "yes"}) as a:
        assert await a.elector._try()
        assert (await lease_of(a)).labels == {"mine": "yes"}


@virtual_time
async def test_acquires_from_an_empty_holder_at_once_and_keeps_its_labels() -> None:
    async with one(lease(""), labels={"mine": "yes"}) as a:
        assert await a.elector._try()
        current_lease = await lease_of(a)
        assert current_lease.spec is not None
        assert current_lease.spec.lease_transitions == 4
        assert current_lease.labels == {"kept": "yes", "mine": "yes"}


@virtual_time
async def test_a_record_that_was_seen_just_now_is_not_stolen_however_old_it_says_it_is() -> None:
    async with one(lease("b")) as a:
        assert not await a.elector._try()
        await advance(14.9)
        assert not await a.elector._try()
        await advance(0.2)
        assert await a.elector._try()


@virtual_time
async def test_the_records_own_duration_counts() -> None:
    async with one(lease("b", lease_duration_seconds=60)) as a:
        assert not await a.elector._try()
        await advance(59)
        assert not await a.elector._try()
        await advance(1.1)
        assert await a.elector._try()


@virtual_time
async def test_any_change_of_the_record_starts_the_clock_anew() -> None:
    async with one(lease("b")) as a:
        await a.elector._try()
        await advance(14)
        current_lease = await lease_of(a)
        assert current_lease.spec is not None
        current_lease.spec.renew_time = MicroTime.of(EPOCH - timedelta(days=2))
        await Client(a.cable.inner).update(current_lease)
        await a.elector._try()
        await advance(14)
        assert not await a.elector._try()


@virtual_time
async def test_a_candidate_with_the_recorded_identity_goes_on_where_it_was() -> None:
    async with one(lease("a")) as a:
        assert await a.elector._try()
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.lease_transitions == 3
        assert spec.acquire_time == MicroTime.of(EPOCH - timedelta(days=1))


@virtual_time
async def test_renewing_needs_no_read_until_it_fails() -> None:
    async with one(None) as a:
        await a.elector._try()
        a.cable.requests.clear()
        await advance(2)
        assert await a.elector._try()
        assert a.cable.requests == ["PATCH test"]
        lease = await lease_of(a)
        lease.labels["touched"] = "yes"
        await Client(a.cable.inner).update(lease)
        a.cable.requests.clear()
        await advance(2)
        assert await a.elector._try()
        assert a.cable.requests == ["PATCH test", "GET test", "PATCH test"]


@virtual_time
async def test_a_lease_that_was_taken_over_is_lost_at_once() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        lease = await lease_of(a)
        assert lease.spec is not None
        lease.spec.holder_identity = "thief"
        await Client(a.cable.inner).update(lease)
        assert a.elector.may_act(), "it can't know yet"
        with pytest.raises(LeadershipLost, match="taken by thief"):
            await a.elector.renew()
        assert not a.elector.may_act()
        await a.elector.release()
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.holder_identity == "thief", "a process that does not lead releases nothing"


@virtual_time
async def test_release_tries_again_after_a_conflict() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        client = Client(a.cable.inner)
        meddled = False

        def meddle(request: Request) -> bool:
            nonlocal meddled
            if request.method == "PATCH" and not meddled:
                meddled = True
                raise TransportError("reset", sent=False)
            return False

        a.cable.refuse = meddle
        await a.elector.release()
        spec = (await client.get(Lease, "test", namespace="default")).spec
        assert spec is not None
        assert spec.holder_identity == ""


@virtual_time
async def test_new_leaders_are_told_of_once_each() -> None:
    calls: list[str] = []
    async with one(lease("b")) as a:
        a.elector._on_new_leader = calls.append
        for _ in range(3):
            await a.elector._try()
        await advance(16)
        await a.elector._try()
        await a.elector._try()
        assert calls == ["b", "a"]


@virtual_time
async def test_the_health_check_fails_only_for_a_leader_that_is_far_past_its_lease() -> None:
    async with one(None) as a:
        assert a.elector.check(20) == ""
        await a.elector.acquire()
        await advance(34)
        assert a.elector.check(20) == ""
        await advance(2)
        assert "failed to renew" in a.elector.check(20)


@virtual_time
async def test_a_leader_outlives_credentials_that_fail_for_a_while() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        inner, failing = InProcessTransport(server.handle), False

        def check(request: Request) -> None:
            if failing:
                raise CredentialsError("exec plugin 'login' ended with exit code 1")

        elector = LeaderElector(Client(Checked(inner, check)), election("a"), now=now, random=Random(0))
        await elector.acquire()
        renewing = asyncio.ensure_future(elector.renew())
        await advance(5)
        failing = True
        await advance(6)
        failing = False
        await advance(20)
        assert not renewing.done()
        failing = True
        with pytest.raises(LeadershipLost):
            await renewing


@virtual_time
async def test_the_lease_says_no_less_than_its_holder_believes() -> None:
    async with ApiServer(now=now, random=Random(0)) as server:
        client = Client(InProcessTransport(server.handle))
        elector = LeaderElector(
            client, election("a", lease_duration=1.4, renew_deadline=1.3, retry_period=0.5), now=now, random=Random(0)
        )
        await elector.acquire()
        spec = (await client.get(Lease, "test")).spec
        assert spec is not None
        assert spec.lease_duration_seconds == 2

"""A candidate's tries for one lease when something comes in between, and their messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from tests.tasks import stop
from tests.transports import Through

from setpoint.client import Client, Request, Response, Transport, TransportError
from setpoint.manager import LeaderElection, LeaderElector, LeadershipLost
from setpoint.manager.leader_election.leader_elector import _copy
from setpoint.meta import decode, raw_of
from setpoint.models.coordination_v1 import Lease
from setpoint.testing import advance, virtual_time

from .test_leader_election import Candidate, lease, lease_of, one


def loop_time() -> float:
    return asyncio.get_running_loop().time()


class Meddled(Through):
    """A transport that lets another client act once, just before a request of some method is sent."""

    def __init__(self, inner: Transport, method: str, act: Callable[[], Any]) -> None:
        super().__init__(inner)
        self.method, self.act = method, act
        self.meddled = False

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        @asynccontextmanager
        async def sending() -> Any:
            if request.method == self.method and not self.meddled:
                self.meddled = True
                await self.act()
            async with self.inner.send(request) as response:
                yield response

        return sending()


def meddle(candidate: Candidate, method: str, act: Callable[[Client], Any]) -> None:
    """``act`` happens once, before the candidate's next request of that method."""
    inner = candidate.cable.inner
    candidate.cable.inner = Meddled(inner, method, lambda: act(Client(inner)))


async def touch(client: Client, **changes: Any) -> None:
    lease = await client.get(Lease, "test", namespace="default")
    assert lease.spec is not None
    for name, value in changes.items():
        setattr(lease.spec, name, value)
    lease.labels["touched"] = "yes"
    await client.update(lease)


def test_times_are_client_go_s_unless_told_otherwise() -> None:
    usual = LeaderElection(name="test", identity="a")
    assert (usual.namespace, usual.labels, usual.release_on_cancel) == ("default", {}, True)
    assert (usual.lease_duration, usual.renew_deadline, usual.retry_period) == (15, 10, 2)
    assert usual.request_timeout == 5
    assert LeaderElection(name="test", identity="a", renew_deadline=1.5, retry_period=0.5).request_timeout == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"lease_duration": 10.0},
            "leader election: lease_duration (10 s) must be greater than renew_deadline (10 s), or two processes could "
            "lead at the same time",
        ),
        (
            {"renew_deadline": 2.4},
            "leader election: renew_deadline (2.4 s) must be greater than retry_period (2 s) times 1.2, and both "
            "greater than 0",
        ),
        (
            {"retry_period": 0.0},
            "leader election: renew_deadline (10 s) must be greater than retry_period (0 s) times 1.2, and both "
            "greater than 0",
        ),
        (
            {"name": "Not A Name"},
            "leader election: name 'Not A Name': a lowercase RFC 1123 subdomain must consist of lower case "
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
        (
            {"identity": ""},
            "leader election: identity must not be empty, and no two candidates may share one",
        ),
        (
            {"lease_duration": 0.5, "renew_deadline": 0.4, "retry_period": 0.1},
            "leader election: lease_duration must be at least 1 s, not 0.5",
        ),
    ],
)
def test_elections_that_would_have_two_leaders_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="leader election") as caught:
        LeaderElection(**{"name": "test", "identity": "a", **options})
    assert str(caught.value) == message


def test_the_shortest_lease_is_a_second() -> None:
    leader_election = LeaderElection(name="test", identity="a", lease_duration=1, renew_deadline=0.9, retry_period=0.1)
    assert leader_election.lease_duration == 1


@virtual_time
async def test_who_creates_the_lease_second_does_not_lead() -> None:
    async with one(None) as a:
        meddle(a, "POST", lambda client: client.create(lease("b")))
        assert not await a.elector._try()
        assert not a.elector.is_leader
        assert not a.elector.may_act()
        assert not await a.elector._try()
        assert a.elector.leader == "b"


@virtual_time
async def test_who_writes_the_lease_second_does_not_lead() -> None:
    async with one(lease("")) as a:
        meddle(a, "PATCH", lambda client: touch(client, holder_identity="b"))
        assert not await a.elector._try()
        assert not a.elector.is_leader
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert (spec.holder_identity, spec.lease_transitions) == ("b", 3)


@virtual_time
async def test_tries_come_a_little_before_each_period_is_over_and_when_the_lease_runs_out() -> None:
    async with one(lease("b", lease_duration_seconds=60)) as a:
        await a.elector._try()
        pauses = [a.elector._pause() for _ in range(200)]
        assert 1.4 <= min(pauses) < 1.42
        assert 1.78 < max(pauses) <= 1.8
        await advance(59.5)
        pauses = [a.elector._pause() for _ in range(200)]
        assert 0.5 <= min(pauses) < 0.51
        assert 0.69 < max(pauses) <= 0.7
        await advance(0.5)
        assert min(a.elector._pause() for _ in range(200)) >= 1.4, "it has run out"


@virtual_time
async def test_a_free_lease_is_tried_for_as_any() -> None:
    async with one(lease("", lease_duration_seconds=1)) as a:
        a.elector._observe(await lease_of(a))
        assert min(a.elector._pause() for _ in range(200)) >= 1.4


@virtual_time
async def test_a_lost_lease_says_why() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        a.cable.refuse = lambda request: True
        with pytest.raises(LeadershipLost) as caught:
            await a.elector.renew()
        assert str(caught.value) == "the lease default/test was not renewed in 10 s: refused"
        assert loop_time() == 10
    async with one(None) as a:
        await a.elector.acquire()
        begun = loop_time()
        a.cable.cut = True
        with pytest.raises(LeadershipLost) as caught:
            await a.elector.renew()
        assert (
            str(caught.value) == "the lease default/test was not renewed in 10 s: the API server did not answer in time"
        )
        assert loop_time() == begun + 10


@virtual_time
async def test_a_lease_that_somebody_emptied_was_taken_by_nobody() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        renewing = asyncio.ensure_future(a.elector.renew())
        await advance(1)
        await touch(Client(a.cable.inner), holder_identity="b")
        with pytest.raises(LeadershipLost) as caught:
            await renewing
        assert str(caught.value) == "the lease default/test was taken by b"
        assert loop_time() == 2


@virtual_time
async def test_the_lease_is_given_back_whole_and_once() -> None:
    async with one(None) as a:
        await a.elector.release()
        assert a.cable.requests == [], "a process that does not lead has nothing to give back"
        await a.elector.acquire()
        await advance(7)
        a.cable.requests.clear()
        await a.elector.release()
        assert a.cable.requests == ["GET test", "PATCH test"]
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("", 1, 0)
        assert spec.renew_time == spec.acquire_time
        assert spec.renew_time is not None
        assert spec.renew_time.timestamp() == a.elector._now().timestamp()
        assert not a.elector.may_act()
        await a.elector.release()
        assert a.cable.requests == ["GET test", "PATCH test"]


@virtual_time
async def test_a_lease_that_changed_while_it_was_given_back_is_given_back_at_once() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        meddle(a, "PATCH", lambda client: touch(client))
        a.cable.requests.clear()
        await a.elector.release()
        assert a.cable.requests == ["GET test", "PATCH test", "GET test", "PATCH test"]
        assert loop_time() == 0
        assert (await lease_of(a)).labels == {"touched": "yes"}
        assert not a.elector.is_leader


@virtual_time
async def test_a_lease_that_others_have_by_now_is_left_to_them() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        await touch(Client(a.cable.inner), holder_identity="b")
        a.cable.requests.clear()
        await a.elector.release()
        assert a.cable.requests == ["GET test"]


@virtual_time
async def test_a_lease_that_is_gone_needs_no_release() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        await Client(a.cable.inner).delete(Lease, "test", namespace="default")
        a.cable.requests.clear()
        await a.elector.release()
        assert a.cable.requests == ["GET test"]
        assert loop_time() == 0


@pytest.mark.parametrize("trouble", ["refused", "silence"])
@virtual_time
async def test_giving_back_is_tried_until_the_deadline_and_never_fails(trouble: str) -> None:
    async with one(None) as a:
        await a.elector.acquire()
        a.cable.requests.clear()
        a.cable.refuse = lambda request: trouble == "refused"
        a.cable.cut = trouble == "silence"
        await a.elector.release()
        # Every two seconds; with silence, five seconds for a request and two until the next.
        assert (loop_time(), len(a.cable.requests)) == ((10, 5) if trouble == "refused" else (14, 2))
        a.cable.cut = False


@virtual_time
async def test_a_request_that_is_lost_is_tried_again_after_a_period() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        failed = False

        def once(request: Request) -> bool:
            nonlocal failed
            failed, before = True, failed
            return not before

        a.cable.refuse = once
        await a.elector.release()
        assert loop_time() == 2
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.holder_identity == ""


@virtual_time
async def test_a_renewal_that_gets_no_answer_is_tried_again_before_the_deadline() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        renewing = asyncio.ensure_future(a.elector.renew())
        a.cable.cut = True
        await advance(2.5)
        a.cable.cut = False
        given_up = 2 + a.elector.election.request_timeout
        await advance(given_up + 2 - loop_time())
        assert a.elector.until == given_up + 2 + a.elector.election.lease_duration
        await stop(renewing)


@virtual_time
async def test_what_work_raises_after_the_lease_was_lost_is_noted() -> None:
    async with one(None) as a:

        async def work() -> None:
            a.cable.refuse = lambda request: True
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise TransportError("and the bucket leaks", sent=False) from None

        with pytest.raises(LeadershipLost) as caught:
            await a.elector.run(work)
        assert caught.value.__notes__ == ["and afterwards TransportError: and the bucket leaks"]


@virtual_time
async def test_health_says_for_how_long_nothing_was_renewed() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        await advance(35)
        assert a.elector.check(20) == ""
        await advance(1)
        assert a.elector.check(20) == "failed to renew the lease for 36 s"
        assert not a.elector.may_act()


# -- to the letter -----------------------------------------------------------------------------------------------------


def elector(candidate: Candidate, answer: list[str] | None = None, **options: Any) -> LeaderElector:
    """Another candidate on the same cable, made as programs make one."""
    options = {"name": "test", "identity": "c", **options}
    return LeaderElector(
        Client(candidate.cable), LeaderElection(**options), on_new_leader=None if answer is None else answer.append
    )


@virtual_time
async def test_a_candidate_that_is_made_with_defaults_knows_of_nothing_and_draws_its_pauses() -> None:
    async with one(None) as a:
        new_elector = elector(a)
        assert new_elector.lease is None
        assert (new_elector.leader, new_elector.is_leader, new_elector.check(0.0)) == ("", False, "")
        assert 1.4 <= new_elector._pause() <= 1.8


@virtual_time
async def test_who_asks_to_be_told_of_leaders_is_told_from_the_start() -> None:
    calls: list[str] = []
    async with one(lease("b")) as a:
        new_elector = elector(a, calls)
        await new_elector._try()
        assert calls == ["b"]
        assert new_elector.lease is not None
        assert new_elector.lease.name == "test"


@virtual_time
async def test_the_lease_is_in_the_namespace_of_the_election() -> None:
    async with one(None) as a:
        new_elector = elector(a, namespace="kube-system")
        await new_elector.acquire()
        client = Client(a.cable.inner)
        assert [item.namespace for item in (await client.list(Lease)).items] == ["kube-system"]
        again = elector(a, namespace="kube-system", identity="d")
        assert not await again._try()
        assert again.leader == "c"
        assert [item.namespace for item in (await client.list(Lease)).items] == ["kube-system"]


@virtual_time
async def test_a_new_lease_says_when_it_was_taken_and_that_it_was_never_handed_over() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("a", 15, 0)
        assert spec.acquire_time is not None
        assert spec.acquire_time == spec.renew_time
        assert spec.acquire_time.timestamp() == a.elector._now().timestamp()


@virtual_time
async def test_a_lease_that_is_taken_over_says_since_when() -> None:
    async with one(lease("b")) as a:
        await a.elector._try()
        await advance(15)
        assert await a.elector._try(), "at the very moment at which it has run out"
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.acquire_time is not None
        assert spec.acquire_time.timestamp() == a.elector._now().timestamp()
        since = spec.acquire_time
        await advance(3)
        assert await a.elector._try()
        spec = (await lease_of(a)).spec
        assert spec is not None
        assert spec.acquire_time == since, "a renewal does not"


@virtual_time
async def test_a_record_without_a_duration_holds_nobody_off() -> None:
    async with one(None) as a:
        a.elector._observe(lease("b", lease_duration_seconds=None))
        assert min(a.elector._pause() for _ in range(200)) >= 1.4
    async with one(lease("b", lease_duration_seconds=None)) as a:
        assert await a.elector._try()


@virtual_time
async def test_a_leader_may_not_act_from_the_moment_on_at_which_others_may_take_over() -> None:
    async with one(None) as a:
        await advance(100)
        await a.elector.acquire()
        await advance(14.75)
        assert a.elector.may_act()
        await advance(0.25)
        assert not a.elector.may_act()
        await advance(20)
        assert a.elector.check(20) == ""
        await advance(1)
        assert a.elector.check(20) == "failed to renew the lease for 36 s"


@virtual_time
async def test_a_process_that_slept_past_its_deadline_says_no_more_than_that() -> None:
    async with one(None) as a:
        with pytest.raises(LeadershipLost) as caught:
            await a.elector.renew()
        assert str(caught.value) == "the lease default/test was not renewed in 10 s"
        a.cable.refuse = lambda request: True
        assert not await a.elector._try()
        a.cable.refuse = lambda request: False
        await a.elector.acquire()
        a.elector._renewed_at -= 60  # as when the machine was suspended
        with pytest.raises(LeadershipLost) as caught:
            await a.elector.renew()
        assert str(caught.value) == "the lease default/test was not renewed in 10 s"


@virtual_time
async def test_a_lease_without_a_holder_that_others_write_was_taken_by_nobody() -> None:
    async with one(None) as a:
        await a.elector.acquire()
        inner = Client(a.cable.inner)

        async def empty(client: Client) -> None:
            await touch(client, holder_identity="")
            meddle(a, "PATCH", lambda client: touch(inner, lease_transitions=9))

        meddle(a, "PATCH", empty)
        with pytest.raises(LeadershipLost) as caught:
            await a.elector.renew()
        assert str(caught.value) == "the lease default/test was taken by another candidate"


@virtual_time
async def test_a_server_that_takes_its_time_is_waited_for() -> None:
    async with one(lease("")) as a:

        async def later() -> None:
            await asyncio.sleep(3)

        a.cable.inner = Meddled(a.cable.inner, "GET", later)
        assert await a.elector._try()
        assert loop_time() == 3


@virtual_time
async def test_what_is_logged_names_the_lease_this_candidate_and_the_leader(caplog: pytest.LogCaptureFixture) -> None:
    async with one(lease("b")) as a:
        await a.elector._try()
        assert a.elector._fields() == {"lease": "default/test", "identity": "a", "leader": "b"}


def test_what_other_versions_keep_in_a_lease_stays_in_it() -> None:
    raw = (
        b'{"metadata":{"name":"test"},"spec":{"holderIdentity":"b","strategy":"OldestEmulationVersion","unheardOf":1}}'
    )
    copied = _copy(decode(Lease, raw))
    assert b'"unheardOf":1' in (raw_of(copied) or b"")
    new_lease = lease("b")
    assert _copy(new_lease).spec == new_lease.spec
    assert _copy(new_lease).name == "test"


class Slow(Through):
    """A transport whose answers come a second after the server has carried the request out."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.sent: list[tuple[str, float]] = []

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        @asynccontextmanager
        async def sending() -> Any:
            self.sent.append((request.method, loop_time()))
            async with self.inner.send(request) as response:
                await asyncio.sleep(1)
                yield response

        return sending()


@pytest.mark.parametrize("present", [None, lease(""), lease("b"), lease("a")], ids=["absent", "free", "dead", "own"])
@virtual_time
async def test_a_lease_that_was_acquired_lasts_from_before_its_request_was_sent(present: Lease | None) -> None:
    async with one(present) as a:
        slow = a.cable.inner = Slow(a.cable.inner)
        await a.elector.acquire()
        sent = [moment for method, moment in slow.sent if method != "GET"][-1]
        assert loop_time() == sent + 1
        assert a.elector.until == sent + 15


@pytest.mark.parametrize("touched", [False, True])
@virtual_time
async def test_a_lease_that_was_renewed_lasts_from_before_its_request_was_sent(touched: bool) -> None:
    async with one(None) as a:
        await a.elector.acquire()
        await advance(2)
        if touched:
            await touch(Client(a.cable.inner))
        slow = a.cable.inner = Slow(a.cable.inner)
        assert await a.elector._try(until=100)
        sent = [moment for method, moment in slow.sent if method != "GET"]
        assert len(sent) == 1 + touched
        assert (loop_time(), a.elector.until) == (sent[-1] + 1, sent[-1] + 15)


@virtual_time
async def test_a_dead_leader_is_replaced_one_lease_duration_after_its_last_change_was_seen() -> None:
    async with one(lease("b")) as a:
        await a.elector.acquire()
        assert 15 <= loop_time() <= 15.2
        assert a.elector.until == loop_time() + 15

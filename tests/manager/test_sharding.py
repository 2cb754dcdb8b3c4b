"""Sharding: no key in two processes, none lost, and soon another owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.controller import Controller
from setpoint.controller.context import Context, current
from setpoint.controller.explain.explanation import explain
from setpoint.manager import FencedTransport, LeaderElection, Manager, Sharding, WriteRefused
from setpoint.manager.sharding.rendezvous_hashing import Members
from setpoint.manager.sharding.shard_lease import ShardLease
from setpoint.meta import ObjectKey
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import ConfigMap, Namespace
from setpoint.testing import advance, run, virtual_time

from .simulated import World, now, world
from .test_lease_tries import Slow


async def settled(world: World, seconds: float = 12) -> None:
    await advance(seconds)
    shares = [process.share for process in world.processes if not process.paused and not process.task.done()]
    assert sum(map(len, shares)) == len(world.keys), [len(share) for share in shares]
    assert set().union(*shares) == set(world.keys)


@virtual_time
async def test_three_processes_share_all_keys_and_have_none_in_common() -> None:
    async with world("a", "b", "c") as new_world:
        await settled(new_world)
        assert all(2 <= len(process.share) <= 16 for process in new_world.processes)
        assert await new_world.behind() == {}
        new_world.begins.clear()
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(5)
        assert await new_world.behind() == {}
        assert {(who, key) for _, who, key in new_world.begins} == {
            (process.name, key) for process in new_world.processes for key in process.share
        }


@virtual_time
async def test_a_member_without_a_controller_that_another_has_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    async with world("a", "b") as new_world:
        a, b = new_world.processes

        async def reconcile(obj: Namespace, ctx: Context) -> None:
            """Nothing to do."""

        a.manager.add(Controller(Namespace, reconcile, name="newer"))
        await settled(new_world, 60)
        fields = [record.fields for record in caplog.records if "all controllers" in record.getMessage()]
        (warning,) = [{name: str(value).partition("@")[0] for name, value in item.items()} for item in fields]
        assert warning == {"group": "default/group", "member": "a", "other": "b", "missing": "newer"}
        reasons = [a.member.elsewhere("newer", ObjectKey(f"namespace-{number}")) for number in range(20)]
        assert {*reasons} == {"", "it is in the shard of b, which has no controller of that name, this process is a"}
        await b.stop()
        await settled(new_world, 60)
        assert not any(a.member.elsewhere("newer", ObjectKey(f"namespace-{number}")) for number in range(20))


@virtual_time
async def test_a_process_that_dies_is_replaced_within_lease_duration_plus_retry_period() -> None:
    async with world("a", "b", "c") as new_world:
        await settled(new_world)
        dead = new_world.processes[0]
        lost = dead.share
        died_at = asyncio.get_running_loop().time()
        dead.kill()
        for key in new_world.keys:
            await new_world.change(key, "2")
        new_world.begins.clear()
        await advance(25)
        assert await new_world.behind() == {}
        taken = {key: at for at, who, key in new_world.begins if key in lost}
        assert set(taken) == lost
        assert min(taken.values()) - died_at >= 13
        assert min(taken.values()) - died_at <= 15 + 2 + 0.2
        assert max(taken.values()) - died_at <= 15 + 2 + 0.2 + 3, "so many at once as there are workers"
        await settled(new_world)


@virtual_time
async def test_a_clean_exit_hands_over_at_once_and_ends_what_is_under_way() -> None:
    async with world("a", "b", seconds=1.0) as new_world:
        await settled(new_world, 40)
        leaving = new_world.processes[0]
        lost = leaving.share
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(0.5)
        assert any(leaving in at for at in new_world.at.values())
        await leaving.stop()
        assert leaving.error is None
        assert not any(leaving in at for at in new_world.at.values())
        await advance(2.1)
        assert lost <= new_world.processes[1].share, "one look later"
        await advance(60)
        assert await new_world.behind() == {}


@virtual_time
async def test_a_newcomer_gets_its_share_when_the_others_have_drained() -> None:
    async with world("a", "b", seconds=2.0) as new_world:
        await settled(new_world, 60)
        before = {process.name: process.share for process in new_world.processes}
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(0.5)
        busy = {key for key, at in new_world.at.items() if at}
        new_world.begins.clear()
        newcomer = new_world.start("c")
        await advance(1)
        assert newcomer.share == set(), "the others have not looked yet, or are not done"
        await settled(new_world, 120)
        assert await new_world.behind() == {}
        for process in new_world.processes[:2]:
            assert process.share <= before[process.name], "nothing moves but to the newcomer"
        assert newcomer.share
        moved_while_busy = busy & newcomer.share
        for key in moved_while_busy:
            assert all(at >= 6 - 0.5 + 60 for at, who, taken in new_world.begins if taken == key and who == "c")


@virtual_time
async def test_a_reconcile_that_takes_too_long_is_cancelled_and_its_key_handed_over() -> None:
    async with world("a", keys=12, seconds=0.1, drain_timeout=3.0) as new_world:
        await settled(new_world)
        new_world.seconds = 1000.0
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(1)
        busy = {key for key, at in new_world.at.items() if at}
        assert len(busy) == 4
        new_world.seconds = 0.1
        new_world.start("b", drain_timeout=3.0)
        await advance(12)
        moved = busy & new_world.processes[1].share
        assert moved
        assert not any(new_world.at[key] for key in moved)
        last = new_world.processes[0].manager.controllers["configmap"].timeline.of(next(iter(moved)))[-1]
        assert (last.result, last.next_in) == ("handed over", None)
        stays = busy - moved
        assert all(new_world.at[key] == [new_world.processes[0]] for key in stays), (
            "what is not wanted elsewhere goes on"
        )
        assert not (await new_world.behind()).keys() & {key.partition("/")[2] for key in new_world.processes[1].share}


@virtual_time
async def test_a_process_whose_network_is_cut_gives_up_its_keys_before_others_take_them_and_comes_back() -> None:
    async with world("a", "b", "c") as new_world:
        await settled(new_world)
        cut = new_world.processes[1]
        lost = cut.share
        cut.cable.cut = True
        cut_at = asyncio.get_running_loop().time()
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(10.1)
        assert cut.share == set()
        assert not any(cut in at for at in new_world.at.values())
        await advance(15)
        assert await new_world.behind() == {}
        taken = [at for at, who, key in new_world.begins if key in lost and at > cut_at and who != "b"]
        assert 10.1 < min(taken) - cut_at <= 17.2
        assert cut.manager.readyz.problems().keys() == {"sharding"}
        cut.cable.cut = False
        await settled(new_world, 15)
        assert cut.share == lost, "the same identity has the same keys"
        assert cut.member.joins == 2
        assert cut.manager.readyz.problems() == {}


@virtual_time
async def test_a_process_that_was_stopped_for_20_s_writes_nothing_that_is_not_its_own() -> None:
    async with world("a", "b", seconds=0.5) as new_world:
        await settled(new_world, 30)
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(0.7)
        stopped = new_world.processes[0]
        held = {key for key, at in new_world.at.items() if stopped in at}
        assert held
        stopped.pause()
        await advance(20)
        assert new_world.processes[1].share == set(new_world.keys)
        for key in held:
            await new_world.change(key, "3")
        await advance(0.2)
        stopped.resume()
        await advance(0.2)
        assert not any(stopped in at for at in new_world.at.values()), "what it had begun was cancelled"
        await settled(new_world, 60)
        assert await new_world.behind() == {}


@virtual_time
async def test_writes_are_refused_from_the_moment_on_at_which_others_may_take_over() -> None:
    """A process that was stopped may write before it looks at the clock."""
    async with world("a", "b") as new_world:
        await settled(new_world)
        member = new_world.processes[0].member
        fenced = Client(FencedTransport(InProcessTransport(new_world.server.handle), member))
        await fenced.create(ConfigMap.named("before", "default"))
        renewed_at = member._lease.renewed_at
        new_world.processes[0].pause()
        await advance(14.9 - (asyncio.get_running_loop().time() - renewed_at))
        assert new_world.processes[1].share != set(new_world.keys)
        await fenced.create(ConfigMap.named("in-time", "default"))
        await advance(0.2)
        with pytest.raises(WriteRefused):
            await fenced.create(ConfigMap.named("after", "default"))
        assert (await fenced.get(ConfigMap, "before", namespace="default")).name == "before", "reads pass"


@virtual_time
async def test_a_reconcile_that_goes_on_after_its_key_was_handed_over_can_not_write() -> None:
    """A thread, or a task that the function has left behind."""
    async with world("a") as new_world:
        await settled(new_world)
        process = new_world.processes[0]
        running = process.manager.controllers["configmap"]
        obj = await new_world.client.get(ConfigMap, "0", namespace="work")
        context = Context(running.env, running.writer, obj)
        token = current.set(context)
        try:
            with pytest.raises(WriteRefused):
                await running.env.client.patch(ConfigMap, "0", {"data": {"x": "y"}}, namespace="work")
        finally:
            current.reset(token)


@virtual_time
async def test_a_process_that_comes_back_just_when_it_is_given_up_is_somebody_else() -> None:
    """The other one has decided, and not yet said so: what it said of the life before must not count."""
    async with world("a", "b") as new_world:
        await settled(new_world)
        a, b = new_world.processes
        b.cable.late = lambda request: 4.0 if request.method == "PATCH" and "/leases/" in request.path else 0.0
        a.cable.refuses = True
        while len(b.member.members) == 2:
            await advance(0.02)
        a.cable.refuses = False
        for _ in range(30):
            for key in new_world.keys[:6]:
                await new_world.change(key, str(asyncio.get_running_loop().time()))
            await advance(0.25)
        b.cable.late = lambda request: 0.0
        await settled(new_world, 20)
        assert a.member.joins == 2


@virtual_time
async def test_a_new_owner_sees_what_the_last_one_wrote_however_late_its_cache_is() -> None:
    async with world("a", "b", keys=8) as new_world:
        await settled(new_world)
        leaving, staying = new_world.processes
        moves = next(iter(leaving.share))
        staying.cable.lag = 7.0
        await new_world.change(moves, "2")
        await advance(0.5)
        assert await new_world.behind() == {}
        await leaving.stop()
        await advance(2.2)
        explanation = explain(staying.manager.controllers["configmap"], moves)
        assert (
            explanation.text
            == "it has come to this process, whose caches are catching up with what others wrote: configmaps"
        )
        await settled(new_world, 60)
        assert await new_world.behind() == {}


@virtual_time
async def test_a_short_cut_or_a_short_stop_moves_nothing() -> None:
    async with world("a", "b") as new_world:
        await settled(new_world)
        before = [process.share for process in new_world.processes]
        new_world.processes[0].cable.cut = True
        await advance(4)
        new_world.processes[0].cable.cut = False
        new_world.processes[1].pause()
        await advance(7)
        new_world.processes[1].resume()
        await settled(new_world)
        assert [process.share for process in new_world.processes] == before
        assert [process.member.joins for process in new_world.processes] == [1, 1]


@virtual_time
async def test_two_processes_with_one_identity_are_never_both_in() -> None:
    async with world("a") as new_world:
        await settled(new_world)
        twin = new_world.start("a")
        await advance(60)
        assert twin.share == set()
        assert "another process holds its Lease" in twin.member.problem()
        assert new_world.processes[0].share == set(new_world.keys)
        await new_world.processes[0].stop()
        await settled(new_world)
        assert twin.share == set(new_world.keys)


@virtual_time
async def test_the_leases_of_the_dead_are_swept_away() -> None:
    async with world("a", "b") as new_world:
        await settled(new_world)
        new_world.processes[0].kill()
        await advance(60)
        (left,) = (await new_world.client.list(Lease, namespace="default")).items
        assert left.name == new_world.processes[1].member.sharding.lease


@virtual_time
async def test_why_a_key_is_not_worked_on_here_is_answered() -> None:
    async with world("a", "b") as new_world:
        await settled(new_world)
        a, b = new_world.processes
        key = next(iter(b.share))
        explanation = explain(a.manager.controllers["configmap"], key)
        assert (explanation.state, explanation.text) == (
            "not in this shard",
            "it is in the shard of b, this process is a",
        )
        assert explain(b.manager.controllers["configmap"], key).state == "idle"
        b.cable.cut = True
        await advance(11)
        explanation = explain(b.manager.controllers["configmap"], key)
        assert explanation.text.startswith(
            "this process (b) has no share of the keys: its Lease was not renewed in 10 s"
        )


EVENTS = ("join", "exit", "kill", "pause", "pause", "resume", "cut", "heal", "change", "change")


@pytest.mark.parametrize("seed", range(5))
def test_whatever_happens_no_key_is_in_two_processes_and_none_is_lost(seed: int) -> None:
    """Joins, exits, kills, stops and cuts at random; the oracle of `World` watches every begin and every write."""

    async def schedule() -> None:
        random = Random(seed)
        async with world(
            "a", "b", "c", keys=12, seconds=random.choice((0.05, 0.4, 2.0)), drain_timeout=4.0
        ) as new_world:
            number = 0
            version = 1
            for _ in range(30):
                await advance(random.choice((0.01, 0.3, 1.0, 3.0, 9.0, 16.0)) * random.random() * 2)
                up = [process for process in new_world.processes if not process.killed and not process.task.done()]
                process = random.choice(up) if up else None
                match random.choice(EVENTS):
                    case "join" if len(up) < 5:
                        number += 1
                        new_world.start(f"n{number}", drain_timeout=4.0)
                    case "exit" if process and len(up) > 1 and not process.paused and not process.cable.cut:
                        await process.stop()
                    case "kill" if process and len(up) > 1:
                        process.kill()
                    case "pause" if process:
                        process.pause()
                    case "resume" if process:
                        process.resume()
                    case "cut" if process:
                        process.cable.cut = True
                    case "heal" if process:
                        process.cable.cut = False
                    case _:
                        version += 1
                        for key in random.sample(new_world.keys, 4):
                            await new_world.change(key, str(version))
            for process in new_world.processes:
                if not process.killed:
                    process.cable.cut = False
                    process.resume()
            await settled(new_world, 90)
            assert await new_world.behind() == {}

    run(schedule())


# -- the parts ---------------------------------------------------------------------------------------------------------

IDENTITIES = st.sets(st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True), min_size=1, max_size=6)


@given(IDENTITIES, st.from_regex(r"[a-z]{1,8}", fullmatch=True))
def test_nothing_moves_but_to_who_comes_and_from_who_goes(identities: set[str], newcomer: str) -> None:
    before = Members(f"{identity}@1" for identity in identities)
    after = Members([*before.ids, f"{newcomer}@7"])
    for number in range(50):
        old, new = before.owner("c", f"default/{number}"), after.owner("c", f"default/{number}")
        assert new in (old, f"{newcomer}@7")
        assert old in before
        assert Members.parse(str(after)).owner("c", f"default/{number}") == new


def test_shares_are_about_equal_and_the_same_everywhere() -> None:
    members = Members(f"pod-{number}@x" for number in range(4))
    owners = [members.owner("widget", f"default/{number}") for number in range(4000)]
    assert all(850 <= owners.count(member) <= 1150 for member in members.ids)
    assert [owner[:5] for owner in owners[:6]] == ["pod-1", "pod-2", "pod-3", "pod-3", "pod-3", "pod-3"], (
        "processes of different versions share keys during an upgrade"
    )
    later = Members(f"pod-{number}@y{number}" for number in range(4))
    assert later.owner("widget", "default/0")[:5] == owners[0][:5], "a process that joins again has its keys again"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"identity": ""}, "identity"),
        ({"identity": "a,b"}, "identity"),
        ({"name": "Not A Name"}, "name"),
        ({"name": "x" * 64}, "63 characters"),
        ({"lease_duration": 5.0}, "lease_duration"),
        ({"drain_timeout": -1.0}, "drain_timeout"),
    ],
)
def test_groups_that_would_not_work_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Sharding(**{"name": "group", "identity": "a", **options})  # type: ignore[arg-type]


@virtual_time
async def test_there_is_an_election_or_there_are_shards() -> None:
    async with world() as new_world:
        with pytest.raises(ValueError, match="not both"):
            Manager(
                new_world.client,
                sharding=Sharding(name="group", identity="a"),
                leader_election=LeaderElection(name="x", identity="a"),
            )


# -- a member's own Lease ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def own_lease(identity: str = "a") -> AsyncIterator[tuple[ShardLease, Slow]]:
    async with ApiServer(now=now, random=Random(0)) as server:
        slow = Slow(InProcessTransport(server.handle))
        sharding = Sharding(name="group", identity=identity, namespace="default")
        yield ShardLease(Client(slow), sharding, now=now, random=Random(identity)), slow


@virtual_time
async def test_a_members_lease_lasts_from_before_its_request_was_sent() -> None:
    async with own_lease() as (own, slow):
        await own.claim()
        (claimed,) = [moment for method, moment in slow.sent if method != "GET"]
        assert own.renewed_at <= claimed
        await advance(2)
        await own.renew(Members((own.member,)))
        renewed = slow.sent[-1][1]
        assert (own.renewed_at, asyncio.get_running_loop().time()) == (renewed, renewed + 1)


@virtual_time
async def test_a_members_lease_that_another_process_left_behind_is_free_after_its_duration_and_not_later() -> None:
    async with own_lease() as (own, slow):
        await own.claim()
        began = asyncio.get_running_loop().time()
        other = ShardLease(Client(slow.inner), own.sharding, now=now, random=Random("another process"))
        await other.claim()
        assert 15 <= other.renewed_at - began <= 15 + own.sharding.retry_period

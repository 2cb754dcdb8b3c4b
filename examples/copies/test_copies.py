"""The tests of copies.py."""

from __future__ import annotations

from typing import Any

from copies import FROM, TO, controllers

import setpoint as sp
from setpoint.models.core_v1 import Namespace, Secret


def team(name: str, **labels: str) -> Namespace:
    return Namespace.named(name, "", labels)


TEAMS = [team("red", team="red"), team("rose", team="red"), team("blue", team="blue")]


def original(value: str, to: str = "team=red") -> Secret:
    return Secret.named("pull", "default", annotations={TO: to} if to else {}, string_data={"token": value})


async def copies(cluster: sp.testing.Cluster) -> dict[str, bytes]:
    """The values of all Secrets of that name, by namespace."""
    return {secret.namespace: secret.data["token"] for secret in await cluster.list(Secret) if secret.name == "pull"}


@sp.testing.virtual_time
async def test_copies_follow_their_original_and_go_with_it() -> None:
    async with sp.testing.cluster(*controllers, objects=TEAMS) as cluster:
        secret = await cluster.apply(original("a"))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"a", "red": b"a", "rose": b"a"}
        await cluster.apply(original("b"))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"b", "red": b"b", "rose": b"b"}
        await cluster.delete(secret)
        await cluster.settle()
        assert await copies(cluster) == {}


@sp.testing.virtual_time
async def test_namespaces_come_and_go_and_change_their_labels() -> None:
    async with sp.testing.cluster(*controllers, objects=TEAMS) as cluster:
        await cluster.apply(original("a"))
        await cluster.settle()
        await cluster.create(team("ruby", team="red"))
        await cluster.apply(team("blue", team="red"))
        await cluster.apply(team("red", team="blue"))
        await cluster.delete(await cluster.get(Namespace, "rose"))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"a", "blue": b"a", "ruby": b"a"}
        await cluster.apply(original("a", to=""))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"a"}


@sp.testing.virtual_time
async def test_a_copy_that_is_changed_or_deleted_is_restored() -> None:
    async with sp.testing.cluster(*controllers, objects=TEAMS) as cluster:
        await cluster.apply(original("a"))
        await cluster.settle()
        copy = await cluster.get(Secret, "pull", "red")
        assert copy.annotations[FROM] == "default/pull"
        copy.data = {"token": b"other", "more": b"x"}
        await cluster.update(copy)
        await cluster.delete(await cluster.get(Secret, "pull", "rose"))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"a", "red": b"a", "rose": b"a"}
        assert "more" not in (await cluster.get(Secret, "pull", "red")).data


@sp.testing.virtual_time
async def test_a_secret_of_others_is_not_touched_and_makes_room_when_it_goes() -> None:
    others = Secret.named("pull", "red", string_data={"token": "theirs"})
    async with sp.testing.cluster(*controllers, objects=[*TEAMS, others]) as cluster:
        await cluster.apply(original("a"))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"a", "red": b"theirs", "rose": b"a"}
        await cluster.delete(await cluster.get(Secret, "pull", "red"))
        await cluster.settle()
        assert await copies(cluster) == {"default": b"a", "red": b"a", "rose": b"a"}


async def scenario(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(original("a"))
    await cluster.settle()
    await cluster.apply(team("blue", team="red"))
    await cluster.apply(original("b"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Secret, "pull"))
    await cluster.settle()
    await cluster.apply(original("c", to="team=blue"))
    await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(
        scenario, lambda: [*controllers], objects=TEAMS, control_plane=False, budget=budget, **options
    )


OLD_LIST = (
    "sp1-eNodzMEKwjAQBNBfCeu1ILRWMecq9CB-QAkS05UGSxKyWzyE_Lurx5l5TAEHGs5tZ93x1B86aCBIwUj8cDF5JE0Og80-ypRA"
    "F3jZbWUCPRV4-zCLzqJtZgGWJRJjUr2kJX6ETfDE5QcbuN2H8TpeBkXoMjKpGf9v-7Stq9q1YEw1tX4Bezsvaw"
)
"""The plan: a restart before the last step, and a first list from before the deletion."""


def test_a_process_that_begins_with_an_old_list_makes_no_copies_of_a_secret_that_is_gone() -> None:
    simulated(sp.simulation.Budget(), workers=0, replay=OLD_LIST)


LATE_COPY = (
    "sp1-eNpNjlEKwjAQRK8S1t-otSVVcpVSJKYrBkMSkpQipXd3EBT_dnZm3u5KljT1qldndemaC0kKWFQu9Wpjclx0sRxMdhFWIr3S3cy-FtLDSk8X"
    "JqTZZP-CbSpEqZxEC_WIC0IDLdkBR7Idx03-Ot5U3n-sb9Fmxk4UxlCLuPmZj2n2XuxOfzTYMUzAqUMD4ChxMOKvbtveRodAiw"
)
"""The plan: the user goes on early, and a request to make a copy is carried out when the original is gone."""


def test_a_copy_that_is_made_after_its_original_has_gone_goes_too() -> None:
    simulated(sp.simulation.Budget(), workers=0, replay=LATE_COPY)


@sp.testing.virtual_time
async def test_copies_without_an_original_are_removed_when_the_operator_starts() -> None:
    orphan = Secret.named("pull", "red", annotations={FROM: "default/pull"}, string_data={"token": "a"})
    asks_no_more = original("b", to="")
    async with sp.testing.cluster(*controllers, objects=[*TEAMS, orphan, asks_no_more]) as cluster:
        await cluster.settle()
        assert await copies(cluster) == {"default": b"b"}

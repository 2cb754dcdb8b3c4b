"""A cluster in a test holds controllers to the role that their declarations ask for."""

from __future__ import annotations

import pytest

import setpoint as sp
from setpoint.client import AlreadyExists, Forbidden
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.testing import MissingPermission, NotSettled, virtual_time


def copier(*, declares: bool, careful: bool = False) -> sp.Controller[ConfigMap]:
    """Makes a Secret for each ConfigMap; it may declare so, and may pass over refusals."""

    async def reconcile(obj: ConfigMap, ctx: sp.Context[ConfigMap]) -> None:
        try:
            await ctx.client.create(Secret.named(obj.metadata.name or "", "default"))
        except AlreadyExists:
            pass
        except Forbidden:
            if not careful:
                raise

    controller = sp.Controller(ConfigMap, reconcile, name="copier")
    if declares:
        controller.needs(Secret, "create")
    return controller


async def run(controller: sp.Controller[ConfigMap]) -> None:
    """One ConfigMap, until all is done."""
    async with sp.testing.cluster(controller, rbac=True) as cluster:
        await cluster.create(ConfigMap.named("a", "default"))
        await cluster.settle()


@virtual_time
async def test_a_declared_permission_is_there() -> None:
    async with sp.testing.cluster(copier(declares=True), rbac=True) as cluster:
        await cluster.create(ConfigMap.named("a", "default"))
        await cluster.settle()
        assert await cluster.find(Secret, "a", "default") is not None
        asked = [each for each in cluster.access.asked if each.resource == "secrets"]
        assert [(each.verb, each.namespace, each.user.name) for each in asked] == [
            ("create", "default", "system:serviceaccount:default:controllers")
        ]


@virtual_time
async def test_a_missing_permission_fails_the_test_and_names_the_line_to_add() -> None:
    with pytest.raises(NotSettled) as refused:
        await run(copier(declares=False))
    said = "\n".join(refused.value.__notes__)
    assert 'create secrets in namespace default: add controller.needs(Secret, "create")' in said


@virtual_time
async def test_a_refusal_that_a_reconcile_passes_over_fails_the_test_as_well() -> None:
    with pytest.raises(MissingPermission, match=r'controller.needs\(Secret, "create"\)'):
        await run(copier(declares=False, careful=True))


@virtual_time
async def test_without_rbac_everything_is_allowed() -> None:
    async with sp.testing.cluster(copier(declares=False), rbac=False) as cluster:
        await cluster.create(ConfigMap.named("a", "default"))
        await cluster.settle()
        assert await cluster.find(Secret, "a", "default") is not None


@virtual_time
async def test_the_role_is_no_object_of_the_cluster() -> None:
    from setpoint.models.rbac_v1 import ClusterRole

    async with sp.testing.cluster(copier(declares=True), rbac=True) as cluster:
        assert not await cluster.list(ClusterRole)

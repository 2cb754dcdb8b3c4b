"""A cluster in a test holds controllers to the role that their declarations ask for."""

from __future__ import annotations

import pytest

import setpoint as sp
from setpoint.client import AlreadyExists, Forbidden
from setpoint.meta import Object
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.models.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef
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


async def run(controller: sp.Controller[ConfigMap], *objects: Object) -> None:
    """One ConfigMap, until all is done."""
    async with sp.testing.cluster(controller, rbac=True, objects=objects) as cluster:
        await cluster.create(ConfigMap.named("a", "default"))
        await cluster.settle()


@virtual_time
async def test_a_declared_permission_is_there() -> None:
    async with sp.testing.cluster(copier(declares=True), rbac=True) as cluster:
        await cluster.create(ConfigMap.named("a", "default"))
        await cluster.settle()
        assert await cluster.find(Secret, "a", "default") is not None
        attributes = [attribute for attribute in cluster.access.attributes if attribute.resource == "secrets"]
        assert [(attribute.verb, attribute.namespace, attribute.user.name) for attribute in attributes] == [
            ("create", "default", "system:serviceaccount:default:controllers")
        ]


@virtual_time
async def test_a_missing_permission_fails_the_test_and_names_the_line_to_add() -> None:
    with pytest.raises(NotSettled) as refused:
        await run(copier(declares=False))
    text = "\n".join(refused.value.__notes__)
    assert 'create secrets in namespace default: add controller.needs(Secret, "create")' in text


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
    async with sp.testing.cluster(copier(declares=True), rbac=True) as cluster:
        roles = {role.name for role in await cluster.list(ClusterRole)}
        assert {name for name in roles if not name.startswith("system:")} == {"admin", "cluster-admin", "edit", "view"}


@virtual_time
async def test_the_roles_for_users_are_there_and_take_up_rules_that_are_meant_for_them() -> None:
    from setpoint.meta import from_wire
    from setpoint.models.rbac_v1 import ClusterRole, PolicyRule

    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    async with sp.testing.cluster() as cluster:
        before = {name: (await cluster.get(ClusterRole, name)).rules for name in ("admin", "edit", "view")}
        assert all(before.values())
        await cluster.create(
            from_wire(ClusterRole, {"metadata": {"name": "things", "labels": labels}, "rules": [rule]})
        )
        await cluster.settle()
        for name, rules in before.items():
            after = (await cluster.get(ClusterRole, name)).rules
            assert [item for item in after if item not in rules] == [from_wire(PolicyRule, rule)]
            assert all(rule in after for rule in rules)


READ = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get"])


def granting(kind: type[RoleBinding | ClusterRoleBinding | Role], **needs: PolicyRule) -> sp.Controller[ConfigMap]:
    """Grants something for each ConfigMap that the controller itself may not do."""

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        if kind is Role:
            await ctx.client.create(Role.named("granted", "default", rules=[READ]))
        else:
            space = "default" if kind is RoleBinding else ""
            reference = RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="reader")
            await ctx.client.create(kind.named("granted", space, role_ref=reference))

    controller = sp.Controller(ConfigMap, reconcile, name="granting").needs(kind, "create")
    for rule in needs.values():
        controller.needs(rule)
    return controller


@pytest.mark.parametrize(
    ("kind", "verb", "resource"),
    [(RoleBinding, "bind", "clusterroles"), (ClusterRoleBinding, "bind", "clusterroles"), (Role, "escalate", "roles")],
)
def test_a_missing_permission_to_grant_permissions_is_named_with_the_line_to_add(
    kind: type[RoleBinding | ClusterRoleBinding | Role], verb: str, resource: str
) -> None:
    group = "rbac.authorization.k8s.io"

    @virtual_time
    async def check() -> None:
        with pytest.raises(NotSettled) as refused:
            await run(granting(kind), ClusterRole.named("reader", rules=[READ]))
        assert "RBAC permissions not currently held: {APIGroups:[" in str(refused.value), "all lines are told"
        text = "\n".join(refused.value.__notes__)
        assert (
            f'add controller.needs(PolicyRule(api_groups=["{group}"], resources=["{resource}"], verbs=["{verb}"]))'
        ) in text
        rule = PolicyRule(api_groups=[group], resources=[resource], verbs=[verb])
        objects = [ClusterRole.named("reader", rules=[READ])]
        async with sp.testing.cluster(granting(kind, needed=rule), objects=objects) as cluster:
            await cluster.create(ConfigMap.named("a", "default"))
            await cluster.settle(failing=True)
            assert await cluster.find(kind, "granted", "default" if kind.resource.namespaced else None) is not None

    check()

"""OwnerReferencesPermissionEnforcement: an owner's deletion is blocked only by those who may update its finalizers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.apiserver.harness import Api
from tests.apiserver.test_access import allow, as_, guarded, rule

from setpoint.apiserver.server import NEEDING_CONTROLLERS
from setpoint.apps.error_reports import UsageError
from setpoint.cli.security_flags import SecurityFlags

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
FINALIZERS = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
)
DELETE = "cannot set an ownerRef on a resource you can't delete: , <nil>"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded(plugins_off=NEEDING_CONTROLLERS) as api:
        yield api


async def owner(api: Api, **changed: Any) -> dict[str, Any]:
    """A reference to a new Secret."""
    secret = (await api.post(SECRETS, {"metadata": {"name": "owner"}})).ok()
    reference = {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": secret["metadata"]["uid"]}
    return {**reference, "blockOwnerDeletion": True, **changed}


def child(*owners: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "child", "ownerReferences": list(owners)}, **more}


async def refusal(api: Api, who: str, method: str, path: str, body: dict[str, Any]) -> str:
    answer = await as_(api, who, method, path, body)
    return str(answer.failed(403, "Forbidden")["message"]).removeprefix('configmaps "child" is forbidden: ')


async def test_only_who_may_update_an_owners_finalizers_lets_its_deletion_wait(api: Api) -> None:
    reference = await owner(api)
    await allow(api, "jane", rule("create", "configmaps"))
    await allow(api, "mary", rule("create", "configmaps"), rule("update", "secrets/finalizers"))
    assert await refusal(api, "jane", "POST", MAPS, child(reference)) == FINALIZERS
    (await as_(api, "mary", "POST", MAPS, child(reference))).ok()


async def test_a_reference_that_does_not_block_needs_no_right(api: Api) -> None:
    await allow(api, "jane", rule("create", "configmaps"))
    (await as_(api, "jane", "POST", MAPS, child(await owner(api, blockOwnerDeletion=False)))).ok()


async def test_a_change_of_references_needs_the_right_to_delete_the_object(api: Api) -> None:
    reference = await owner(api, blockOwnerDeletion=False)
    (await api.post(MAPS, child())).ok()
    await allow(api, "jane", rule("update", "configmaps"))
    await allow(api, "mary", rule("update delete", "configmaps"))
    assert await refusal(api, "jane", "PUT", f"{MAPS}/child", child(reference)) == DELETE
    (await as_(api, "mary", "PUT", f"{MAPS}/child", child(reference))).ok()
    (await as_(api, "jane", "PUT", f"{MAPS}/child", child(reference, data={"a": "b"}))).ok()  # the same references


async def test_a_reference_that_blocks_already_needs_no_right_to_finalizers(api: Api) -> None:
    reference = await owner(api)
    (await api.post(MAPS, child(reference))).ok()
    await allow(api, "mary", rule("update delete", "configmaps"))
    (await as_(api, "mary", "PUT", f"{MAPS}/child", child({**reference, "controller": True}))).ok()
    (await api.put(f"{MAPS}/child", child({**reference, "blockOwnerDeletion": False}))).ok()
    assert await refusal(api, "mary", "PUT", f"{MAPS}/child", child(reference)) == FINALIZERS


async def test_an_owner_of_a_kind_that_is_not_served_can_not_block(api: Api) -> None:
    await allow(api, "jane", rule("create", "configmaps"))
    reference = await owner(api, apiVersion="example.com/v1", kind="None")
    assert await refusal(api, "jane", "POST", MAPS, child(reference)) == (
        "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind "
        'None: no matches for kind "None" in version "example.com/v1"'
    )


async def test_the_plugin_is_off_by_default() -> None:
    async with guarded() as api:
        await allow(api, "jane", rule("create", "configmaps"))
        (await as_(api, "jane", "POST", MAPS, child(await owner(api)))).ok()


def test_a_plugin_that_can_not_be_turned_on_is_named() -> None:
    flags = SecurityFlags(auth=True, enable_admission_plugins=("AlwaysDeny",))
    with pytest.raises(UsageError, match="--enable-admission-plugins AlwaysDeny: "):
        flags.security()
    with pytest.raises(UsageError, match="without --auth"):
        SecurityFlags(enable_admission_plugins=("OwnerReferencesPermissionEnforcement",)).security()

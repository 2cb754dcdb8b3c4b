"""The table of fields and kinds against what a whole API server has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from setpoint.client import Client, dynamic
from setpoint.meta import GroupVersionKind
from setpoint.models import BUILTIN, UnknownKindError, definition_name, kind_for
from setpoint.models.history import NEWEST, OLDEST, is_known_kind, missing_fields, schemas_of


async def _definitions(client: Client) -> dict[str, Any]:
    document = json.loads(await client.request("GET", "/openapi/v2"))
    definitions: dict[str, Any] = document["definitions"]
    return definitions


async def test_a_server_knows_the_kinds_and_fields_that_the_table_says(
    client: Client, version: tuple[int, int]
) -> None:
    minor = version[1]
    if not OLDEST <= minor <= NEWEST:
        pytest.skip(f"setpoint has no table of 1.{minor} to compare with: it is for 1.{OLDEST} to 1.{NEWEST}")
    definitions = await _definitions(client)
    compared = 0
    for resource in BUILTIN:
        name = definition_name(resource.gvk)
        if not is_known_kind(resource.gvk, minor):
            assert name not in definitions, f"{name} is in 1.{minor}"
        if name not in definitions:
            continue  # a kind in a version that is off by default
        for own in _reachable(definitions, name):
            ours = schemas_of(minor).get(own)
            if ours is None or "properties" not in ours:
                continue
            theirs = definitions[own].get("properties", {}).keys()
            # A field that is off by default is in the server's document, but not among ours.
            assert ours["properties"].keys() <= theirs, f"{own}: {sorted(ours['properties'].keys() - theirs)}"
            compared += 1
    assert compared > 400


def _reachable(definitions: dict[str, Any], name: str) -> set[str]:
    reached: set[str] = set()
    wanted = [name]
    while wanted:
        if (one := wanted.pop()) not in reached:
            reached.add(one)
            wanted += [part.split('"')[0] for part in json.dumps(definitions[one]).split('"#/definitions/')[1:]]
    return reached


async def test_a_server_keeps_of_a_pod_what_the_table_says(
    client: Client, namespace: str, version: tuple[int, int]
) -> None:
    minor = version[1]
    if not OLDEST <= minor <= NEWEST:
        pytest.skip(f"setpoint has no table of 1.{minor} to compare with: it is for 1.{OLDEST} to 1.{NEWEST}")
    spec: dict[str, Any] = {
        "containers": [
            {"name": "a", "image": "a", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}
        ],
        "hostUsers": False,
        "hostnameOverride": "web",
        "resources": {"limits": {"cpu": "1"}},
        "securityContext": {"supplementalGroupsPolicy": "Merge", "seLinuxChangePolicy": "Recursive"},
    }
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": namespace}, "spec": spec}
    body = json.dumps(document).encode()
    path = f"/api/v1/namespaces/{namespace}/pods"
    answer = json.loads(await client.request("POST", path, body=body, query=(("dryRun", "All"),)))
    missing = {clause.partition(" ")[0] for clause in missing_fields(document, minor)}
    for field in (
        "spec.containers[0].resizePolicy",
        "spec.hostUsers",
        "spec.hostnameOverride",
        "spec.resources",
        "spec.securityContext.supplementalGroupsPolicy",
        "spec.securityContext.seLinuxChangePolicy",
    ):
        value: Any = answer
        for part in field.replace("[0]", "").split("."):
            value = value[0] if isinstance(value, list) else value
            value = value.get(part)
            if value is None:
                break
        assert (value is None) is (field in missing), f"{field}: {value!r}"


async def test_a_kind_that_only_older_servers_have_is_reached_as_a_dynamic_object(
    client: Client, version: tuple[int, int]
) -> None:
    gvk = GroupVersionKind("flowcontrol.apiserver.k8s.io", "v1beta3", "FlowSchema")
    with pytest.raises(UnknownKindError, match=r"clusters up to 1\.31 have it"):
        kind_for(gvk)
    if version > (1, 31):
        pytest.skip(f"Kubernetes removed the kind after 1.31, and this server is {version[0]}.{version[1]}")
    kind = dynamic(await client.rest_mapper.for_kind(gvk))
    assert (await client.get(kind, "catch-all"))["spec"]["priorityLevelConfiguration"]["name"] == "catch-all"

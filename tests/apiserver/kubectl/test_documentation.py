"""kubectl's descriptions of the server: resources, documentation, versions, permissions."""

from __future__ import annotations

from .conftest import Kubectl, mykind


async def test_resources_are_listed_with_their_short_names(custom: Kubectl) -> None:
    listed = (await custom("api-resources", "--no-headers")).lines
    rows = {(row[-1], row[-3]): row for row in map(str.split, listed)}
    assert rows["Pod", "v1"] == ["pods", "po", "v1", "true", "Pod"]
    assert rows["Deployment", "apps/v1"] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    assert rows["Namespace", "v1"] == ["namespaces", "ns", "v1", "false", "Namespace"]
    assert rows["Mykind", "grp.example.com/v1alpha1"][:2] == ["mykinds", "mk"]
    names = await custom("api-resources", "--categories=all", "-o", "name")
    assert {"pods", "deployments.apps", "mykinds.grp.example.com"} <= set(names.lines)
    writable = await custom("api-resources", "--api-group=grp.example.com", "--verbs=list,patch", "-o", "name")
    assert writable.out == "mykinds.grp.example.com"
    versions = (await custom("api-versions")).lines
    assert {"v1", "apps/v1", "grp.example.com/v1alpha1", "apiextensions.k8s.io/v1"} <= set(versions)
    assert versions == sorted(versions)


async def test_a_removed_definition_takes_its_resource_with_it(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=mykind("m", numpods=1))
    await custom("delete", "crd", "mykinds.grp.example.com")
    assert "mykinds" not in (await custom("api-resources", "--cached=false", "-o", "name")).out
    assert "grp.example.com/v1alpha1" not in (await custom("api-versions")).lines


async def test_built_in_kinds_are_explained(kubectl: Kubectl) -> None:
    described = await kubectl("explain", "pod.spec.containers.ports")
    assert described.lines[:4] == ["KIND:       Pod", "VERSION:    v1", "", "FIELD: ports <[]ContainerPort>"]
    assert "  containerPort\t<integer> -required-" in described.lines
    policy = await kubectl("explain", "pod.spec.containers.imagePullPolicy")
    assert "ENUM:\n    Always\n    IfNotPresent\n    Never" in policy.out
    assert "Possible enum values:" in policy.out
    recursive = await kubectl("explain", "deployments", "--recursive")
    assert recursive.lines[0] == "GROUP:      apps"
    assert "    strategy\t<DeploymentStrategy>" in recursive.lines
    assert "        maxSurge\t<IntOrString>" in recursive.lines
    older = await kubectl("explain", "hpa", "--api-version=autoscaling/v1")
    assert "VERSION:    v1" in older.lines
    unknown = await kubectl("explain", "pod.spec.colour", fails=True)
    assert unknown.err == 'error: field "colour" does not exist'


async def test_custom_kinds_are_explained(custom: Kubectl) -> None:
    described = await custom("explain", "mykind")
    assert described.lines[:3] == ["GROUP:      grp.example.com", "KIND:       Mykind", "VERSION:    v1alpha1"]
    assert "    Mykind keeps pods running." in described.lines
    assert "  metadata\t<ObjectMeta>" in described.lines
    spec = await custom("explain", "mk.spec")
    assert "  numpods\t<integer> -required-" in spec.lines
    assert "    How many pods to run." in spec.lines
    recursive = await custom("explain", "mk", "--recursive")
    assert "      size\t<integer>" in recursive.lines


async def test_versions_and_addresses(kubectl: Kubectl) -> None:
    version = (await kubectl("version", "-o", "json")).json
    assert version["serverVersion"]["gitVersion"].startswith("v1.37.")
    info = await kubectl("cluster-info")
    assert kubectl.url in info.out


async def test_permissions_can_be_asked_for(kubectl: Kubectl) -> None:
    me = (await kubectl("auth", "whoami", "-o", "json")).json["status"]["userInfo"]
    assert me["username"]
    assert "system:masters" in me["groups"]
    assert (await kubectl("auth", "can-i", "create", "deployments")).out == "yes"
    assert (await kubectl("auth", "can-i", "*", "*", "--all-namespaces")).out == "yes"

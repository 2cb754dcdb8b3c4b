from __future__ import annotations

import json

from .conftest import Kubectl, config_map, deployment, mykind

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


async def test_apply_creates_then_changes_then_leaves_alone(kubectl: Kubectl) -> None:
    assert (await kubectl("apply", "-f", "-", stdin=config_map("a", x="1", y="2"))).out == "configmap/a created"
    assert (await kubectl("apply", "-f", "-", stdin=config_map("a", x="1", y="2"))).out == "configmap/a unchanged"
    assert (await kubectl("apply", "-f", "-", stdin=config_map("a", x="3"))).out == "configmap/a configured"
    stored = await kubectl.get("configmap", "a")
    assert stored["data"] == {"x": "3"}, "a field that left the manifest leaves the object"
    applied = json.loads(stored["metadata"]["annotations"][LAST_APPLIED])
    assert applied["data"] == {"x": "3"}


async def test_apply_keeps_what_others_added_and_merges_lists_by_their_keys(kubectl: Kubectl) -> None:
    web = deployment("web")
    await kubectl("apply", "-f", "-", stdin=web)
    sidecar = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "envoy:1"}]}}}}
    await kubectl("patch", "deployment", "web", "--type=strategic", "-p", json.dumps(sidecar))
    await kubectl("scale", "deployment", "web", "--replicas=5")
    del web["spec"]["replicas"]
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    assert (await kubectl("apply", "-f", "-", stdin=web)).out == "deployment.apps/web configured"
    spec = (await kubectl.get("deployment", "web"))["spec"]
    images = {item["name"]: item["image"] for item in spec["template"]["spec"]["containers"]}
    assert images == {"main": "nginx:2", "side": "envoy:1"}
    assert spec["replicas"] == 1, "replicas left the manifest, so the default is back"


async def test_apply_of_custom_resources_uses_merge_patches(custom: Kubectl) -> None:
    assert (await custom("apply", "-f", "-", stdin=mykind("m", numpods=1, note="hi"))).out == (
        "mykind.grp.example.com/m created"
    )
    assert (await custom("apply", "-f", "-", stdin=mykind("m", numpods=2))).out == (
        "mykind.grp.example.com/m configured"
    )
    assert (await custom.get("mykind", "m"))["spec"] == {"numpods": 2, "note": "none"}


async def test_apply_prunes_objects_that_left_the_set(kubectl: Kubectl) -> None:
    labelled = [config_map(name) for name in ("a", "b")]
    for item in labelled:
        item["metadata"]["labels"] = {"set": "one"}
        item["data"] = {"key": "value"}  # an empty map is forgotten, so that apply would set it again each time
    await kubectl("apply", "-f", "-", stdin=labelled)
    pruned = await kubectl(
        "apply", "-f", "-", "--prune", "-l", "set=one", "--prune-allowlist=core/v1/ConfigMap", stdin=labelled[:1]
    )
    assert pruned.lines == ["configmap/a unchanged", "configmap/b pruned"]
    assert (await kubectl("get", "configmap", "-l", "set=one", "-o", "name")).out == "configmap/a"


async def test_server_side_apply_owns_fields_and_refuses_to_take_those_of_others(kubectl: Kubectl) -> None:
    web = deployment("web", replicas=2)
    applied = await kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=web)
    assert applied.out == "deployment.apps/web serverside-applied"
    web["spec"]["replicas"] = 3
    refused = await kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=web, fails=True)
    assert refused.err.startswith('error: Apply failed with 1 conflict: conflict with "one": .spec.replicas\n')
    assert (await kubectl.get("deployment", "web"))["spec"]["replicas"] == 2
    await kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-", stdin=web)
    stored = await kubectl.get("deployment", "web", "--show-managed-fields")
    assert stored["spec"]["replicas"] == 3
    owners = {
        entry["manager"]
        for entry in stored["metadata"]["managedFields"]
        if entry["operation"] == "Apply" and "f:replicas" in entry["fieldsV1"]["f:spec"]
    }
    assert owners == {"two"}


async def test_server_side_apply_removes_what_its_manager_no_longer_wants(custom: Kubectl) -> None:
    parts = [{"name": "a", "size": 1}, {"name": "b", "size": 2}]
    await custom("apply", "--server-side", "-f", "-", stdin=mykind("m", numpods=1, parts=parts))
    await custom(
        "apply",
        "--server-side",
        "--field-manager=other",
        "-f",
        "-",
        stdin=mykind("m", numpods=1, parts=[{"name": "c"}]),
    )
    await custom("apply", "--server-side", "-f", "-", stdin=mykind("m", numpods=1, parts=parts[:1]))
    stored = await custom.get("mykind", "m")
    assert stored["spec"]["parts"] == [{"name": "a", "size": 1}, {"name": "c"}]


async def test_client_side_apply_can_be_taken_over_by_server_side_apply(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=config_map("a", x="1", y="2"))
    await kubectl("apply", "--server-side", "-f", "-", stdin=config_map("a", x="3"))
    assert (await kubectl.get("configmap", "a"))["data"] == {"x": "3"}


async def test_unknown_fields_are_refused_with_their_path(custom: Kubectl) -> None:
    misspelt = config_map("a")
    misspelt["dta"] = {"x": "1"}
    refused = await custom("apply", "-f", "-", stdin=misspelt, fails=True)
    assert refused.err == (
        'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a '
        'ConfigMap: strict decoding error: unknown field "dta"'
    )
    web = deployment("web")
    web["spec"]["template"]["spec"]["containers"][0]["imag"] = "x"
    refused = await custom("create", "-f", "-", stdin=web, fails=True)
    assert 'strict decoding error: unknown field "spec.template.spec.containers[0].imag"' in refused.err
    refused = await custom("apply", "-f", "-", stdin=mykind("m", numpods=1, numpod=2), fails=True)
    assert refused.err == (
        'Error from server (BadRequest): error when creating "STDIN": Mykind in version "v1alpha1" cannot be handled '
        'as a Mykind: strict decoding error: unknown field "spec.numpod"'
    )
    warned = await custom("apply", "--validate=warn", "-f", "-", stdin=misspelt)
    assert (warned.out, warned.err) == ("configmap/a created", 'Warning: unknown field "dta"')
    ignored = await custom("create", "--validate=ignore", "-f", "-", stdin=mykind("m", numpods=1, numpod=2))
    assert (ignored.out, ignored.err) == ("mykind.grp.example.com/m created", "")
    assert "numpod" not in (await custom.get("mykind", "m"))["spec"]


async def test_values_that_do_not_fit_are_refused_with_their_path(custom: Kubectl) -> None:
    refused = await custom("apply", "-f", "-", stdin=mykind("m", numpods=-1), fails=True)
    assert refused.err == (
        'The Mykind "m" is invalid: \n'
        "* spec.numpods: Invalid value: -1: spec.numpods in body should be greater than or equal to 0\n"
        "* .spec.numpods: Invalid value: -1: should be a non-negative integer"
    )
    refused = await custom("apply", "-f", "-", stdin=mykind("m"), fails=True)
    assert refused.err == 'The Mykind "m" is invalid: spec.numpods: Required value'
    refused = await custom("create", "configmap", "Not_A_Name", fails=True)
    assert refused.err.startswith(
        'error: failed to create configmap: ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: '
    )
    refused = await custom("apply", "-n", "nowhere", "-f", "-", stdin=config_map("a"), fails=True)
    assert refused.err == 'Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found'


async def test_dry_runs_answer_like_the_real_thing_and_store_nothing(kubectl: Kubectl) -> None:
    new_kubectl = await kubectl("create", "-f", "-", "--dry-run=server", stdin=config_map("a"))
    assert new_kubectl.out == "configmap/a created (server dry run)"
    applied = await kubectl("apply", "-f", "-", "--dry-run=server", "-o", "json", stdin=deployment("web"))
    assert applied.json["metadata"]["uid"]
    assert applied.json["spec"]["strategy"]["type"] == "RollingUpdate", "a dry run defaults as well"
    missing = await kubectl("get", "configmap/a", "deployment/web", fails=True)
    assert missing.err.splitlines() == [
        'Error from server (NotFound): configmaps "a" not found',
        'Error from server (NotFound): deployments.apps "web" not found',
    ]


async def test_diff_shows_what_apply_would_change(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=config_map("a", x="1"))
    assert (await kubectl("diff", "-f", "-", stdin=config_map("a", x="1"))).out == ""
    changed = await kubectl("diff", "-f", "-", stdin=config_map("a", x="2"), fails=True)
    assert changed.code == 1
    assert '-  x: "1"' in changed.lines
    assert '+  x: "2"' in changed.lines
    assert (await kubectl.get("configmap", "a"))["data"] == {"x": "1"}
    changed = await kubectl("diff", "--server-side", "-f", "-", stdin=config_map("b", x="2"), fails=True)
    assert changed.code == 1


async def test_replace_swaps_the_whole_object_and_minds_its_version(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=config_map("a", x="1", y="2"))
    stored = await kubectl.get("configmap", "a")
    assert (await kubectl("replace", "-f", "-", stdin=config_map("a", z="3"))).out == "configmap/a replaced"
    assert (await kubectl.get("configmap", "a"))["data"] == {"z": "3"}
    stored["data"] = {}
    refused = await kubectl("replace", "-f", "-", stdin=stored, fails=True)
    assert refused.err == (
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "a": '
        "the object has been modified; please apply your changes to the latest version and try again"
    )
    assert (await kubectl("replace", "--force", "-f", "-", stdin=config_map("a"))).lines[-1] == "configmap/a replaced"

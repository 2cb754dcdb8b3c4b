"""patch, edit, scale, label, annotate, set, rollout."""

from __future__ import annotations

import json
import sys

from .conftest import Kubectl, config_map, deployment, mykind


async def test_patches_of_all_types(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=[deployment("web"), config_map("a", x="1"), mykind("m", numpods=1)])
    strategic = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}}
    assert (await custom("patch", "deploy", "web", "-p", json.dumps(strategic))).out == "deployment.apps/web patched"
    containers = (await custom.get("deploy", "web"))["spec"]["template"]["spec"]["containers"]
    assert [(item["name"], item["image"]) for item in containers] == [("main", "nginx:2")]
    merge = await custom("patch", "cm", "a", "--type=merge", "-p", '{"data":{"x":null,"y":"2"}}')
    assert merge.out == "configmap/a patched"
    operations = [{"op": "test", "path": "/data/y", "value": "2"}, {"op": "add", "path": "/data/z", "value": "3"}]
    await custom("patch", "cm", "a", "--type=json", "-p", json.dumps(operations))
    assert (await custom.get("cm", "a"))["data"] == {"y": "2", "z": "3"}
    unchanged = await custom("patch", "cm", "a", "--type=merge", "-p", '{"data":{"y":"2"}}')
    assert unchanged.out == "configmap/a patched (no change)"
    assert (await custom("patch", "mk", "m", "--type=merge", "-p", '{"spec":{"numpods":4}}')).out == (
        "mykind.grp.example.com/m patched"
    )


async def test_patches_that_do_not_fit_are_refused(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=[config_map("a", x="1"), mykind("m", numpods=1)])
    failed = '[{"op":"test","path":"/data/x","value":"2"}]'
    refused = await custom("patch", "cm", "a", "--type=json", "-p", failed, fails=True)
    assert refused.err.startswith(
        "The request is invalid: the server rejected our request due to an error in our request"
    )
    refused = await custom("patch", "mk", "m", "-p", '{"spec":{"numpods":4}}', fails=True)
    assert refused.err == (
        "error: application/strategic-merge-patch+json is not supported by grp.example.com/v1alpha1, Kind=Mykind: "
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )
    refused = await custom("patch", "mk", "m", "--type=merge", "-p", '{"spec":{"numpods":"many"}}', fails=True)
    assert refused.err == (
        'The Mykind "m" is invalid: \n'
        '* spec.numpods: Invalid value: "string": spec.numpods in body must be of type integer: "string"\n'
        "* .spec.numpods: Invalid value: 0: .spec.numpods accessor error: many is of the type string, expected int64"
    )
    refused = await custom("patch", "cm", "gone", "--type=merge", "-p", "{}", fails=True)
    assert refused.err == 'Error from server (NotFound): configmaps "gone" not found'


async def test_edit_sends_what_the_editor_left(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=[deployment("web"), config_map("a", x="1")])
    editor = kubectl.home / "editor.py"
    editor.write_text(
        "import os, pathlib, sys\n"
        "path = pathlib.Path(sys.argv[-1])\n"
        "path.write_text(path.read_text().replace(os.environ['FROM'], os.environ['TO']))\n"
    )
    command = f"{sys.executable} {editor}"
    edited = await kubectl("edit", "deployment", "web", EDITOR=command, FROM="replicas: 2", TO="replicas: 7")
    assert edited.out == "deployment.apps/web edited"
    assert (await kubectl.get("deployment", "web"))["spec"]["replicas"] == 7
    same = await kubectl("edit", "configmap", "a", EDITOR=command, FROM="x", TO="x")
    assert same.err == "Edit cancelled, no changes made."


async def test_scale_changes_replicas_and_minds_what_is_there(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=[deployment("web", replicas=2), mykind("m", numpods=1)])
    assert (await custom("scale", "deployment/web", "--replicas=4")).out == "deployment.apps/web scaled"
    assert (await custom.get("deployment", "web"))["spec"]["replicas"] == 4
    refused = await custom("scale", "deployment/web", "--replicas=1", "--current-replicas=2", fails=True)
    assert "Expected replicas to be 2, was 4" in refused.err
    assert (await custom("scale", "mk/m", "--replicas=3")).out == "mykind.grp.example.com/m scaled"
    assert (await custom.get("mk", "m"))["spec"]["numpods"] == 3
    shown = await custom("get", "deployment", "web", "--subresource=scale")
    assert shown.rows[0] == ["NAME", "DESIRED", "AVAILABLE", "AGE"]
    assert shown.rows[1][:3] == ["web", "4", "0"]


async def test_labels_and_annotations_are_set_and_removed(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "a")
    assert (await kubectl("label", "cm", "a", "app=web")).out == "configmap/a labeled"
    refused = await kubectl("label", "cm", "a", "app=db", fails=True)
    assert "'app' already has a value (web), and --overwrite is false" in refused.err
    assert (await kubectl("label", "cm", "a", "app=db", "--overwrite")).out == "configmap/a labeled"
    assert (await kubectl("annotate", "cm", "a", "note=hi there")).out == "configmap/a annotated"
    metadata = (await kubectl.get("cm", "a"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"app": "db"}, {"note": "hi there"})
    assert (await kubectl("label", "cm", "a", "app-")).out == "configmap/a unlabeled"
    assert (await kubectl("annotate", "cm", "a", "note-")).out == "configmap/a annotated"
    metadata = (await kubectl.get("cm", "a"))["metadata"]
    assert "labels" not in metadata
    assert "annotations" not in metadata


async def test_status_is_changed_through_its_subresource_only(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=deployment("web"))
    status = {"status": {"readyReplicas": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}}
    await kubectl("patch", "deployment", "web", "--type=merge", "-p", json.dumps(status))
    assert "readyReplicas" not in (await kubectl.get("deployment", "web")).get("status", {})
    await kubectl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    web = await kubectl.get("deployment", "web")
    assert (web["status"]["readyReplicas"], web["metadata"]["generation"]) == (2, 1)
    assert (await kubectl("get", "deployment", "web")).rows[1][:4] == ["web", "2/2", "2", "2"]


async def test_rollout_follows_a_deployments_status(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=deployment("web"))
    async with kubectl.start("rollout", "status", "deployment/web", "--timeout=20s") as rollout:
        assert rollout.stdout is not None
        assert (await rollout.stdout.readline()).decode().startswith("Waiting for deployment")
        counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), 2)
        status = json.dumps({"status": {"observedGeneration": 1, **counts}})
        await kubectl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", status)
        out, _ = await rollout.communicate()
    assert out.decode().splitlines()[-1] == 'deployment "web" successfully rolled out'
    assert (await kubectl("set", "image", "deployment/web", "main=nginx:3")).out == "deployment.apps/web image updated"
    assert (await kubectl("rollout", "restart", "deployment/web")).out == "deployment.apps/web restarted"
    assert (await kubectl.get("deployment", "web"))["metadata"]["generation"] == 3

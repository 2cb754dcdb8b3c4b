from __future__ import annotations

import json

import yaml

from .conftest import Kubectl, config_map, deployment, mykind, pod


async def test_tables_have_the_columns_that_people_know(kubectl: Kubectl) -> None:
    await kubectl("create", "-f", "-", stdin=[deployment("web"), config_map("settings", a="1", b="2"), pod("p")])
    assert (await kubectl("get", "deployments")).rows[0] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert (await kubectl("get", "deploy", "web")).rows[1][:4] == ["web", "0/2", "0", "0"]
    wide = await kubectl("get", "deploy", "web", "-o", "wide")
    assert wide.rows[0][5:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert wide.rows[1][5:] == ["main", "nginx:1", "app=web"]
    assert (await kubectl("get", "cm", "settings", "--no-headers")).rows[0][:2] == ["settings", "2"]
    pods = await kubectl("get", "pods", "-o", "wide")
    assert pods.rows[0] == [
        "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES",
    ]  # fmt: skip
    assert pods.rows[1][:4] == ["p", "0/1", "Pending", "0"]
    assert pods.rows[1][5:] == ["<none>"] * 4
    assert (await kubectl("get", "ns")).rows[:2][1][:2] == ["default", "Active"]
    labelled = await kubectl("get", "pods", "--show-labels", "-L", "app")
    assert labelled.rows[0][-2:] == ["APP", "LABELS"]


async def test_nothing_found_is_said_plainly(kubectl: Kubectl) -> None:
    nothing = await kubectl("get", "pods")
    assert (nothing.out, nothing.err) == ("", "No resources found in default namespace.")
    assert (await kubectl("get", "nodes")).err == "No resources found"
    missing = await kubectl("get", "pod", "x", fails=True)
    assert missing.err == 'Error from server (NotFound): pods "x" not found'
    assert (await kubectl("get", "pod", "x", "--ignore-not-found")).out == ""
    unknown = await kubectl("get", "unicorns", fails=True)
    assert unknown.err == 'error: the server doesn\'t have a resource type "unicorns"'


async def test_objects_are_printed_in_every_form(kubectl: Kubectl) -> None:
    await kubectl("create", "configmap", "a", "--from-literal=x=1")
    as_json = (await kubectl("get", "cm", "a", "-o", "json")).json
    assert yaml.safe_load((await kubectl("get", "cm", "a", "-o", "yaml")).out) == as_json
    assert (as_json["apiVersion"], as_json["kind"]) == ("v1", "ConfigMap")
    assert (await kubectl("get", "cm", "a", "-o", "name")).out == "configmap/a"
    assert (await kubectl("get", "cm", "a", "-o", "jsonpath={.data.x}")).out == "1"
    columns = await kubectl("get", "cm", "a", "-o", "custom-columns=WHO:.metadata.name,X:.data.x")
    assert columns.rows == [["WHO", "X"], ["a", "1"]]
    assert (await kubectl("get", "cm", "a", "-o", "go-template={{.data.x}}")).out == "1"
    items = (await kubectl("get", "cm", "-o", "json")).json
    assert (items["kind"], items["apiVersion"]) == ("List", "v1")


async def test_selection_by_label_field_and_namespace(kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "other")
    objects = [config_map("a"), config_map("b"), pod("p"), pod("q")]
    for item, app in zip(objects, ("one", "two", "one", "two"), strict=True):
        item["metadata"]["labels"] = {"app": app}
    objects[3]["metadata"]["namespace"] = "other"
    await kubectl("create", "-f", "-", stdin=objects)
    selections = {
        ("-l", "app=one"): ["configmap/a", "pod/p"],
        ("-l", "app in (two,three),app!=one"): ["configmap/b"],
        ("-l", "!app", "--field-selector=metadata.name=a"): [],
        ("--field-selector=metadata.name!=a", "-l", "app"): ["configmap/b", "pod/p"],
        ("-A", "-l", "app=two"): ["configmap/b", "pod/q"],
        ("-n", "other", "-l", "app"): ["pod/q"],
    }
    for selection, names in selections.items():
        assert (await kubectl("get", "cm,pods", *selection, "-o", "name")).lines == names, selection
    everywhere = await kubectl("get", "pods", "-A", "--field-selector=status.phase=Pending")
    assert [row[:2] for row in everywhere.rows] == [["NAMESPACE", "NAME"], ["default", "p"], ["other", "q"]]
    refused = await kubectl("get", "pods", "--field-selector=spec.color=red", fails=True)
    assert refused.err == (
        'Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector "", field '
        'selector "spec.color=red": field label not supported: spec.color'
    )


async def test_lists_are_sorted_and_come_in_chunks(kubectl: Kubectl) -> None:
    sizes = {"a": "3", "b": "1", "c": "2"}
    await kubectl("create", "-f", "-", stdin=[config_map(name, size=size) for name, size in sizes.items()])
    listed = await kubectl("get", "cm", "a", "b", "c", "--sort-by=.data.size", "-o", "name")
    assert listed.lines == ["configmap/b", "configmap/c", "configmap/a"]
    chunked = await kubectl("get", "cm", "--chunk-size=1", "--no-headers")
    assert [row[0] for row in chunked.rows if row[0] in sizes] == ["a", "b", "c"]


async def test_get_all_shows_everything_in_the_category(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=[deployment("web"), pod("p"), mykind("m", numpods=1)])
    everything = (await custom("get", "all", "-o", "name")).lines
    assert {"pod/p", "deployment.apps/web", "mykind.grp.example.com/m"} <= set(everything)


async def test_custom_resources_print_the_columns_of_their_definition(custom: Kubectl) -> None:
    await custom("create", "-f", "-", stdin=mykind("m", numpods=3, note="hello"))
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await custom("patch", "mk", "m", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    plain = await custom("get", "mk")
    assert plain.rows[0] == ["NAME", "WANTED", "READY", "AGE"]
    assert plain.rows[1][:3] == ["m", "3", "True"]
    wide = await custom("get", "mykinds.grp.example.com", "m", "-o", "wide")
    assert wide.rows[0] == ["NAME", "WANTED", "READY", "NOTE", "AGE"]
    assert wide.rows[1][3] == "hello"
    assert (await custom("get", "mk", "--field-selector=spec.note=hello", "-o", "name")).out == (
        "mykind.grp.example.com/m"
    )
    assert (await custom("get", "mk", "--field-selector=spec.note=x", "-o", "name")).out == ""
    crds = await custom("get", "crds")
    assert crds.rows[0] == ["NAME", "SCOPE", "VERSIONS", "CREATED AT"]
    assert crds.rows[1][:3] == ["mykinds.grp.example.com", "Namespaced", "v1alpha1(storage)"]


async def test_raw_paths_are_answered_as_they_are(kubectl: Kubectl) -> None:
    assert (await kubectl("get", "--raw", "/healthz")).out == "ok"
    assert (await kubectl("get", "--raw", "/readyz")).out == "ok"
    assert (await kubectl("get", "--raw", "/livez")).out == "ok"
    namespaces = (await kubectl("get", "--raw", "/api/v1/namespaces")).json
    assert (namespaces["kind"], namespaces["apiVersion"]) == ("NamespaceList", "v1")
    assert (await kubectl("get", "--raw", "/version")).json["minor"] == "37"
    missing = await kubectl("get", "--raw", "/nowhere", fails=True)
    assert missing.err == "Error from server (NotFound): the server could not find the requested resource"

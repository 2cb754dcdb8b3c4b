"""The scripts: what is said to a server. Each is a promise that callers rely on, tried from several sides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from .conversation import JSON_PATCH, MERGE, STRATEGIC, Talk
from .objects import (
    CORE,
    CRDS,
    DEPLOYMENTS,
    GIZMO_SCHEMA,
    GIZMOS,
    MAPS,
    PODS,
    SERVICES,
    config_map,
    definition,
    deployment,
    pod,
    service,
)

Script = Callable[[Talk], Awaitable[None]]
SCRIPTS: Final[dict[str, Script]] = {}


def script(function: Script) -> Script:
    SCRIPTS[function.__name__] = function  # type: ignore[attr-defined]
    return function


@script
async def objects_come_and_go(talk: Talk) -> None:
    await talk.get(MAPS + "/a")
    new_config_map = await talk.post(MAPS, config_map("a", {"k": "v"}, labels={"l": "1"}))
    await talk.post(MAPS, config_map("a"))
    await talk.get(MAPS + "/a")
    await talk.table(MAPS + "/a")
    await talk.put(MAPS + "/a", config_map("a", {"k": "w"}))
    await talk.put(MAPS + "/a", config_map("a", {"k": "w"}))
    await talk.put(MAPS + "/a", config_map("a", {"k": "x"}, resourceVersion=new_config_map.revision))
    await talk.put(MAPS + "/a", config_map("a", {"k": "x"}, uid="11111111-1111-1111-1111-111111111111"))
    await talk.put(MAPS + "/a", config_map("b", {"k": "x"}))
    await talk.put(MAPS + "/a", config_map("", {"k": "x"}))
    await talk.put(MAPS + "/new", config_map("new", {"k": "x"}))
    await talk.put(MAPS + "/new", config_map("new", {"k": "x"}, resourceVersion="1"))
    await talk.post(MAPS, {**config_map("ns"), "metadata": {"name": "ns", "namespace": "elsewhere"}})
    await talk.post(MAPS, config_map("rv", resourceVersion="12"))
    await talk.post(MAPS, config_map("uid", uid="11111111-1111-1111-1111-111111111111"))
    await talk.post(MAPS, config_map("", generateName="gen-"))
    await talk.post(MAPS, {"metadata": {}})
    await talk.post(MAPS, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}})
    await talk.post(MAPS, {"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "x"}})
    await talk.post(MAPS, {"kind": "ConfigMap", "apiVersion": "apps/v1", "metadata": {"name": "x"}})
    await talk.post(MAPS, {"metadata": {"name": "kindless"}, "data": {"k": "v"}})
    await talk.delete(MAPS + "/a", {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}})
    await talk.delete(MAPS + "/a", {"preconditions": {"resourceVersion": "1"}})
    await talk.delete(MAPS + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Sideways"})
    await talk.delete(MAPS + "/a", {"propagationPolicy": "Orphan", "orphanDependents": True})
    await talk.delete(MAPS + "/a", dryRun="All")
    await talk.delete(MAPS + "/a", dryRun="Some")
    await talk.delete(MAPS + "/a")
    await talk.delete(MAPS + "/a")
    await talk.post("/api/v1/namespaces/no-such-place/configmaps", config_map("a"))
    await talk.get("/api/v1/namespaces/no-such-place/configmaps")
    await talk.post("/api/v1/configmaps", config_map("a"))


@script
async def bad_requests(talk: Talk) -> None:
    await talk.post(MAPS, b"{")
    await talk.post(MAPS, b"")
    await talk.post(MAPS, b"[]")
    await talk.post(MAPS, b'"text"')
    await talk.post(MAPS, b"null")
    await talk.post(MAPS, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"a":1}}')
    await talk.post(MAPS, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":[]}')
    await talk.post(MAPS, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":[]}')
    await talk.post(MAPS, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":7}}')
    await talk.post(MAPS, b'{"kind":7,"apiVersion":"v1","metadata":{"name":"a"}}')
    await talk.post(MAPS, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"a":true}}}')
    await talk.say("POST", MAPS, b"a: b", headers={"content-type": "application/yaml"})
    await talk.say("POST", MAPS, b"a: b: c", headers={"content-type": "application/yaml"})
    await talk.say(
        "POST",
        MAPS,
        b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: yaml}\ndata: {a: b}\n",
        headers={"content-type": "application/yaml"},
    )
    await talk.say("POST", MAPS, b"{}", headers={"content-type": "text/plain"})
    await talk.say("POST", MAPS, b"{}", headers={"content-type": "application/xml"})
    await talk.say("PATCH", MAPS + "/yaml", b"{}", headers={"content-type": "application/json"})
    await talk.say("GET", MAPS, headers={"accept": "text/html"})
    await talk.say("GET", MAPS, headers={"accept": "application/json;as=Table;v=v9;g=meta.k8s.io"})
    await talk.say("POST", MAPS + "/a", {})
    await talk.say("PUT", MAPS, {})
    await talk.say("PATCH", MAPS, b"{}", headers={"content-type": MERGE})
    await talk.say("POST", PODS + "/a/nothing", {})
    await talk.get(PODS + "/a/nothing")
    await talk.get("/api/v1/nothings")
    await talk.get("/apis/no.such.group/v1/things")
    await talk.get("/apis/apps/v9/deployments")
    await talk.get("/nothing")
    await talk.get("/apis/apps/v1/namespaces/{ns}/deployments/a/b/c")
    await talk.get("/api/v1/namespaces/{ns}/nodes")
    await talk.get(MAPS + "/Not_A_Name")
    await talk.delete(MAPS + "/nothing")
    await talk.put(MAPS + "/nothing", b"{")
    await talk.get(MAPS, limit="x")
    await talk.get(MAPS, limit="-1")
    await talk.get(MAPS, labelSelector="a=(")
    await talk.get(MAPS, labelSelector="a in b")
    await talk.get(MAPS, labelSelector="a=b_!")
    await talk.get(MAPS, labelSelector="-a=b")
    await talk.get(MAPS, fieldSelector="data.k=v")
    await talk.get(MAPS, fieldSelector="metadata.name")
    await talk.get(MAPS, fieldSelector="metadata.name=a,metadata.namespace={ns}")
    await talk.get(MAPS, resourceVersion="abc")
    await talk.get(MAPS, resourceVersionMatch="Exact")
    await talk.get(MAPS, resourceVersion="0", resourceVersionMatch="Exact")
    await talk.get(MAPS, resourceVersion="0", resourceVersionMatch="Sometimes")
    await talk.get(MAPS, resourceVersion="99999999999999999", resourceVersionMatch="Exact")
    await talk.get(MAPS, continue_="nonsense")
    await talk.get(MAPS, continue_="nonsense", resourceVersion="1")
    await talk.get(MAPS, sendInitialEvents="true")
    await talk.get(MAPS, watch="true", sendInitialEvents="true")
    await talk.get(MAPS, watch="true", resourceVersionMatch="NotOlderThan")
    await talk.get(MAPS, watch="true", resourceVersion="abc")
    await talk.post(MAPS, config_map("a"), dryRun="Some")
    await talk.post(MAPS, config_map("a"), dryRun="All", fieldManager="m" * 129)
    await talk.post(MAPS, config_map("a"), fieldValidation="Sometimes")
    await talk.post(MAPS, {**config_map("a"), "dta": {}, "meta": 1}, fieldValidation="Strict")
    await talk.post(MAPS, {**config_map("a"), "dta": {}}, fieldValidation="Warn")
    await talk.post(MAPS, {**config_map("b"), "dta": {}}, fieldValidation="Ignore")
    await talk.post(
        MAPS,
        b'{"kind":"ConfigMap","metadata":{"name":"c","name":"c"},"data":{"a":"1","a":"2"}}',
        fieldValidation="Strict",
    )
    await talk.post(MAPS, b'{"kind":"ConfigMap","metadata":{"name":"c","name":"c"},"data":{"a":"1","a":"2"}}')
    await talk.put(MAPS + "/a", config_map("a"), force="true")
    await talk.patch(MAPS + "/a", {}, force="true")


@script
async def names_labels_and_other_metadata(talk: Talk) -> None:
    for name in ("Upper", "under_score", "-dash", "a" * 254, "a/b", "a%b", ".", "..", "a..b", "1", "a.b"):
        await talk.post(MAPS, config_map(name))
    for name in ("Upper", "a.b", "1a", "a" * 64):
        await talk.post(SERVICES, service(name))
    for key, value in (
        ("a/b/c", "x"),
        ("", "x"),
        ("a b", "x"),
        ("ok", "x y"),
        ("ok", "x" * 64),
        ("ok", "-"),
        ("a" * 64, ""),
        ("Upper.Case/x", "v"),
        ("p" * 254 + "/x", "v"),
    ):
        await talk.post(MAPS, config_map("labels", labels={key: value}))
    await talk.post(MAPS, config_map("notes", annotations={"a b": "x"}))
    await talk.post(MAPS, config_map("notes", annotations={"big": "x" * 262145}))
    await talk.post(MAPS, config_map("f", finalizers=["plain"]))
    await talk.post(MAPS, config_map("f", finalizers=["bad_/x y"]))
    await talk.post(MAPS, config_map("f", finalizers=["orphan", "foregroundDeletion"]))
    await talk.post(MAPS, config_map("data", {"bad key": "v", "..": "v"}))
    await talk.post(MAPS, {**config_map("data", {"a": "v"}), "binaryData": {"a": "AAAA"}})
    await talk.post(MAPS, {**config_map("data"), "binaryData": {"a": "no base64"}})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    for owners in (
        [{}],
        [{**owner, "apiVersion": "a/b/c"}],
        [{**owner, "controller": True}] * 2,
        [{**owner, "controller": True}, {**owner, "uid": "w", "controller": True}],
        [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}],
        [owner, owner],
    ):
        await talk.post(MAPS, config_map("owned", ownerReferences=owners))
    await talk.post(
        MAPS,
        config_map(
            "time",
            creationTimestamp="2020-01-01T00:00:00Z",
            generation=7,
            selfLink="/x",
            deletionTimestamp="2020-01-01T00:00:00Z",
            deletionGracePeriodSeconds=3,
        ),
    )
    await talk.post(MAPS, config_map("", generateName="Bad_"))
    await talk.post(MAPS, config_map("", generateName="x" * 300))
    new_config_map = await talk.post(MAPS, config_map("fixed", {"a": "b"}))
    for change in (
        {"uid": "other"},
        {"creationTimestamp": "2020-01-01T00:00:00Z"},
        {"namespace": "other"},
        {"name": "other"},
        {"deletionTimestamp": "2020-01-01T00:00:00Z"},
        {"generation": 9},
        {"deletionGracePeriodSeconds": 5},
        {"labels": {"a b": "c"}},
        {"resourceVersion": "1"},
        {"resourceVersion": new_config_map.revision},
        {"managedFields": []},
    ):
        await talk.patch(MAPS + "/fixed", {"metadata": change})
    await talk.patch(MAPS + "/fixed", {"immutable": True})
    await talk.patch(MAPS + "/fixed", {"data": {"a": "c"}})
    await talk.patch(MAPS + "/fixed", {"immutable": None})


@script
async def every_patch(talk: Talk) -> None:
    at = PODS + "/p"
    await talk.patch(at, {})
    await talk.post(PODS, pod("p"))
    await talk.patch(at, {"metadata": {"labels": {"a": "1"}}})
    await talk.patch(at, {"metadata": {"labels": {"a": "1"}}})
    await talk.patch(at, {"metadata": {"labels": {"a": None, "b": "2"}}}, STRATEGIC)
    await talk.patch(at, {"metadata": {"labels": {"$patch": "replace", "only": "this"}}}, STRATEGIC)
    await talk.patch(at, {"spec": {"containers": [{"name": "main", "image": "registry.example.com/app:2"}]}}, STRATEGIC)
    await talk.patch(at, {"spec": {"containers": [{"name": "other", "image": "x"}]}}, STRATEGIC)
    await talk.patch(at, {"spec": {"containers": [{"image": "x"}]}}, STRATEGIC)
    await talk.patch(at, {"spec": {"containers": [{"name": "main", "$patch": "delete"}]}}, STRATEGIC)
    await talk.patch(at, {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}, STRATEGIC)
    await talk.patch(at, {"spec": {"activeDeadlineSeconds": 10}}, STRATEGIC)
    await talk.patch(at, {"spec": {"activeDeadlineSeconds": 20}}, STRATEGIC)
    await talk.patch(at, {"metadata": {"finalizers": ["a.b/c"]}}, STRATEGIC)
    await talk.patch(at, {"metadata": {"finalizers": ["a.b/d"]}}, STRATEGIC)
    await talk.patch(at, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}}, STRATEGIC)
    await talk.patch(
        at, {"metadata": {"$setElementOrder/finalizers": ["a.b/e", "a.b/d"], "finalizers": ["a.b/e"]}}, STRATEGIC
    )
    await talk.patch(at, {"metadata": {"finalizers": None}}, STRATEGIC)
    await talk.patch(at, {"$patch": "wrong"}, STRATEGIC)
    await talk.patch(at, {"metadata": {"labels": 1}}, STRATEGIC)
    await talk.patch(at, {"metadata": {"labels": 1}})
    await talk.patch(at, {"spec": {"nodeName": "n"}})
    await talk.patch(at, {"kind": "Secret"})
    await talk.patch(at, {"apiVersion": "v2"})
    await talk.patch(at, {"nonsense": 1})
    await talk.patch(at, {"nonsense": 1}, fieldValidation="Strict")
    await talk.patch(at, b"{")
    await talk.patch(at, b"[]")
    await talk.patch(at, b"{", STRATEGIC)
    await talk.patch(at, b"{", JSON_PATCH)
    await talk.patch(at, {}, JSON_PATCH)
    for operations in (
        [{"op": "add", "path": "/metadata/labels/new", "value": "v"}],
        [{"op": "replace", "path": "/metadata/labels/new", "value": "w"}],
        [{"op": "test", "path": "/metadata/labels/new", "value": "w"}],
        [{"op": "test", "path": "/metadata/labels/new", "value": "x"}],
        [{"op": "copy", "from": "/metadata/labels/new", "path": "/metadata/labels/newer"}],
        [{"op": "move", "from": "/metadata/labels/new", "path": "/metadata/labels/newest"}],
        [{"op": "remove", "path": "/metadata/labels/newest"}],
        [{"op": "remove", "path": "/metadata/labels/newest"}],
        [{"op": "replace", "path": "/metadata/annotations/none", "value": "w"}],
        [{"op": "add", "path": "/metadata/annotations/none", "value": "w"}],
        [{"op": "jump", "path": "/metadata"}],
        [{"path": "/metadata"}],
        [{"op": "add", "path": "/spec/containers/7", "value": {}}],
        [{"op": "add", "path": "metadata", "value": {}}],
        [{"op": "remove", "path": "/metadata/name"}],
        [{"op": "replace", "path": "/metadata/name", "value": "q"}],
        [{"op": "remove", "path": "/spec/containers/0"}],
        [{"op": "test", "path": "/metadata/uid", "value": "wrong"}],
        [],
    ):
        await talk.patch(at, operations, JSON_PATCH)
    await talk.patch(at, {"metadata": {"labels": {"dry": "run"}}}, dryRun="All")
    await talk.get(at)
    await talk.patch(at, b"metadata: {labels: {y: z}}", "application/apply-patch+yaml")
    await talk.patch(at, {}, "application/unknown-patch+json")


@script
async def applies(talk: Talk) -> None:
    at = MAPS + "/a"
    await talk.apply(at, config_map("a", {"k": "v", "gone": "x"}))
    await talk.apply(at, config_map("a", {"k": "v", "gone": "x"}))
    await talk.apply(at, config_map("a", {"k": "v"}))
    await talk.apply(at, config_map("a", {"k": "w"}), "two")
    await talk.apply(at, config_map("a", {"k": "v"}), "two")
    await talk.apply(at, config_map("a", {"k": "w"}), "two")
    await talk.apply(at, config_map("a", {"k": "w"}), "two", force="true")
    await talk.apply(at, config_map("a", {"k": "v", "other": "x"}, labels={"a": "b"}))
    await talk.patch(at, {"data": {"merged": "y"}}, fieldManager="three")
    await talk.apply(at, config_map("a", {"merged": "z", "k": "q"}))
    await talk.apply(at, config_map("a"))
    await talk.apply(at, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    await talk.apply(at, {"kind": "ConfigMap", "metadata": {"name": "a"}})
    await talk.apply(at, {"apiVersion": "v1", "metadata": {"name": "a"}})
    await talk.apply(at, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    await talk.apply(at, config_map("b"))
    await talk.apply(at, config_map("a", resourceVersion="1"))
    await talk.apply(at, config_map("a", uid="11111111-1111-1111-1111-111111111111"))
    await talk.apply(at, config_map("a", managedFields=[{"manager": "x"}]))
    await talk.apply(at, {**config_map("a"), "dta": {}})
    await talk.apply(at, config_map("a", {"k": 1}))
    await talk.apply(at, b"{")
    await talk.apply(at, b"a: [")
    await talk.apply(at, config_map("a"), "")
    await talk.apply(at, config_map("a", {"k": "r"}), "dry", dryRun="All", force="true")
    await talk.get(at)
    await talk.apply(MAPS + "/u", config_map("u", uid="11111111-1111-1111-1111-111111111111"))
    await talk.apply(MAPS + "/r", config_map("r", resourceVersion="1"))
    at = DEPLOYMENTS + "/d"
    await talk.apply(at, deployment("d"))
    wanted = deployment("d")
    del wanted["spec"]["replicas"]
    await talk.patch(at + "/scale", {"spec": {"replicas": 5}}, fieldManager="scaler")
    await talk.apply(at, deployment("d"))
    await talk.apply(at, wanted)
    await talk.get(at)
    partial = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    containers: list[Any] = [{"name": "side", "image": "s"}]
    await talk.apply(at, {**partial, "spec": {"template": {"spec": {"containers": containers}}}}, "two")
    containers = [
        {
            "name": "main",
            "image": "stolen",
            "env": [{"name": "A", "value": "1"}],
            "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
        }
    ]
    await talk.apply(at, {**partial, "spec": {"template": {"spec": {"containers": containers}}}}, "two")
    await talk.apply(at, {**partial, "spec": {"template": {"spec": {"containers": containers}}}}, "two", force="true")
    await talk.apply(at, {**partial, "spec": {"template": {"spec": {"containers": [{"image": "nameless"}]}}}}, "two")
    await talk.apply(at, {**partial, "spec": {"template": {"spec": {"containers": containers * 2}}}}, "two")
    await talk.apply(at, {**partial, "status": {"replicas": 3}}, "two")
    await talk.apply(at + "/status", {**partial, "status": {"replicas": 3, "observedGeneration": 1}}, "status")
    await talk.apply(at, partial, "two")
    await talk.apply(at, partial, "one")
    await talk.get(at)


@script
async def deployments(talk: Talk) -> None:
    at = DEPLOYMENTS + "/d"
    await talk.post(DEPLOYMENTS, deployment("d"))
    await talk.table(at)
    await talk.get(at + "/scale")
    await talk.put(
        at + "/scale",
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 3}},
    )
    await talk.put(
        at + "/scale",
        {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "d", "resourceVersion": "1"},
            "spec": {"replicas": 3},
        },
    )
    await talk.put(at + "/scale", {"metadata": {"name": "x"}, "spec": {"replicas": 3}})
    await talk.patch(at + "/scale", {"spec": {"replicas": -1}})
    await talk.patch(at + "/scale", {"spec": {"replicas": 4}}, STRATEGIC)
    await talk.get(DEPLOYMENTS + "/none/scale")
    await talk.patch(at, {"spec": {"selector": {"matchLabels": {"app": "y"}}}})
    await talk.patch(at, {"spec": {"template": {"metadata": {"labels": {"app": None}}}}})
    await talk.patch(
        at, {"spec": {"replicas": -1, "revisionHistoryLimit": -2, "minReadySeconds": -1, "progressDeadlineSeconds": 0}}
    )
    await talk.patch(at, {"spec": {"strategy": {"type": "Recreate"}}})
    await talk.patch(at, {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}})
    await talk.patch(at, {"spec": {"strategy": {"type": "Odd"}}})
    await talk.patch(
        at, {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}}
    )
    await talk.patch(at, {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}})
    await talk.patch(
        at + "/status",
        {
            "status": {
                "replicas": 4,
                "readyReplicas": 3,
                "updatedReplicas": 4,
                "availableReplicas": 3,
                "observedGeneration": 2,
            }
        },
    )
    await talk.patch(at + "/status", {"status": {"replicas": 1, "readyReplicas": 3}})
    await talk.patch(at + "/status", {"spec": {"replicas": 9}, "metadata": {"labels": {"status": "x"}}})
    await talk.patch(at, {"status": {"replicas": 9}})
    await talk.table(DEPLOYMENTS)
    for bad in (
        deployment("e", selector=None),
        deployment("e", selector={}),
        deployment("e", selector={"matchLabels": {"app": "other"}}),
        deployment("e", template={}),
        deployment("e", replicas="two"),
        deployment("e", selector={"matchExpressions": [{"key": "a", "operator": "Odd"}]}),
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "e"}},
    ):
        await talk.post(DEPLOYMENTS, bad, dryRun="All")
    await talk.delete(at, {"propagationPolicy": "Foreground"})
    await talk.get(at)
    await talk.patch(at, {"metadata": {"finalizers": ["a.b/late"]}})
    await talk.delete(at, {"propagationPolicy": "Background"})


@script
async def pods(talk: Talk) -> None:
    await talk.post(
        PODS,
        pod(
            "p",
            container={
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"path": "/x", "port": 80}},
                "resources": {"limits": {"cpu": "1"}, "requests": {"memory": "1Gi"}},
            },
        ),
    )
    await talk.table(PODS + "/p")
    for bad in (
        pod("Bad_Name"),
        pod("q", container={"name": "Bad_Name"}),
        pod("q", container={"image": ""}),
        pod("q", containers=[]),
        pod("q", restartPolicy="Odd"),
        pod("q", dnsPolicy="Odd"),
        pod("q", container={"imagePullPolicy": "Odd"}),
        pod("q", container={"ports": [{"containerPort": 0}, {"containerPort": 70000}]}),
        pod("q", container={"ports": [{"containerPort": 80, "name": "Bad_"}]}),
        pod("q", container={"env": [{"name": ""}, {"name": "a=b", "value": "x"}]}),
        pod("q", container={"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}),
        pod("q", container={"resources": {"limits": {"cpu": "lots"}}}),
        pod("q", container={"resources": {"limits": {"odd": "1"}}}),
        pod("q", container={"volumeMounts": [{"name": "none", "mountPath": "/x"}]}),
        pod("q", volumes=[{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]),
        pod("q", volumes=[{"name": "a", "emptyDir": {}, "secret": {"secretName": "s"}}]),
        pod("q", volumes=[{"name": "a"}]),
        pod("q", containers=[{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]),
        pod("q", nodeSelector={"a b": "c"}),
        pod("q", terminationGracePeriodSeconds=-1),
        pod("q", activeDeadlineSeconds=0),
        pod("q", container={"livenessProbe": {}}),
        pod("q", container={"livenessProbe": {"httpGet": {"path": "/", "port": "Bad_"}, "periodSeconds": -1}}),
        pod("q", serviceAccountName="nobody"),
        pod("q", priorityClassName="nothing"),
        pod("q", tolerations=[{"key": "a", "operator": "Odd"}]),
        pod("q", securityContext={"runAsUser": -1}),
        pod("q", hostname="Bad_"),
        pod("q", container={"command": "sh"}),
    ):
        await talk.post(PODS, bad, dryRun="All")
    await talk.post(
        PODS,
        pod(
            "full",
            initContainers=[{"name": "first", "image": "i", "restartPolicy": "Always"}],
            volumes=[
                {"name": "c", "configMap": {"name": "c"}},
                {"name": "s", "secret": {"secretName": "s"}},
                {"name": "e", "emptyDir": {}},
                {"name": "d", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                {"name": "h", "hostPath": {"path": "/x"}},
            ],
            container={
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "readinessProbe": {"exec": {"command": ["true"]}},
            },
            affinity={
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                }
            },
        ),
    )
    await talk.patch(
        PODS + "/p/status",
        {
            "status": {
                "phase": "Running",
                "podIP": "10.1.2.3",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [
                    {
                        "name": "main",
                        "ready": True,
                        "restartCount": 2,
                        "image": "i",
                        "imageID": "x",
                        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                    }
                ],
            }
        },
        STRATEGIC,
    )
    await talk.table(PODS)
    await talk.get(PODS, fieldSelector="status.phase=Running")
    await talk.get(PODS, fieldSelector="spec.nodeName=,status.phase!=Running")
    await talk.get(PODS, fieldSelector="spec.restartPolicy=Always,metadata.name=p")
    await talk.get(PODS, fieldSelector="spec.hostname=x")
    await talk.post(
        PODS + "/p/binding",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
        },
    )
    await talk.post(
        PODS + "/p/binding",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "node-2"},
        },
    )
    await talk.post(
        PODS + "/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {}}
    )
    await talk.post(
        CORE + "/bindings",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "full"},
            "target": {"kind": "Node", "name": "node-1"},
        },
    )
    await talk.get(PODS + "/p")
    await talk.patch(
        PODS + "/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "debug", "image": "d"}]}}, STRATEGIC
    )
    await talk.patch(PODS + "/p/ephemeralcontainers", {"spec": {"ephemeralContainers": []}})
    await talk.patch(
        PODS + "/p/resize",
        {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]}},
        STRATEGIC,
    )
    await talk.delete(PODS + "/p", {"gracePeriodSeconds": 20})
    await talk.get(PODS + "/p")
    await talk.delete(PODS + "/p", {"gracePeriodSeconds": 40})
    await talk.delete(PODS + "/p", {"gracePeriodSeconds": 5})
    await talk.delete(PODS + "/p", gracePeriodSeconds=0)
    await talk.get(PODS + "/p")
    await talk.delete(PODS + "/full", {"gracePeriodSeconds": -1})


@script
async def evictions(talk: Talk) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
    budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    for name in ("a", "b", "c"):
        await talk.post(PODS, pod(name))
    await talk.post(PODS + "/a/eviction", {**eviction, "metadata": {"name": "a"}}, dryRun="All")
    await talk.post(PODS + "/a/eviction", {**eviction, "metadata": {"name": "other"}})
    await talk.post(
        PODS + "/a/eviction",
        {**eviction, "metadata": {"name": "a"}, "deleteOptions": {"preconditions": {"uid": "wrong"}}},
    )
    await talk.post(PODS + "/a/eviction", {**eviction, "metadata": {"name": "a"}})
    await talk.post(PODS + "/none/eviction", {**eviction, "metadata": {"name": "none"}})
    await talk.post(
        budgets,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
        },
    )
    await talk.table(budgets)
    await talk.post(PODS + "/b/eviction", {**eviction, "metadata": {"name": "b"}})
    await talk.patch(PODS + "/b/status", {"status": {"phase": "Running"}})
    await talk.post(PODS + "/b/eviction", {**eviction, "metadata": {"name": "b"}})
    await talk.patch(
        budgets + "/b/status",
        {
            "status": {
                "disruptionsAllowed": 0,
                "observedGeneration": 1,
                "currentHealthy": 1,
                "desiredHealthy": 1,
                "expectedPods": 2,
            }
        },
    )
    await talk.patch(PODS + "/b/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    await talk.post(PODS + "/b/eviction", {**eviction, "metadata": {"name": "b"}})
    await talk.patch(budgets + "/b/status", {"status": {"disruptionsAllowed": 1}})
    await talk.post(PODS + "/b/eviction", {**eviction, "metadata": {"name": "b"}})
    for bad in (
        {"minAvailable": 1, "maxUnavailable": 1},
        {"minAvailable": "x"},
        {"minAvailable": "200%"},
        {"unhealthyPodEvictionPolicy": "Odd"},
    ):
        await talk.post(budgets, {"metadata": {"name": "bad"}, "spec": bad}, dryRun="All")


@script
async def services(talk: Talk) -> None:
    await talk.post(SERVICES, service("s"))
    await talk.table(SERVICES)
    await talk.patch(SERVICES + "/s", {"spec": {"ports": [{"port": 80, "targetPort": "http", "name": "web"}]}})
    await talk.patch(SERVICES + "/s", {"spec": {"clusterIP": "1.2.3.4"}})
    await talk.patch(SERVICES + "/s", {"spec": {"type": "NodePort"}})
    await talk.patch(SERVICES + "/s", {"spec": {"type": "ClusterIP"}})
    for bad in (
        service("t", ports=[]),
        service("t", ports=[{"port": 80}, {"port": 81}]),
        service("t", ports=[{"port": 0}]),
        service("t", ports=[{"port": 80, "protocol": "ODD"}]),
        service("t", ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]),
        service("t", type="Odd"),
        service("t", type="ExternalName"),
        service("t", sessionAffinity="Odd"),
        service("t", clusterIP="nonsense"),
        service("t", selector={"a b": "c"}),
    ):
        await talk.post(SERVICES, bad, dryRun="All")
    await talk.post(SERVICES, service("headless", clusterIP="None"))
    await talk.post(SERVICES, service("name", type="ExternalName", externalName="example.com", ports=None))
    await talk.post(SERVICES, service("balanced", type="LoadBalancer"))
    await talk.delete(SERVICES + "/s")
    await talk.get(SERVICES + "/s")


@script
async def lists(talk: Talk) -> None:
    for number in range(5):
        await talk.post(
            MAPS,
            config_map(
                f"c{number}", {"k": str(number)}, labels={"parity": "odd" if number % 2 else "even", f"l{number}": ""}
            ),
        )
    for selector in (
        "parity=odd",
        "parity==even",
        "parity!=odd",
        "parity in (odd, even)",
        "parity notin (odd)",
        "l1",
        "!l1",
        "l1,l2",
        "parity=odd,!l1",
        ",",
        " ",
        "parity=",
        "nothing notin (x)",
    ):
        await talk.get(MAPS, labelSelector=selector)
    await talk.get(MAPS, fieldSelector="metadata.name!=c1")
    page = await talk.get(MAPS, limit=2)
    token = page.metadata.get("continue", "")
    await talk.post(MAPS, config_map("c9"))
    await talk.delete(MAPS + "/c3")
    page = await talk.get(MAPS, limit=2, continue_=token)
    await talk.get(MAPS, limit=2, continue_=page.metadata.get("continue", ""))
    await talk.get(MAPS, limit=2, continue_=token, resourceVersion="1")
    await talk.get(MAPS, limit=2, continue_=token, labelSelector="parity=odd")
    page = await talk.get(MAPS, limit=2, labelSelector="parity")
    await talk.get(MAPS, continue_=page.metadata.get("continue", ""), labelSelector="parity")
    await talk.get(MAPS, limit=100)
    full = await talk.get(MAPS)
    at = full.metadata["resourceVersion"]
    await talk.delete(MAPS + "/c4")
    for match in ("Exact", "NotOlderThan"):
        await talk.get(MAPS, resourceVersion=at, resourceVersionMatch=match, limit=1)
    await talk.get(MAPS, resourceVersion="0", limit=1)
    await talk.table(MAPS, limit=1)
    await talk.say(
        "GET", MAPS + "/c0", headers={"accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    )
    await talk.say(
        "GET", MAPS, headers={"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}, limit=1
    )
    await talk.say(
        "GET", MAPS, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}, includeObject="None", limit=1
    )
    await talk.say(
        "GET", MAPS, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}, includeObject="Object", limit=1
    )
    await talk.say(
        "GET", MAPS, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}, includeObject="Odd", limit=1
    )
    await talk.delete(MAPS, labelSelector="parity=odd", dryRun="All")
    await talk.delete(MAPS, labelSelector="parity=odd")
    await talk.delete(MAPS, {"propagationPolicy": "Odd"})
    await talk.delete(MAPS, fieldSelector="metadata.name=c0")
    await talk.get(MAPS)
    await talk.delete(SERVICES)


@script
async def watches(talk: Talk) -> None:
    start = (await talk.get(MAPS, labelSelector="w")).metadata["resourceVersion"]
    await talk.post(MAPS, config_map("a", {"k": "1"}, labels={"w": "1"}))
    await talk.post(MAPS, config_map("b", {"k": "1"}))
    await talk.patch(MAPS + "/b", {"metadata": {"labels": {"w": "2"}}})
    await talk.patch(MAPS + "/a", {"data": {"k": "2"}})
    await talk.patch(MAPS + "/a", {"data": {"k": "2"}})
    await talk.patch(MAPS + "/b", {"metadata": {"labels": {"w": None}}})
    await talk.delete(MAPS + "/a")
    await talk.watch(MAPS, 5, resourceVersion=start, labelSelector="w")
    await talk.watch(MAPS, 2, resourceVersion=start, fieldSelector="metadata.name=a")
    await talk.watch(MAPS + "/b", 2, resourceVersion=start)
    await talk.watch(MAPS, 1, resourceVersion=start, labelSelector="w=2")
    await talk.watch(MAPS, 2, resourceVersion="0", timeoutSeconds=1, labelSelector="nothing")
    await talk.watch(MAPS, 1, resourceVersion="0", fieldSelector="metadata.name=b")
    await talk.watch(MAPS, 1, fieldSelector="metadata.name=b")
    await talk.watch(
        MAPS,
        2,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        fieldSelector="metadata.name=b",
    )
    await talk.watch(
        MAPS,
        2,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        timeoutSeconds=1,
        fieldSelector="metadata.name=b",
    )
    await talk.watch(
        MAPS,
        1,
        sendInitialEvents="false",
        resourceVersionMatch="NotOlderThan",
        resourceVersion=start,
        labelSelector="w",
    )
    await talk.watch(MAPS, 1, resourceVersion="99999999999999999", timeoutSeconds=1)
    await talk.watch(MAPS, 1, resourceVersion="1")
    await talk.watch("/api/v1/watch/namespaces/{ns}/configmaps", 1, resourceVersion=start)


@script
async def finalizers_and_owners(talk: Talk) -> None:
    at = MAPS + "/a"
    new_config_map = await talk.post(MAPS, config_map("a", {"k": "v"}, finalizers=["a.b/one", "a.b/two"]))
    await talk.delete(at)
    await talk.delete(at)
    await talk.get(at)
    await talk.post(MAPS, config_map("a"))
    await talk.patch(at, {"data": {"k": "w"}})
    await talk.patch(at, {"metadata": {"finalizers": ["a.b/one", "a.b/three"]}})
    await talk.patch(at, {"metadata": {"finalizers": ["a.b/two"]}})
    await talk.patch(at, {"metadata": {"deletionTimestamp": None}})
    await talk.put(at, config_map("a", {"k": "x"}))
    await talk.get(at)
    await talk.post(MAPS, config_map("b", finalizers=["a.b/one"]))
    await talk.apply(MAPS + "/b", config_map("b", {"k": "v"}))
    await talk.delete(MAPS + "/b", {"propagationPolicy": "Orphan"})
    await talk.patch(MAPS + "/b", [{"op": "remove", "path": "/metadata/finalizers"}], JSON_PATCH)
    await talk.get(MAPS + "/b")
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "a",
        "uid": new_config_map.uid,
        "blockOwnerDeletion": True,
    }
    await talk.post(MAPS, config_map("child", ownerReferences=[owner]))
    await talk.post(MAPS, config_map("c"))
    await talk.delete(MAPS + "/c", {"propagationPolicy": "Foreground"})
    await talk.get(MAPS + "/c")
    await talk.delete(MAPS + "/c", {"propagationPolicy": "Background"})
    await talk.post(MAPS, config_map("d"))
    await talk.delete(MAPS + "/d", {"propagationPolicy": "Orphan"})
    await talk.delete(MAPS + "/d", {"orphanDependents": True})
    await talk.get(MAPS + "/d")


@script
async def namespaces(talk: Talk) -> None:
    at = "/api/v1/namespaces/{ns}-x"
    await talk.post("/api/v1/namespaces", {"metadata": {"name": "{ns}-x", "labels": {"a": "b"}}})
    await talk.table(at)
    await talk.post("/api/v1/namespaces", {"metadata": {"name": "Bad_"}})
    await talk.post("/api/v1/namespaces", {"metadata": {"name": "a.b"}})
    await talk.patch(at, {"spec": {"finalizers": []}})
    await talk.patch(at + "/status", {"status": {"phase": "Odd"}})
    await talk.post(at + "/configmaps", config_map("a"))
    await talk.delete(at)
    await talk.get(at)
    await talk.post(at + "/configmaps", config_map("b"))
    await talk.patch(at + "/configmaps/a", {"data": {"a": "b"}})
    await talk.apply(at + "/configmaps/c", config_map("c"))
    await talk.delete(at + "/configmaps/a")
    await talk.delete(at)
    await talk.put(at + "/finalize", {"metadata": {"name": "{ns}-x"}, "spec": {"finalizers": []}})
    await talk.get(at)
    await talk.delete("/api/v1/namespaces/kube-system")
    await talk.delete("/api/v1/namespaces")


@script
async def custom_resources(talk: Talk) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
        {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    subresources = {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    await talk.post(CRDS, definition(GIZMO_SCHEMA, subresources=subresources, additionalPrinterColumns=columns))
    name = "/gizmos.{ns}.example.com"
    await talk.until(GIZMOS)
    await talk.get(CRDS + name)
    await talk.table(CRDS + name)
    await talk.get("/apis/{ns}.example.com")
    await talk.get("/apis/{ns}.example.com/v1")
    api = "{ns}.example.com/v1"

    def gizmo(name: str, spec: Any, **more: Any) -> dict[str, Any]:
        return {"apiVersion": api, "kind": "Gizmo", "metadata": {"name": name}, "spec": spec, **more}

    await talk.post(
        GIZMOS,
        gizmo(
            "g", {"size": 1, "parts": [{"name": "a"}], "unknown": 1, "anything": {"x": [1]}}, status={"ready": 3}, top=1
        ),
    )
    await talk.post(GIZMOS, gizmo("s", {"size": 1, "unknown": 1}), fieldValidation="Strict")
    await talk.table(GIZMOS)
    await talk.get(GIZMOS)
    for spec in (
        None,
        {},
        {"size": "1"},
        {"size": 1.5},
        {"size": 11},
        {"size": -1},
        {"size": None},
        {"size": 1, "color": "blue"},
        {"size": 1, "color": None},
        {"size": 1, "maybe": None},
        {"size": 1, "name": "a"},
        {"size": 1, "name": "abcdef"},
        {"size": 1, "name": "ABC"},
        {"size": 1, "ratio": 0.5},
        {"size": 1, "ratio": 0.6},
        {"size": 1, "flags": ["a", "a"]},
        {"size": 1, "flags": ["a", "b", "c", "d"]},
        {"size": 1, "flags": "a"},
        {"size": 1, "parts": [{}]},
        {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]},
        {"size": 1, "parts": [{"name": "a", "port": True}]},
        {"size": 1, "parts": [{"name": "a", "port": "http"}]},
        {"size": 1, "options": {"a": 1}},
        {"size": 1, "options": {"a": "1", "b": "2", "c": "3"}},
        {"size": 1, "choice": {}},
        {"size": 1, "choice": {"a": "", "b": ""}},
        {"size": 1, "when": "today"},
        {"size": 1, "raw": "%"},
        {"size": 1, "template": {}},
        {
            "size": 1,
            "template": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "Bad_", "labels": {"a": 1}},
                "spec": 1,
            },
        },
        {"size": 1, "anything": "x"},
        "text",
        [],
    ):
        await talk.post(GIZMOS, gizmo("bad", spec))
        await talk.delete(GIZMOS + "/bad")
    await talk.post(GIZMOS, {"kind": "Gizmo", "metadata": {"name": "x"}, "spec": {"size": 1}})
    await talk.post(GIZMOS, {"apiVersion": api, "metadata": {"name": "x"}, "spec": {"size": 1}})
    await talk.post(GIZMOS, {"apiVersion": api, "kind": "Gadget", "metadata": {"name": "x"}, "spec": {"size": 1}})
    await talk.post(GIZMOS, gizmo("Bad_", {"size": 1}))
    await talk.post(GIZMOS, b"{")
    at = GIZMOS + "/g"
    await talk.patch(at, {"spec": {"size": 2}})
    await talk.patch(at, {"status": {"ready": 4}})
    await talk.patch(at + "/status", {"status": {"ready": 4}, "spec": {"size": 9}})
    await talk.patch(at + "/status", {"status": {"ready": "four"}})
    await talk.patch(at, {"spec": {"size": 2}}, STRATEGIC)
    await talk.patch(at, {"spec": {"unknown": 2}}, fieldValidation="Strict")
    await talk.put(at, gizmo("g", {"size": 3}))
    put = gizmo("g", {"size": 3})
    put["metadata"]["resourceVersion"] = (await talk.get(at)).revision
    await talk.put(at, put)
    await talk.get(at + "/scale")
    await talk.patch(at + "/scale", {"spec": {"replicas": 5}})
    await talk.patch(at + "/scale", {"spec": {"replicas": 50}})
    await talk.get(at + "/status")
    await talk.apply(
        GIZMOS + "/h",
        gizmo("h", {"size": 1, "parts": [{"name": "a"}], "flags": ["x"], "atomic": {"a": "1"}, "options": {"o": "1"}}),
    )
    await talk.apply(
        GIZMOS + "/h",
        gizmo("h", {"parts": [{"name": "b", "count": 2}], "flags": ["y"], "atomic": {"b": "1"}, "options": {"p": "1"}}),
        "two",
    )
    await talk.apply(
        GIZMOS + "/h", gizmo("h", {"parts": [{"name": "b", "count": 2}], "flags": ["y"], "options": {"p": "1"}}), "two"
    )
    await talk.apply(GIZMOS + "/h", gizmo("h", {"size": 1}), "one")
    await talk.apply(GIZMOS + "/h", gizmo("h", {"size": 1, "nothing": 2}), "one")
    await talk.apply(GIZMOS + "/h", gizmo("h", {"size": "x"}), "one")
    await talk.apply(GIZMOS + "/h", gizmo("h", {"size": 1, "parts": [{"count": 1}]}), "one")
    await talk.apply(GIZMOS + "/h", gizmo("h", {"size": 1, "flags": ["a", "a"]}), "one")
    await talk.apply(GIZMOS + "/h/status", gizmo("h", {"size": 7}, status={"ready": 1}), "status")
    await talk.get(GIZMOS, fieldSelector="metadata.name=h")
    await talk.get(GIZMOS, fieldSelector="spec.size=1")
    await talk.patch(CRDS + name, {"spec": {"versions": []}})
    await talk.delete(GIZMOS)
    await talk.delete(CRDS + name)
    await talk.until(CRDS + name, status=404)


@script
async def definitions_that_are_wrong(talk: Talk) -> None:
    for schema in (
        {"type": "string"},
        {},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "odd"}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}},
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "properties": {"b": {"type": "string"}},
                    "additionalProperties": {"type": "string"},
                }
            },
        },
        {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": False}}},
        {"type": "object", "properties": {"a": {"type": "string", "default": 1}}},
        {"type": "object", "properties": {"a": {"$ref": "#/x"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}},
        },
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                }
            },
        },
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "odd"}},
        },
        {"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-map-type": "odd"}}},
        {"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-preserve-unknown-fields": True}}},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}},
        },
        {"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": True}}},
        {"type": "object", "properties": {"a": {"type": "integer", "x-kubernetes-int-or-string": True}}},
        {"type": "object", "properties": {"a": {"type": "string", "format": "odd"}}},
        {"type": "object", "properties": {"a": {"type": "string", "nullable": True, "default": None}}},
        {"type": "object", "properties": {"a": {"type": "object", "default": {"x": 1}}}},
        {"type": "object", "definitions": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string", "not": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self ="}]}}},
        {"type": "object", "properties": {"a": {"type": "string", "unknown": 1}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": "x"}}},
    ):
        await talk.post(CRDS, definition(schema), dryRun="All")

    def changed(**spec: Any) -> dict[str, Any]:
        new_definition = definition()
        new_definition["spec"].update(spec)
        return new_definition

    version = definition()["spec"]["versions"][0]
    for wrong in (
        changed(group="other.example.com"),
        changed(scope="Odd"),
        changed(names={"plural": "gizmos"}),
        changed(names={"plural": "gizmos", "kind": "gizmo_"}),
        changed(names={"plural": "Gizmos", "kind": "Gizmo"}),
        changed(versions=[]),
        changed(versions=[{**version, "storage": False}]),
        changed(versions=[version, version]),
        changed(versions=[version, {**version, "name": "v2"}]),
        changed(versions=[{**version, "name": "V_1"}]),
        changed(versions=[{**version, "schema": None}]),
        changed(preserveUnknownFields=True),
        changed(conversion={"strategy": "Webhook"}),
        changed(conversion={"strategy": "Odd"}),
        changed(group=""),
        changed(group="Upper_"),
        changed(versions=[{**version, "additionalPrinterColumns": [{"name": "", "type": "odd", "jsonPath": "x"}]}]),
        changed(versions=[{**version, "subresources": {"scale": {"specReplicasPath": "x"}}}]),
        changed(versions=[{**version, "selectableFields": [{"jsonPath": ".spec.none"}]}]),
        changed(versions=[{**version, "deprecationWarning": "x"}]),
        changed(versions=[{**version, "served": False}]),
        {**definition(), "metadata": {"name": "wrong"}},
        {
            **definition(),
            "metadata": {"name": "gizmos.{ns}.example.com", "annotations": {"api-approved.kubernetes.io": "x"}},
        },
    ):
        await talk.post(CRDS, wrong, dryRun="All")


@script
async def several_versions(talk: Talk) -> None:
    new_definition = definition(GIZMO_SCHEMA)
    (first,) = new_definition["spec"]["versions"]
    small = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    new_definition["spec"]["versions"] = [
        first,
        {"name": "v1beta1", "served": True, "storage": False, "deprecated": True, "schema": {"openAPIV3Schema": small}},
        {"name": "v1alpha1", "served": False, "storage": False, "schema": {"openAPIV3Schema": small}},
    ]
    await talk.post(CRDS, new_definition)
    await talk.until(GIZMOS)
    old = GIZMOS.replace("/v1/", "/v1beta1/")
    await talk.post(
        old,
        {
            "apiVersion": "{ns}.example.com/v1beta1",
            "kind": "Gizmo",
            "metadata": {"name": "g"},
            "spec": {"size": 1, "color": "green"},
        },
    )
    await talk.get(GIZMOS + "/g")
    await talk.get(old + "/g")
    await talk.get(GIZMOS.replace("/v1/", "/v1alpha1/") + "/g")
    await talk.patch(GIZMOS + "/g", {"spec": {"color": "green"}}, fieldManager="a")
    await talk.patch(old + "/g", {"spec": {"size": 3}}, fieldManager="b")
    await talk.get(GIZMOS + "/g")
    await talk.get("/apis/{ns}.example.com")
    await talk.get("/apis/{ns}.example.com/v1beta1")
    name = CRDS + "/gizmos.{ns}.example.com"
    await talk.get(name)
    await talk.patch(
        name,
        [
            {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
            {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
        ],
        JSON_PATCH,
    )
    await talk.patch(name, [{"op": "remove", "path": "/spec/versions/0"}], JSON_PATCH)
    await talk.patch(name + "/status", {"status": {"storedVersions": ["v1beta1"]}})
    await talk.patch(name + "/status", {"status": {"storedVersions": []}})
    await talk.delete(name)
    await talk.until(name, status=404)


@script
async def reviews(talk: Talk) -> None:
    await talk.post(CORE + "/serviceaccounts", {"metadata": {"name": "robot"}})
    token = await talk.post(CORE + "/serviceaccounts/robot/token", {"spec": {"expirationSeconds": 3600}})
    await talk.post(CORE + "/serviceaccounts/robot/token", {"spec": {"expirationSeconds": 10}})
    await talk.post(CORE + "/serviceaccounts/none/token", {"spec": {}})
    given = token["status"]["token"] if token.status == 201 else "none"
    await talk.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": given}})
    await talk.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nonsense"}})
    await talk.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}})
    await talk.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    reviews = "/apis/authorization.k8s.io/v1/"
    what = {"namespace": "{ns}", "verb": "get", "resource": "pods"}
    await talk.post(reviews + "selfsubjectaccessreviews", {"spec": {"resourceAttributes": what}})
    await talk.post(reviews + "selfsubjectaccessreviews", {"spec": {}})
    await talk.post(
        reviews + "subjectaccessreviews",
        {"spec": {"user": "x", "groups": ["system:masters"], "resourceAttributes": what}},
    )
    await talk.post(reviews + "subjectaccessreviews", {"spec": {"resourceAttributes": what}})
    await talk.post(
        reviews + "subjectaccessreviews",
        {"spec": {"user": "x", "groups": ["system:masters"], "nonResourceAttributes": {"path": "/x", "verb": "get"}}},
    )
    await talk.post(
        reviews + "namespaces/{ns}/localsubjectaccessreviews",
        {
            "metadata": {"namespace": "{ns}"},
            "spec": {"user": "x", "groups": ["system:masters"], "resourceAttributes": what},
        },
    )
    await talk.get(reviews + "selfsubjectaccessreviews")


@script
async def built_in_kinds(talk: Talk) -> None:
    """One of each that controllers make: what is defaulted, and how it is shown."""
    template = deployment("x")["spec"]["template"]
    labels = {"matchLabels": {"app": "x"}}
    once = {"spec": {**template["spec"], "restartPolicy": "Never"}}
    makings: list[tuple[str, dict[str, Any]]] = [
        (CORE + "/secrets", {"stringData": {"a": "b"}, "data": {"c": "ZA=="}}),
        (CORE + "/secrets", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}),
        (CORE + "/endpoints", {"subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}]}),
        (
            CORE + "/events",
            {
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
                "reason": "Testing",
                "message": "hello",
                "type": "Normal",
                "count": 1,
            },
        ),
        (CORE + "/events", {"involvedObject": {"kind": "Pod", "name": "p"}}),
        (CORE + "/limitranges", {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "100"}}]}}),
        (CORE + "/resourcequotas", {"spec": {"hard": {"count/things.example.com": "5"}}}),
        (
            CORE + "/persistentvolumeclaims",
            {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        ),
        (CORE + "/replicationcontrollers", {"spec": {"template": template}}),
        (CORE + "/serviceaccounts", {}),
        (CORE + "/podtemplates", {"template": template}),
        ("/apis/apps/v1/namespaces/{ns}/replicasets", {"spec": {"selector": labels, "template": template}}),
        (
            "/apis/apps/v1/namespaces/{ns}/statefulsets",
            {"spec": {"serviceName": "s", "selector": labels, "template": template}},
        ),
        ("/apis/apps/v1/namespaces/{ns}/daemonsets", {"spec": {"selector": labels, "template": template}}),
        ("/apis/batch/v1/namespaces/{ns}/jobs", {"spec": {"template": once}}),
        ("/apis/batch/v1/namespaces/{ns}/jobs", {"spec": {"template": template}}),
        (
            "/apis/batch/v1/namespaces/{ns}/cronjobs",
            {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": once}}}},
        ),
        (
            "/apis/batch/v1/namespaces/{ns}/cronjobs",
            {"spec": {"schedule": "often", "jobTemplate": {"spec": {"template": once}}}},
        ),
        (
            "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
            {
                "spec": {
                    "maxReplicas": 3,
                    "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                }
            },
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
            {
                "spec": {
                    "rules": [
                        {
                            "host": "example.com",
                            "http": {
                                "paths": [
                                    {
                                        "path": "/",
                                        "pathType": "Prefix",
                                        "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                    }
                                ]
                            },
                        }
                    ]
                }
            },
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
            {"spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}},
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
            {"rules": [{"apiGroups": [""], "verbs": ["get"], "resources": ["pods"]}]},
        ),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", {"rules": [{"verbs": []}]}),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
            {
                "roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
                "subjects": [{"kind": "ServiceAccount", "name": "default"}],
            },
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
            {
                "spec": {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "acquireTime": "2026-01-01T00:00:00.000000Z",
                }
            },
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
            {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}},
        ),
        (
            "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
            {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.1.1"]}], "ports": [{"port": 80}]},
        ),
        (
            "/apis/events.k8s.io/v1/namespaces/{ns}/events",
            {
                "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
                "reason": "Testing",
                "note": "hello",
                "type": "Normal",
                "action": "Test",
                "reportingController": "example.com/me",
                "reportingInstance": "me-1",
                "eventTime": "2026-01-01T00:00:00.000000Z",
            },
        ),
        (
            "/apis/events.k8s.io/v1/namespaces/{ns}/events",
            {"regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"}, "reason": "Testing"},
        ),
        ("/api/v1/nodes", {"spec": {}}),
        (
            "/api/v1/persistentvolumes",
            {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}},
        ),
        ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "example.com/x"}),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 5}),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"rules": []}),
        ("/apis/networking.k8s.io/v1/ingressclasses", {"spec": {"controller": "example.com/x"}}),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            {
                "webhooks": [
                    {
                        "name": "a.b.c",
                        "clientConfig": {"url": "https://127.0.0.1:1/x"},
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                        "rules": [],
                    }
                ]
            },
        ),
        ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {"webhooks": [{"name": "x"}]}),
    ]
    for number, (path, body) in enumerate(makings):
        name = f"{{ns}}-{number}"
        result = await talk.post(path, {**body, "metadata": {"name": name}})
        if result.status == 201:
            await talk.table(f"{path}/{name}")
            await talk.delete(f"{path}/{name}")


@script
async def documents(talk: Talk) -> None:
    """The documents of discovery, which clients read first."""
    await talk.get("/api")
    await talk.get("/apis/apps")
    await talk.get("/apis/apps/v1")
    await talk.get("/apis/batch/v1")
    await talk.get("/apis/policy/v1")
    await talk.get("/apis/coordination.k8s.io/v1")
    await talk.get("/apis/apiextensions.k8s.io/v1")
    await talk.get("/api/v1")
    for path in ("/healthz", "/livez", "/readyz", "/readyz/ping", "/healthz/nothing"):
        await talk.get(path)
    await talk.say("POST", "/healthz", {})
    await talk.say("POST", "/api", {})
    await talk.say("DELETE", "/apis/apps", {})
    await talk.get("/api/v1/componentstatuses/none")
    await talk.get("/api/v1/nodes/none/status")
    await talk.get("/apis/apps/v2")
    await talk.get("/api/v2")

"""The official Python client: everyday work. KUBECONFIG says where."""

from kubernetes import client, config, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic import DynamicClient
from kubernetes.stream import stream

NAMESPACE = "official-python"
config.load_kube_config()
core, apps = client.CoreV1Api(), client.AppsV1Api()
core.create_namespace({"metadata": {"name": NAMESPACE}})

made = core.create_namespaced_config_map(
    NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a", labels={"x": "y"}), data={"k": "1"})
)
assert core.read_namespaced_config_map("a", NAMESPACE).data == {"k": "1"}
made.data["k"] = "2"
replaced = core.replace_namespaced_config_map("a", NAMESPACE, made)
assert replaced.metadata.resource_version != made.metadata.resource_version
try:
    core.replace_namespaced_config_map("a", NAMESPACE, made)
    raise AssertionError("an old version was taken")
except ApiException as conflict:
    assert conflict.status == 409, conflict
assert core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"l": "3"}}).data == {"k": "2", "l": "3"}
found = core.list_namespaced_config_map(NAMESPACE, label_selector="x=y")
assert [item.metadata.name for item in found.items] == ["a"]

seen = []
core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"m": "4"}})
watcher = watch.Watch()
since = found.metadata.resource_version
for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=since, timeout_seconds=60):
    seen.append((event["type"], event["object"].metadata.name))
    if event["type"] == "MODIFIED":
        core.delete_namespaced_config_map("a", NAMESPACE)
    if event["type"] == "DELETED":
        watcher.stop()
assert ("MODIFIED", "a") in seen, seen
assert seen[-1] == ("DELETED", "a"), seen

pod = {
    "metadata": {"name": "p"},
    "spec": {
        "containers": [{"name": "c", "image": "process.setpoint.dev/sh", "args": ["-c", "echo hello; sleep 600"]}]
    },
}
core.create_namespaced_pod(NAMESPACE, pod)
watcher = watch.Watch()
for event in watcher.stream(core.list_namespaced_pod, NAMESPACE, timeout_seconds=60):
    if event["object"].status.phase == "Running":
        watcher.stop()
while "hello" not in core.read_namespaced_pod_log("p", NAMESPACE):
    pass
told = stream(core.connect_get_namespaced_pod_exec, "p", NAMESPACE, command=["echo", "there"], stdout=True, stderr=True)
assert told.strip() == "there", told

utils.create_from_dict(
    client.ApiClient(),
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": NAMESPACE},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    },
)
for event in watch.Watch().stream(apps.list_namespaced_deployment, NAMESPACE, timeout_seconds=60):
    if event["object"].status.available_replicas == 2:
        break
else:
    raise AssertionError("the deployment did not become available")
assert apps.patch_namespaced_deployment_scale("d", NAMESPACE, {"spec": {"replicas": 1}}).spec.replicas == 1

dynamic = DynamicClient(client.ApiClient())
maps = dynamic.resources.get(api_version="v1", kind="ConfigMap")
applied = maps.server_side_apply(
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"k": "1"}},
    namespace=NAMESPACE,
    field_manager="me",
)
assert applied.metadata.managedFields[0].manager == "me"
core.delete_namespace(NAMESPACE)
print("done")

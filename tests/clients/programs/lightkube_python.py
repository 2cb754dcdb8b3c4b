"""lightkube: everyday work. KUBECONFIG says where."""

from lightkube import ApiError, Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod
from lightkube.types import PatchType

NAMESPACE = "lightkube"
client = Client(namespace=NAMESPACE, field_manager="me")
client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
made = client.create(ConfigMap(metadata=ObjectMeta(name="a", labels={"x": "y"}), data={"k": "1"}))
made.data["k"] = "2"
replaced = client.replace(made)
try:
    client.replace(made)
    raise AssertionError("an old version was taken")
except ApiError as conflict:
    assert conflict.status.code == 409, conflict
patched = client.patch(ConfigMap, "a", {"data": {"l": "3"}}, patch_type=PatchType.MERGE)
assert patched.data == {"k": "2", "l": "3"}
applied = client.apply(ConfigMap(metadata=ObjectMeta(name="b"), data={"k": "1"}))
assert applied.metadata.managedFields[0].operation == "Apply"
assert [item.metadata.name for item in client.list(ConfigMap, labels={"x": "y"})] == ["a"]
client.delete(ConfigMap, "a")
for kind, item in client.watch(ConfigMap, resource_version=replaced.metadata.resourceVersion):
    if item.metadata.name == "a" and kind == "DELETED":
        break
container = {"name": "c", "image": "process.setpoint.dev/sh", "args": ["-c", "echo hello; sleep 600"]}
client.create(Pod.from_dict({"metadata": {"name": "p"}, "spec": {"containers": [container]}}))
client.wait(Pod, "p", for_conditions=["Ready"])
assert next(iter(client.log("p", follow=True))).strip() == "hello"
client.delete(Namespace, NAMESPACE)
print("done")

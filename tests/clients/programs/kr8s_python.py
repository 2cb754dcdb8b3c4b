"""kr8s: everyday work. KUBECONFIG says where."""

import kr8s
from kr8s.objects import ConfigMap, Namespace, Pod

NAMESPACE = "kr8s"
Namespace({"metadata": {"name": NAMESPACE}}).create()
made = ConfigMap({"metadata": {"name": "a", "namespace": NAMESPACE, "labels": {"x": "y"}}, "data": {"k": "1"}})
made.create()
made.patch({"data": {"l": "2"}})
assert dict(ConfigMap.get("a", namespace=NAMESPACE).data) == {"k": "1", "l": "2"}
made.label(z="1")
assert [item.name for item in kr8s.get("configmaps", namespace=NAMESPACE, label_selector={"z": "1"})] == ["a"]
for kind, item in kr8s.watch("configmaps", namespace=NAMESPACE):
    if item.name == "a":
        assert kind == "ADDED", kind
        break
made.delete()
assert not made.exists()
container = {"name": "c", "image": "process.setpoint.dev/sh", "args": ["-c", "echo hello; sleep 600"]}
pod = Pod({"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": {"containers": [container]}})
pod.create()
pod.wait("condition=Ready")
assert next(iter(pod.logs(follow=True))).strip() == "hello"
told = pod.exec(["echo", "there"])
assert told.stdout.strip() == b"there", told
Namespace.get(NAMESPACE).delete()
print("done")

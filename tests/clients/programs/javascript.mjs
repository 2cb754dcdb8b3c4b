// JavaScript's client: everyday work. KUBECONFIG says where.
import assert from "node:assert";
import { PassThrough } from "node:stream";
import * as k8s from "@kubernetes/client-node";

const namespace = "javascript";
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
await core.createNamespace({ body: { metadata: { name: namespace } } });

const made = await core.createNamespacedConfigMap({
  namespace,
  body: { metadata: { name: "a", labels: { x: "y" } }, data: { k: "1" } },
});
made.data.k = "2";
await core.replaceNamespacedConfigMap({ namespace, name: "a", body: made });
await assert.rejects(core.replaceNamespacedConfigMap({ namespace, name: "a", body: made }), (e) => e.code === 409);
const patched = await core.patchNamespacedConfigMap({
  namespace,
  name: "a",
  body: [{ op: "add", path: "/data/l", value: "3" }],
});
assert.deepEqual(patched.data, { k: "2", l: "3" });
const found = await core.listNamespacedConfigMap({ namespace, labelSelector: "x=y" });
assert.deepEqual(found.items.map((item) => item.metadata.name), ["a"]);

const seen = new Promise((resolve, reject) => {
  const kinds = [];
  let request;
  new k8s.Watch(config)
    .watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { resourceVersion: found.metadata.resourceVersion },
      (kind, item) => {
        if (item.metadata.name !== "a") return;
        kinds.push(kind);
        if (kind === "DELETED") {
          resolve(kinds);
          request?.abort();
        }
      },
      (problem) => problem && reject(problem),
    )
    .then((started) => (request = started));
});
await core.deleteNamespacedConfigMap({ namespace, name: "a" });
assert.deepEqual(await seen, ["DELETED"]);

const container = { name: "c", image: "process.setpoint.dev/sh", args: ["-c", "echo hello; sleep 600"] };
await core.createNamespacedPod({ namespace, body: { metadata: { name: "p" }, spec: { containers: [container] } } });
while ((await core.readNamespacedPod({ namespace, name: "p" })).status.phase !== "Running");
while (!(await core.readNamespacedPodLog({ namespace, name: "p" })).includes("hello"));
const out = new PassThrough();
let told = "";
out.on("data", (part) => (told += part));
await new Promise((resolve, reject) => {
  new k8s.Exec(config)
    .exec(namespace, "p", "c", ["echo", "there"], out, out, null, false, (status) =>
      status.status === "Success" ? resolve() : reject(new Error(JSON.stringify(status))),
    )
    .catch(reject);
});
assert.equal(told.trim(), "there");
await core.deleteNamespace({ name: namespace });
console.log("done");
process.exit(0);

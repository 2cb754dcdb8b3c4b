// Java's fabric8 client: everyday work. KUBECONFIG says where.

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.ExecWatch;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

public class Everyday {
  static final String NAMESPACE = "fabric8";

  static void expect(boolean fine, Object what) {
    if (!fine) {
      throw new AssertionError(String.valueOf(what));
    }
  }

  public static void main(String[] arguments) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      client.resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
      var maps = client.configMaps().inNamespace(NAMESPACE);
      BlockingQueue<String> seen = new LinkedBlockingQueue<>();
      var informer = maps.inform(new ResourceEventHandler<ConfigMap>() {
        void note(String kind, ConfigMap map) {
          if (map.getMetadata().getName().equals("a")) {
            seen.add(kind);
          }
        }

        public void onAdd(ConfigMap map) {
          note("added", map);
        }

        public void onUpdate(ConfigMap old, ConfigMap map) {
          note("updated", map);
        }

        public void onDelete(ConfigMap map, boolean unknown) {
          note("deleted", map);
        }
      });
      ConfigMap made = client.resource(new ConfigMapBuilder().withNewMetadata().withName("a").withNamespace(NAMESPACE)
          .addToLabels("x", "y").endMetadata().withData(Map.of("k", "1")).build()).create();
      expect("added".equals(seen.poll(30, TimeUnit.SECONDS)), "no addition");
      made.setData(Map.of("k", "2"));
      client.resource(made).update();
      expect("updated".equals(seen.poll(30, TimeUnit.SECONDS)), "no update");
      try {
        client.resource(made).lockResourceVersion(made.getMetadata().getResourceVersion()).update();
        throw new AssertionError("an old version was taken");
      } catch (KubernetesClientException conflict) {
        expect(conflict.getCode() == 409, conflict);
      }
      ConfigMap edited = maps.withName("a").edit(map -> new ConfigMapBuilder(map).addToData("l", "3").build());
      expect(edited.getData().equals(Map.of("k", "2", "l", "3")), edited);
      ConfigMap applied = client.resource(new ConfigMapBuilder().withNewMetadata().withName("b")
          .withNamespace(NAMESPACE).endMetadata().withData(Map.of("k", "1")).build()).fieldManager("me").serverSideApply();
      expect(applied.getMetadata().getManagedFields().get(0).getManager().equals("me"), applied);
      List<ConfigMap> found = maps.withLabel("x", "y").list().getItems();
      expect(found.size() == 1, found);
      maps.withName("a").delete();
      String kind;
      do {
        kind = seen.poll(30, TimeUnit.SECONDS);
        expect(kind != null, "no deletion");
      } while (!kind.equals("deleted"));
      informer.stop();

      client.resource(new PodBuilder().withNewMetadata().withName("p").withNamespace(NAMESPACE).endMetadata()
          .withNewSpec().addNewContainer().withName("c").withImage("process.setpoint.dev/sh")
          .withArgs("-c", "echo hello; sleep 600").endContainer().endSpec().build()).create();
      var pod = client.pods().inNamespace(NAMESPACE).withName("p");
      pod.waitUntilReady(30, TimeUnit.SECONDS);
      while (!pod.getLog().contains("hello")) {
        Thread.onSpinWait();
      }
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try (ExecWatch exec = pod.writingOutput(out).exec("echo", "there")) {
        expect(exec.exitCode().get(30, TimeUnit.SECONDS) == 0, "the command failed");
      }
      expect(out.toString().trim().equals("there"), out);
      client.namespaces().withName(NAMESPACE).delete();
    }
    System.out.println("done");
  }
}

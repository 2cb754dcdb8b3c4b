import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;
import io.javaoperatorsdk.operator.Operator;
import io.javaoperatorsdk.operator.api.config.informer.InformerEventSourceConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.EventSourceContext;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;
import io.javaoperatorsdk.operator.processing.event.source.EventSource;
import io.javaoperatorsdk.operator.processing.event.source.informer.InformerEventSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * The informers of fabric8's client and the controllers of the Java Operator SDK: {@code Peer SERVER WORK LISTS PARTS}.
 * WORK is "informer", "pods", "create" or "apply", PARTS the kinds and numbers of objects ("nodes=100,pods=1200").
 */
public class Peer {
  static final int WORKERS = 8;
  static final BufferedReader INPUT = new BufferedReader(new InputStreamReader(System.in));

  static void say(String word) {
    System.out.println(word);
    System.out.flush();
  }

  static void hear(String word) throws IOException {
    String heard = INPUT.readLine();
    if (!word.equals(heard)) {
      throw new IllegalStateException("expected " + word + ", heard " + heard);
    }
  }

  static void collected() throws IOException {
    hear("collect");
    System.gc();
    say("collected");
  }

  static void report(CountDownLatch synced, CountDownLatch done) throws Exception {
    synced.await();
    say("synced");
    collected();
    say("watching");
    done.await();
    say("done");
    collected();
    hear("exit");
  }

  // -- informers ---------------------------------------------------------------------------------------------------------

  static <T extends HasMetadata> void follow(
      KubernetesClient client, Class<T> kind, int count, CountDownLatch synced, CountDownLatch done) {
    AtomicInteger seen = new AtomicInteger();
    ResourceEventHandler<T> handler =
        new ResourceEventHandler<>() {
          @Override
          public void onAdd(T added) {}

          @Override
          public void onUpdate(T before, T after) {
            if (seen.incrementAndGet() == count) {
              done.countDown();
            }
          }

          @Override
          public void onDelete(T deleted, boolean unknown) {}
        };
    var informer = client.resources(kind).inAnyNamespace().runnableInformer(0).addEventHandler(handler);
    informer
        .start()
        .thenRun(
            () -> {
              if (informer.getStore().list().size() != count) {
                throw new IllegalStateException("too few objects");
              }
              synced.countDown();
            });
  }

  static void informers(KubernetesClient client, Map<String, Integer> parts) throws Exception {
    CountDownLatch synced = new CountDownLatch(parts.size()), done = new CountDownLatch(parts.size());
    say("ready");
    hear("sync");
    for (var part : parts.entrySet()) {
      switch (part.getKey()) {
        case "nodes" -> follow(client, Node.class, part.getValue(), synced, done);
        case "custom" -> follow(client, Mykind.class, part.getValue(), synced, done);
        default -> follow(client, Pod.class, part.getValue(), synced, done);
      }
    }
    report(synced, done);
  }

  // -- controllers -------------------------------------------------------------------------------------------------------

  public static class MykindSpec {
    public int numpods;
    public int replicas;
    public String checksum;
    public Map<String, String> settings;
  }

  public static class MykindStatus {
    public Integer pods;
    public Integer ready;
    public Integer observedGeneration;
    public String phase;
  }

  @Group("bench.example.com")
  @Version("v1")
  public static class Mykind extends CustomResource<MykindSpec, MykindStatus> implements Namespaced {}

  /** Reads every pod once at the start and once for every event. */
  @ControllerConfiguration(generationAwareEventProcessing = false)
  public static class Pods implements Reconciler<Pod> {
    final AtomicInteger seen = new AtomicInteger();
    final CountDownLatch synced = new CountDownLatch(1), done = new CountDownLatch(1);
    final int count;

    Pods(int count) {
      this.count = count;
    }

    @Override
    public UpdateControl<Pod> reconcile(Pod pod, Context<Pod> context) {
      int number = seen.incrementAndGet();
      if (number == count) {
        synced.countDown();
      } else if (number == 2 * count) {
        done.countDown();
      }
      return UpdateControl.noUpdate();
    }
  }

  /** Keeps the pods of every Mykind. */
  @ControllerConfiguration
  public static class Children implements Reconciler<Mykind> {
    final boolean apply;

    Children(boolean apply) {
      this.apply = apply;
    }

    @Override
    public List<EventSource<?, Mykind>> prepareEventSources(EventSourceContext<Mykind> context) {
      var owned = InformerEventSourceConfiguration.from(Pod.class, Mykind.class).build();
      return List.of(new InformerEventSource<>(owned, context));
    }

    @Override
    public UpdateControl<Mykind> reconcile(Mykind mykind, Context<Mykind> context) {
      var there =
          context.getSecondaryResourcesAsStream(Pod.class).map(p -> p.getMetadata().getName()).collect(Collectors.toSet());
      for (int number = 0; number < mykind.getSpec().numpods; number++) {
        String name = mykind.getMetadata().getName() + "-" + number;
        if (there.contains(name)) {
          continue;
        }
        var pods = context.getClient().resource(pod(mykind, name));
        if (apply) {
          pods.patch(
              new PatchContext.Builder()
                  .withPatchType(PatchType.SERVER_SIDE_APPLY)
                  .withFieldManager("mykind")
                  .withForce(true)
                  .build());
          continue;
        }
        try {
          pods.create();
        } catch (KubernetesClientException problem) {
          if (problem.getCode() != 409) { // else the cache is behind
            throw problem;
          }
        }
      }
      int before = mykind.getStatus() == null || mykind.getStatus().pods == null ? 0 : mykind.getStatus().pods;
      if (before == there.size()) {
        return UpdateControl.noUpdate();
      }
      var changed = new Mykind();
      changed.setMetadata(
          new ObjectMetaBuilder()
              .withName(mykind.getMetadata().getName())
              .withNamespace(mykind.getMetadata().getNamespace())
              .build());
      changed.setSpec(null);
      changed.setStatus(new MykindStatus());
      changed.getStatus().pods = there.size();
      return UpdateControl.patchStatus(changed);
    }

    static Pod pod(Mykind mykind, String name) {
      var owner =
          new OwnerReferenceBuilder()
              .withApiVersion(mykind.getApiVersion())
              .withKind(mykind.getKind())
              .withName(mykind.getMetadata().getName())
              .withUid(mykind.getMetadata().getUid())
              .withController(true)
              .withBlockOwnerDeletion(true)
              .build();
      return new PodBuilder()
          .withNewMetadata()
          .withName(name)
          .withNamespace(mykind.getMetadata().getNamespace())
          .withOwnerReferences(owner)
          .endMetadata()
          .withNewSpec()
          .addNewContainer()
          .withName("main")
          .withImage("busybox")
          .endContainer()
          .endSpec()
          .build();
    }
  }

  static Operator operator(KubernetesClient client) {
    return new Operator(
        settings ->
            settings
                .withKubernetesClient(client)
                .checkingCRDAndValidateLocalModel(false)
                .withConcurrentReconciliationThreads(WORKERS));
  }

  public static void main(String[] arguments) throws Exception {
    var empty = io.fabric8.kubernetes.client.Config.empty();
    // The replaying server has no WebSockets.
    var config = new ConfigBuilder(empty).withMasterUrl(arguments[0]).withOnlyHttpWatches(true).build();
    String work = arguments[1];
    Map<String, Integer> parts = new HashMap<>();
    for (String part : arguments[3].split(",")) {
      parts.put(part.split("=")[0], Integer.parseInt(part.split("=")[1]));
    }
    var client = new KubernetesClientBuilder().withConfig(config).build();
    if (work.equals("informer")) {
      informers(client, parts);
    } else {
      var operator = operator(client);
      say("ready");
      hear("sync");
      if (work.equals("pods")) {
        var reconciler = new Pods(parts.values().iterator().next());
        operator.register(reconciler);
        operator.start();
        report(reconciler.synced, reconciler.done);
      } else {
        operator.register(new Children(work.equals("apply")));
        operator.start();
        collected();
        hear("exit");
      }
    }
    System.exit(0);
  }
}

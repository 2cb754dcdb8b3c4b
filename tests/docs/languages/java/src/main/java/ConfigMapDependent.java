import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.CRUDKubernetesDependentResource;

public class ConfigMapDependent extends CRUDKubernetesDependentResource<ConfigMap, Note> {
  @Override
  protected ConfigMap desired(Note note, Context<Note> context) {
    return new ConfigMapBuilder()
        .withNewMetadata()
        .withName(note.getMetadata().getName())
        .withNamespace(note.getMetadata().getNamespace())
        .endMetadata()
        .addToData("text", note.getSpec().getText())
        .build();
  }
}

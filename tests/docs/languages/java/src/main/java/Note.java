import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;

@Group("coming.example.com")
@Version("v1")
public class Note extends CustomResource<Note.Spec, Note.Status> implements Namespaced {
  public static class Spec {
    private String text = "";

    public String getText() {
      return text;
    }

    public void setText(String text) {
      this.text = text;
    }
  }

  public static class Status {
    private int words;

    public int getWords() {
      return words;
    }

    public void setWords(int words) {
      this.words = words;
    }
  }
}

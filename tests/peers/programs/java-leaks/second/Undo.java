// Every document keeps every step for undo.
// truth: Undo.OPEN | Undo$Step | 9000000
import java.util.*;

public class Undo {
  static final class Step {
    final char[] before = new char[140];
  }

  static final class Document {
    final LinkedList<Step> undo = new LinkedList<>();
  }

  static final Map<String, Document> OPEN = new TreeMap<>();

  public static void main(String[] args) {
    Ordinary.work();
    for (int d = 0; d < 15; d++) {
      Document document = new Document();
      for (int i = 0; i < 2000; i++) document.undo.add(new Step());
      OPEN.put("document " + d, document);
    }
    Ordinary.ready();
  }
}

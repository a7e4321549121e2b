// An enum as singleton, with audit records by kind.
// truth: records | Singleton$Entry | 9000000
import java.util.*;

public class Singleton {
  enum Kind { LOGIN, LOGOUT, PAYMENT }

  static final class Entry {
    final Kind kind;
    final String text;
    final double[] details = new double[32];
    Entry(Kind kind, String text) { this.kind = kind; this.text = text; }
  }

  enum Audit {
    INSTANCE;
    final Map<Kind, List<Entry>> records = new EnumMap<>(Kind.class);
    void add(Kind kind, String text) {
      records.computeIfAbsent(kind, k -> new ArrayList<>()).add(new Entry(kind, text));
    }
  }

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 27000; i++) Audit.INSTANCE.add(i % 20 == 0 ? Kind.PAYMENT : Kind.values()[i % 2], "user " + i);
    Ordinary.ready();
  }
}

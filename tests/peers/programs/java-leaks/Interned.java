// A pool of strings for equal names. All names differ.
// truth: pool | java.lang.String | 8000000
import java.util.concurrent.*;

public class Interned {
  static final class Interner {
    final ConcurrentHashMap<String, String> pool = new ConcurrentHashMap<>();
    String intern(String s) {
      String known = pool.putIfAbsent(s, s);
      return known == null ? s : known;
    }
  }

  static final Interner NAMES = new Interner();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 80000; i++) NAMES.intern("session-" + Integer.toHexString(i * 0x9e3779b1) + "-" + i);
    Ordinary.ready();
  }
}

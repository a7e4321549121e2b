// A WeakHashMap whose values hold their keys.
// truth: WeakValues.DATA | WeakValues$Info | 8000000
import java.util.*;

public class WeakValues {
  static final class Key {
    final int number;
    Key(int number) { this.number = number; }
  }

  static final class Info {
    final Key key;
    final long[] figures = new long[96];
    Info(Key key) { this.key = key; }
  }

  static final Map<Key, Info> DATA = new WeakHashMap<>();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 10000; i++) {
      Key key = new Key(i);
      DATA.put(key, new Info(key));
    }
    Ordinary.ready();
  }
}

// A cache that nobody limits.
// truth: entries | Unlimited$Price | 7072000
import java.util.*;

public class Unlimited {
  static final class Price {
    final double[] history = new double[30];
  }

  static final class Cache {
    final Map<String, Price> entries = new LinkedHashMap<>(16, 0.75f, true);
    Price get(String key) { return entries.computeIfAbsent(key, k -> new Price()); }
  }

  static final class Service {
    final Cache cache = new Cache();
  }

  static Service service = new Service();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 26000; i++) service.cache.get("price/" + i % 50 + "/" + i);
    Ordinary.ready();
  }
}

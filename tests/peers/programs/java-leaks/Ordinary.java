// Ordinary work beside each leak: a catalogue, a bounded cache, threads that wait. About 5 MB.
import java.util.*;

public class Ordinary {
  static final class Product {
    final String name;
    final long[] prices = new long[12];
    Product(String name) { this.name = name; }
  }

  static final Map<String, Product> CATALOGUE = new HashMap<>();
  static final Map<Integer, byte[]> RECENT = new LinkedHashMap<>() {
    protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) { return size() > 400; }
  };

  static void work() {
    for (int i = 0; i < 15000; i++) CATALOGUE.put("product " + i, new Product("product " + i));
    for (int i = 0; i < 4000; i++) RECENT.put(i, new byte[1024]);
    for (int i = 0; i < 3; i++) {
      Thread thread = new Thread(Ordinary::sleep, "idle-" + i);
      thread.setDaemon(true);
      thread.start();
    }
  }

  static void sleep() {
    try { Thread.sleep(1000000000L); } catch (InterruptedException e) { throw new RuntimeException(e); }
  }

  // The last call of each program.
  static void ready() {
    System.out.println("ready");
    sleep();
  }
}

// A shop: every kind of reference, field and root that HotSpot dumps. It prints "ready" and waits.
import java.lang.ref.*;
import java.util.*;
import java.util.concurrent.*;

public class Shop {
  enum Color { RED, GREEN, BLUE }

  interface Priced { long price(); }

  static abstract class Item implements Priced {
    final String name;
    long price;
    Item next;
    Item(String name, long price) { this.name = name; this.price = price; }
    public long price() { return price; }
  }

  static final class Book extends Item {
    final char[] text;
    final short pages;
    final byte rating;
    final boolean used;
    final float weight;
    final double score;
    Book(String name, long price, int length) {
      super(name, price);
      text = new char[length];
      pages = (short) (length * 3);
      rating = (byte) (length % 5);
      used = length % 2 == 0;
      weight = length / 7f;
      score = Math.sqrt(length);
    }
  }

  static final class Toy extends Item {
    final Color color;
    final int[] parts;
    Toy(String name, long price, Color color) {
      super(name, price);
      this.color = color;
      parts = new int[(int) (price % 17)];
    }
  }

  static final class Session {
    final Map<String, Object> values = new HashMap<>();
    final byte[] buffer = new byte[512];
    Session(int i) { values.put("user", "user-" + i); values.put("cart", new ArrayList<Item>()); }
  }

  // Field sizes that leave gaps: the JVM fills them with fields of subclasses.
  static class A { long a; }
  static class B extends A { byte b; }
  static class C extends B { long c; int d; }
  static final class D extends C { short s; Object o; double x; }

  static final Map<Integer, Session> SESSIONS = new ConcurrentHashMap<>();
  static final List<Item> CATALOG = new ArrayList<>();
  static final List<Object> KEPT = new ArrayList<>();
  static final WeakHashMap<Object, String> WEAK = new WeakHashMap<>();
  static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
  static final Object[] REFERENCES = { new SoftReference<>(new byte[4096]), new WeakReference<>(new int[100]),
                                       new PhantomReference<>(new Object(), QUEUE) };
  static final Object[][] GRID = new Object[7][];
  static Item list;

  static void work(int n, CountDownLatch ready) {
    byte[] onStack = new byte[10000 * (n + 1)];
    synchronized (onStack) {
      ready.countDown();
      try { Thread.sleep(1000000000L); } catch (InterruptedException e) { System.out.println(onStack[0]); }
    }
  }

  // The argument: number of threads [3].
  public static void main(String[] args) throws Exception {
    int threads = args.length > 0 ? Integer.parseInt(args[0]) : 3;
    CountDownLatch ready = new CountDownLatch(threads);
    for (int i = 0; i < 300; i++)
      CATALOG.add(i % 3 == 0 ? new Toy("toy-" + i, i, Color.values()[i / 3 % 3]) : new Book("book-" + i, i, i));
    for (int i = 0; i < 200; i++) {
      Session session = new Session(i);
      SESSIONS.put(i, session);
      @SuppressWarnings("unchecked") List<Item> cart = (List<Item>) session.values.get("cart");
      cart.add(CATALOG.get(i));
    }
    for (int i = 0; i < 2000; i++) {
      Item toy = new Toy("chain-" + i % 10, i, null);
      toy.next = list;
      list = toy;
    }
    for (int i = 0; i < 1000; i++) {
      int captured = i;
      Collections.addAll(KEPT, new B(), new C(), new D(), (Runnable) () -> System.out.println(captured), "\u03c0 " + i);
    }
    WEAK.put(CATALOG.get(5), "a book");
    for (int i = 0; i < GRID.length; i++) GRID[i] = new Object[] { i, "cell" + i, null, GRID };
    for (int i = 0; i < threads; i++) {
      int n = i % 10;
      Thread thread = new Thread(() -> work(n, ready), "worker-" + i);
      thread.setDaemon(true);
      thread.start();
    }
    ready.await();
    System.out.println("ready");
    Thread.sleep(1000000000L);
  }
}

// Callbacks of an inner class hold the screen that made them.
// truth: Inner.CALLBACKS | Inner$Screen | 10000000
import java.util.*;

public class Inner {
  static final List<Runnable> CALLBACKS = new ArrayList<>();

  static final class Screen {
    final byte[] bitmap = new byte[100000];
    int clicks;

    class Click implements Runnable {
      public void run() { clicks++; }
    }

    void open() { CALLBACKS.add(new Click()); }
  }

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 100; i++) new Screen().open();
    Ordinary.ready();
  }
}

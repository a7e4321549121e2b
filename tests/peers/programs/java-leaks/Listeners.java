// Views register with a bus and never leave.
// truth: listeners | Listeners$View | 12312000
import java.util.*;

public class Listeners {
  interface Listener { void changed(String what); }

  static final class Bus {
    final List<Listener> listeners = new ArrayList<>();
    void register(Listener listener) { listeners.add(listener); }
  }

  static final class View implements Listener {
    final byte[] pixels = new byte[4080];
    public void changed(String what) { pixels[0]++; }
  }

  static final Bus BUS = new Bus();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 3000; i++) BUS.register(new View());
    Ordinary.ready();
  }
}

// Each request registers a hook for the end of the JVM.
// truth: java.lang.ApplicationShutdownHooks.hooks | Hooks$Cleanup | 8000000
public class Hooks {
  static final class Cleanup implements Runnable {
    final byte[] state = new byte[40000];
    public void run() { state[0] = 1; }
  }

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 200; i++) Runtime.getRuntime().addShutdownHook(new Thread(new Cleanup()));
    Ordinary.ready();
  }
}

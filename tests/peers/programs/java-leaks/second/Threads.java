// Threads that wait for ever, each with a buffer on its stack.
// truth: local variable | byte[] | 9600000
public class Threads {
  static void serve() {
    byte[] buffer = new byte[120000];
    Ordinary.sleep();
    System.out.println(buffer.length);
  }

  public static void main(String[] args) throws Exception {
    Ordinary.work();
    for (int i = 0; i < 80; i++) {
      Thread thread = new Thread(null, Threads::serve, "connection-" + i, 262144);
      thread.setDaemon(true);
      thread.start();
    }
    Thread.sleep(500);
    Ordinary.ready();
  }
}

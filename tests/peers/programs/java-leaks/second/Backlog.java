// An executor gets work faster than its only thread does it.
// truth: workQueue | Backlog$Job | 9000000
import java.util.concurrent.*;

public class Backlog {
  static final class Job implements Runnable {
    final byte[] payload = new byte[3000];
    public void run() { Ordinary.sleep(); }
  }

  static final ExecutorService WORKER = Executors.newFixedThreadPool(1, r -> {
    Thread thread = new Thread(r, "worker");
    thread.setDaemon(true);
    return thread;
  });

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 3001; i++) WORKER.execute(new Job());
    Ordinary.ready();
  }
}

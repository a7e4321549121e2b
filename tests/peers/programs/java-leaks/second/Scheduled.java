// Time-outs are scheduled and never cancelled.
// truth: DelayedWorkQueue | Scheduled$Timeout | 10000000
import java.util.concurrent.*;

public class Scheduled {
  static final class Timeout implements Runnable {
    final byte[] request = new byte[2500];
    public void run() { System.out.println(request.length); }
  }

  public static void main(String[] args) {
    Ordinary.work();
    ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, r -> {
      Thread thread = new Thread(r, "timeouts");
      thread.setDaemon(true);
      return thread;
    });
    for (int i = 0; i < 4000; i++) timer.schedule(new Timeout(), 1000000 + i, TimeUnit.SECONDS);
    Ordinary.ready();
  }
}

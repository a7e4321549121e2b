// Tasks for next week hold their reports until then.
// truth: java.util.TaskQueue | Timers$ReportTask | 10000000
import java.util.*;

public class Timers {
  static final class ReportTask extends TimerTask {
    final byte[] report = new byte[5000];
    public void run() { System.out.println(report.length); }
  }

  public static void main(String[] args) {
    Ordinary.work();
    Timer timer = new Timer("reports", true);
    for (int i = 0; i < 2000; i++) timer.schedule(new ReportTask(), 1000000000L + i);
    Ordinary.ready();
  }
}

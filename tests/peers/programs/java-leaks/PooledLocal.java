// Threads of a pool keep the context of every request in a ThreadLocal.
// truth: threadLocals | PooledLocal$Context | 12192000
import java.util.*;
import java.util.concurrent.*;

public class PooledLocal {
  static final class Context {
    final List<byte[]> seen = new ArrayList<>();
  }

  static final ThreadLocal<Context> CONTEXT = ThreadLocal.withInitial(Context::new);

  static void serve(CountDownLatch together, CountDownLatch done) {
    for (int i = 0; i < 3000; i++) CONTEXT.get().seen.add(new byte[1000]);
    together.countDown();
    try { together.await(); } catch (InterruptedException e) { throw new RuntimeException(e); }
    done.countDown();
  }

  public static void main(String[] args) throws Exception {
    Ordinary.work();
    ExecutorService pool = Executors.newFixedThreadPool(4);
    CountDownLatch together = new CountDownLatch(4), done = new CountDownLatch(4);
    for (int i = 0; i < 4; i++) pool.execute(() -> serve(together, done));
    done.await();
    Ordinary.ready();
  }
}

// Results of a function are kept for all arguments.
// truth: results | java.math.BigInteger | 7000000
import java.math.*;
import java.util.*;
import java.util.concurrent.*;

public class Memo {
  static final class Powers {
    private final Map<Integer, BigInteger> results = new ConcurrentSkipListMap<>();
    BigInteger of(int n) { return results.computeIfAbsent(n, k -> BigInteger.TWO.pow(k)); }
  }

  static final Powers POWERS = new Powers();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 11000; i++) POWERS.of(i);
    Ordinary.ready();
  }
}

// Orders stay in a static map after they were delivered.
// truth: StaticMap.OPEN | StaticMap$Order | 9760000
import java.util.*;

public class StaticMap {
  static final class Order {
    final String customer;
    final int[] lines = new int[100];
    Order(String customer) { this.customer = customer; }
  }

  static final Map<Long, Order> OPEN = new HashMap<>();

  public static void main(String[] args) {
    Ordinary.work();
    for (long i = 0; i < 20000; i++) OPEN.put(1000 + i, new Order("customer " + i));
    Ordinary.ready();
  }
}

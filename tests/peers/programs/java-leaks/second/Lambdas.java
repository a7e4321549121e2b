// Subscribers are lambdas that capture a page.
// truth: subscribers | Lambdas$Page | 9000000
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;

public class Lambdas {
  static final class Page {
    final int[] cells = new int[7500];
    void refresh(String topic) { cells[0] += topic.length(); }
  }

  static final class Topic {
    final List<Consumer<String>> subscribers = new CopyOnWriteArrayList<>();
  }

  static final Map<String, Topic> TOPICS = new HashMap<>();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 300; i++) {
      Page page = new Page();
      TOPICS.computeIfAbsent("prices", k -> new Topic()).subscribers.add(topic -> page.refresh(topic));
    }
    Ordinary.ready();
  }
}

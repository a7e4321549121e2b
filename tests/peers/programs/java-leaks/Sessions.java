// Sessions never end, and each request adds to an attribute.
// truth: sessions | Sessions$Session | 9000000
import java.util.*;
import java.util.concurrent.*;

public class Sessions {
  static final class Session {
    final Map<String, Object> attributes = new HashMap<>();
  }

  static final class Manager {
    final Map<String, Session> sessions = new ConcurrentHashMap<>();
  }

  static final Manager MANAGER = new Manager();

  @SuppressWarnings("unchecked")
  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 30000; i++) {
      Session session = MANAGER.sessions.computeIfAbsent("s" + i % 300, k -> new Session());
      ((List<byte[]>) session.attributes.computeIfAbsent("history", k -> new ArrayList<byte[]>())).add(new byte[300]);
    }
    Ordinary.ready();
  }
}

// Writes a heap dump of N rows with strings, numbers, lists and blobs in a map: Heap FILE N.
import java.util.*;

public class Heap {
  static final class Row {
    final String name;
    final List<Object> cells = new ArrayList<>();
    final byte[] blob;
    final Row before;
    Row(int id, Row before) {
      name = "row " + id;
      blob = new byte[40 + id % 64];
      this.before = id % 50 == 0 ? null : before;
      for (int k = 0; k < 4; k++) cells.add(k % 2 == 0 ? (Object) ("cell " + id + "/" + k) : Long.valueOf(id * 1000L + k));
    }
  }

  static final Map<Integer, Row> ROWS = new HashMap<>();

  public static void main(String[] args) throws Exception {
    Row last = null;
    for (int i = 0, n = Integer.parseInt(args[1]); i < n; i++) ROWS.put(i, last = new Row(i, last));
    java.lang.management.ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class)
      .dumpHeap(args[0], true);
  }
}

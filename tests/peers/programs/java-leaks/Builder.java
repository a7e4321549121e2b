// A log in memory that is never written.
// truth: Builder.LOG | java.lang.StringBuilder | 9000000
public class Builder {
  static final StringBuilder LOG = new StringBuilder();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 150000; i++) LOG.append("request ").append(i).append(" took 12 ms, sent 345 bytes to client\n");
    Ordinary.ready();
  }
}

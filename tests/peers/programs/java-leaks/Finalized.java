// The first finalizer waits, and all other objects wait for it.
// truth: java.lang.ref.Finalizer | Finalized$Handle | 12000000
public class Finalized {
  static final class Handle {
    final byte[] buffer = new byte[4000];
    @Override @SuppressWarnings({ "deprecation", "removal" })
    protected void finalize() { Ordinary.sleep(); }
  }

  public static void main(String[] args) throws Exception {
    Ordinary.work();
    for (int i = 0; i < 3000; i++) new Handle();
    System.gc();
    Ordinary.ready();
  }
}

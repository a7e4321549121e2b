// Callers wait for a future that never completes.
// truth: Futures.READY | Futures$Answer | 9000000
import java.util.concurrent.*;

public class Futures {
  static final class Answer {
    final char[] text = new char[1500];
    Answer add(String s) { s.getChars(0, 1, text, 0); return this; }
  }

  static final CompletableFuture<String> READY = new CompletableFuture<>();

  public static void main(String[] args) {
    Ordinary.work();
    for (int i = 0; i < 3000; i++) {
      Answer answer = new Answer();
      READY.thenApply(answer::add);
    }
    Ordinary.ready();
  }
}

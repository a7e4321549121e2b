// Each deployment of a plugin makes a class loader. A registry keeps one handler of each.
// truth: Redeployed.HANDLERS | Redeployed$Loader | 8000000
import java.io.*;
import java.util.*;

public class Redeployed {
  static final class Loader extends ClassLoader {
    final Class<?> load(String name) throws IOException {
      try (InputStream in = Redeployed.class.getResourceAsStream(name + ".class")) {
        byte[] code = in.readAllBytes();
        return defineClass(name, code, 0, code.length);
      }
    }
  }

  static final List<Runnable> HANDLERS = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    Ordinary.work();
    for (int i = 0; i < 40; i++)
      HANDLERS.add((Runnable) new Loader().load("RedeployedPlugin").getDeclaredConstructor().newInstance());
    Ordinary.ready();
  }
}

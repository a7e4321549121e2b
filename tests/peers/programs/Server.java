// A web server with sessions. It answers requests of its own, prints "ready" and waits.
import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.*;
import java.util.concurrent.*;

public class Server {
  static final Map<String, List<byte[]>> SESSIONS = new ConcurrentHashMap<>();

  public static void main(String[] args) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newFixedThreadPool(8));
    server.createContext("/", exchange -> {
      String user = exchange.getRequestURI().getPath();
      SESSIONS.computeIfAbsent(user, k -> Collections.synchronizedList(new ArrayList<>())).add(new byte[300]);
      byte[] answer = ("hello " + user).getBytes();
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    });
    server.start();
    for (int i = 0; i < 300; i++) {
      URL url = new URL("http://127.0.0.1:" + server.getAddress().getPort() + "/user" + i % 50);
      try (InputStream in = url.openStream()) { in.readAllBytes(); }
    }
    System.out.println("ready");
    Thread.sleep(1000000000L);
  }
}
